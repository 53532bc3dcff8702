// Package message holds commit messages: what one writer made for one partition and bucket, in the very bytes of
// Paimon's CommitMessageSerializer ([Encode], [Decode]), and the file that carries several of them between processes
// ([WriteFile], [ReadFile]).
//
// The serializer's version is not inside its bytes; the message file carries it beside. An unknown version is an error,
// never a guess. What a version has no place for is an error when written, unless leaving it out changes nothing for the
// release that reads it. Nothing here touches a table or a store.
//
// Any bytes may be decoded: what is wrong is an error, and memory stays in proportion to the input.
//
// It must agree with org.apache.paimon.table.sink.CommitMessageSerializer, DataFileMetaSerializer and
// IndexFileMetaSerializer of the Paimon releases 1.0 to 2.0.
package message
