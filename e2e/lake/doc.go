// Package lake holds the tests of our Paimon library against Paimon's own releases and independent readers, in processes of their own.
package lake
