package mask

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// anywhere is how many characters a secret has at least that is hidden also within words.
	anywhere = 8
	// word is how many one has that is hidden wherever it is a word.
	word = 4
	// Stars stand in a secret's place.
	Stars = "***"
)

// Set are secrets to hide. A nil Set hides nothing; it may be used from many goroutines.
type Set struct {
	long  *strings.Replacer
	short []string
}

// Of makes a set. Empty secrets are ignored.
func Of(secrets []string) *Set {
	var long []string
	s := &Set{}
	for _, f := range forms(secrets) {
		if utf8.RuneCountInString(f) >= anywhere {
			long = append(long, f, Stars)
		} else {
			s.short = append(s.short, f)
		}
	}
	s.long = strings.NewReplacer(long...)
	return s
}

// forms are the secrets as they may stand in text. One may begin another: the longer one comes first, so that no rest of it
// stays.
func forms(secrets []string) []string {
	var all []string
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		quoted := fmt.Sprintf("%q", secret)
		all = append(all, secret, url.QueryEscape(secret), url.PathEscape(secret), quoted[1:len(quoted)-1])
		for _, escape := range []bool{true, false} {
			var out strings.Builder
			e := json.NewEncoder(&out)
			e.SetEscapeHTML(escape)
			if e.Encode(secret) == nil {
				text := strings.TrimSuffix(out.String(), "\n")
				all = append(all, text[1:len(text)-1])
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// Hide is text with every secret replaced.
func (s *Set) Hide(text string) string {
	if s == nil {
		return text
	}
	text = s.long.Replace(text)
	for _, secret := range s.short {
		text = hideWord(text, secret)
	}
	return text
}

// hideWord replaces a short secret where it stands by itself.
func hideWord(text, secret string) string {
	apart := notInWord
	if utf8.RuneCountInString(secret) < word {
		apart = asValue
	}
	var out strings.Builder
	from := 0
	for at := 0; ; {
		i := strings.Index(text[at:], secret)
		if i < 0 {
			break
		}
		i += at
		end := i + len(secret)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !apart(secret, before, after) {
			_, size := utf8.DecodeRuneInString(text[i:])
			at = i + size
			continue
		}
		out.WriteString(text[from:i])
		out.WriteString(Stars)
		from, at = end, end
	}
	return out.String() + text[from:]
}

// notInWord tells that what stands before and after a secret does not make it part of a word.
func notInWord(secret string, before, after rune) bool {
	first, _ := utf8.DecodeRuneInString(secret)
	last, _ := utf8.DecodeLastRuneInString(secret)
	return !(inWord(first) && inWord(before)) && !(inWord(last) && inWord(after))
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// asValue tells that a secret stands as values do: password=x, user:x@host, "x". The ends of a text are RuneError.
func asValue(_ string, before, after rune) bool {
	return strings.ContainsRune("\"'`:=", before) && (after == utf8.RuneError || unicode.IsSpace(after) || strings.ContainsRune("\"'`@&,;})", after))
}
