// Package mask hides secrets in text.
//
// It knows no references and keeps no state: a [Set] is made of secrets and never changes. Where they come from and when they
// are added is config's business.
//
// Invariants:
//   - A secret of [anywhere] characters and more is hidden wherever it stands, also within a word.
//   - A shorter one is hidden where it is a word of its own, and a very short one only where it stands as values do, in quotes or
//     between the signs of an address: replaced within other words, or wherever an article stands, it would garble the
//     message and by that give itself away.
//   - What is hidden is hidden also in the forms that it takes in URLs, JSON and quoted text.
package mask
