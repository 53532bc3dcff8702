// Package hdfs is the fileio.Store on Hadoop's file system, by its own protocols.
//
// A [Client] stands for a set of settings, with what Hadoop's core-site.xml and hdfs-site.xml say; a [Store] is a folder of one
// cluster, seen through a client. A cluster may have several name nodes: the one that is active is found.
//
// A file is written beside its place, as `.<name>.<uuid>.tmp`, closed, and renamed. No reader sees a part of it: HDFS shows a
// file from its creation on, and one whose writer died stays there half written, so nothing is ever created under a final name.
// [Store.CreateExclusive] renames without overwriting, which the name node decides for one of several writers. Whatever but
// success is answered, the file is read: our bytes are a win, other bytes a loss, and where there is none it is tried again.
//
// The library sends its rename always with the order to overwrite, and gives no way to send another; see call.go for how the
// same call is made without it.
//
// The library knows no contexts and leaves a connection on which nothing moves open for ever. Here every connection ends after
// a minute without a byte, and a call whose context ends is left to itself.
//
// A file that was closed is held by as many data nodes as it has replicas; whether they have flushed it to their disks is the
// cluster's choice (dfs.datanode.synconclose), as it is for Hadoop's own client, which Paimon closes files with.
//
// It must agree with Hadoop's ClientProtocol (rename2, create, complete), its core-default.xml and hdfs-default.xml, and
// with org.apache.paimon.fs.hadoop.HadoopFileIO in what paths mean.
package hdfs
