// Package s3 is the fileio.Store on Amazon S3 and on stores that speak its protocol.
//
// A [Client] stands for one endpoint, its credentials and its settings; a [Store] is a bucket, or a prefix of one, seen
// through a client. All clients of a process share one [Buffers], which bounds the memory that uploads take.
//
// A file comes into being by one PutObject, or by CompleteMultipartUpload when it is larger than a part: never by a rename,
// which S3 does not have. [Store.CreateExclusive] sends `If-None-Match: *`. Whatever but success is answered, the object
// itself is read: our bytes are a win, other bytes a loss, and where there is none it is tried again. Stores are known that
// ignore the condition, or let several writers win: [Store.ProveExclusive] tries it out.
//
// An upload that was begun and neither completed nor aborted is shown by listings as a temporary file,
// `.<name>.upload-<id>.tmp`, and deleting that aborts it; so whoever cleans needs to know nothing of uploads.
//
// It takes no catalog lock, so it is safe only among writers that create snapshots conditionally. Paimon's Java does not: it
// copies over the name.
//
// It must agree with the API reference of Amazon S3, and with org.apache.paimon.fs.FileIO in what paths mean.
package s3
