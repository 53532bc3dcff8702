// Package catalog finds tables by name: where they lie in a store and what their latest schema is.
//
// A [Catalog] knows databases and tables, creates a table only if it is absent, and alters a table by adding a version of
// its schema. It never renames or drops one: without locks, a commit on its way would bring back what is gone. The
// filesystem catalog keeps nothing but folders: a database is `<database>.db`, a table a folder in it that holds
// `schema/schema-<id>`.
//
// It gives no locks and commits nothing.
//
// It must agree with org.apache.paimon.catalog.FileSystemCatalog and Identifier.
package catalog
