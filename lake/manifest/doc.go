// Package manifest holds what Paimon records of data files: file metadata, manifests, manifest lists and index
// manifests, and their Avro form on disk.
//
// Every data file is described by a [DataFile]; a manifest lists additions and deletions of them as [Entry]s; a
// manifest list names manifests by [FileMeta]s. Readers prune by what stands here, so a wrong count or bound hides rows.
// A [Folder] reads and writes these files; [Folder.Live] is a table's state: all additions of a snapshot's manifests
// without the ones deleted.
//
// What is written is what Paimon 1.4 writes, schema text included (the fields that 2.1 added may be absent). What is read
// goes by the schema inside each file: missing fields are null, unknown ones skipped. Names of files are checked to be
// bare names, so that no manifest can lead out of its table.
//
// Nothing here decides what is committed, and no snapshot is read or written.
//
// It must agree with org.apache.paimon.manifest.ManifestEntry, ManifestFileMeta, IndexManifestEntry, FileEntry and
// org.apache.paimon.io.DataFileMeta.
package manifest
