// Package hive is the catalog of a Hive metastore: it shows the tables of a warehouse to Hive and to all that find tables
// through its metastore, and sees there what Paimon's Java HiveCatalog made.
//
// A table's folder stays its truth. The metastore has its name, its location and a copy of its columns, which [Catalog]
// makes after the schema's file and never instead of it; [Catalog.Refresh] brings that copy up to date, and adds the
// partitions of a commit, any number of times. What the metastore does, or fails to do, never undoes what is in the folder.
//
// Tables lie where the filesystem catalog has them, `<warehouse>/<database>.db/<table>`. One that is elsewhere is refused:
// so is a name or a column with an upper-case letter, because the metastore knows none.
//
// [Catalog.WithLock] is Java's lock: an exclusive lock of the metastore on the table, kept alive while it is held. If its
// holder dies it ends by the metastore's own timeout.
//
// It speaks the methods that the metastores 3.1 and 4.0 have in common, without Kerberos, SASL and TLS. It never renames
// or drops a table.
//
// It must agree with org.apache.paimon.hive.HiveCatalog, HiveCatalogLock, HiveTypeUtils and
// org.apache.paimon.metastore.AddPartitionCommitCallback.
package hive
