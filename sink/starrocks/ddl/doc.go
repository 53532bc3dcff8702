// Package ddl says what a column becomes in StarRocks, and writes CREATE TABLE. It speaks to no server.
//
// Invariant: the type holds every value that the source's definition allows, or [Mapped] says which not, and the load refuses
// such a value, since loads are strict; none is cut or changed.
//
// VARCHAR counts bytes of UTF-8, of which a character has up to four. BIGINT UNSIGNED is LARGEINT. There is no TIME: it is text.
// DATETIME has no time zone: an instant is its UTC.
//
// It must agree with StarRocks' "Data types", "System limits", "Primary Key table" and "CREATE TABLE" pages.
package ddl
