// Package referee carries the sources of the judges of Paimon tables, so that tests can build them wherever they run:
// a Java program over Apache Paimon's own library and a Python script over paimon-rust. README.md has their commands.
//
// It is data, not code: internal/testenv builds and runs the judges. They share nothing with the product, and must
// not: agreeing with a copy of oneself proves nothing. The canonical text that both print is an agreement of
// README.md, Canonical.java and reader.py.
package referee
