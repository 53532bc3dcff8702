// Package bucket tells in which bucket of a table a row belongs: the same one that Paimon's writers and readers compute, or
// rows vanish from bucket-pruned reads and keys get duplicates.
//
// It is pure, and only for tables with a fixed number of buckets. The hash is over the BinaryRow of the bucket key, in the
// key's own order, so everything that makes those bytes canonical matters here (see package row).
//
// It must agree with org.apache.paimon.bucket.DefaultBucketFunction and ModBucketFunction, and with
// org.apache.paimon.utils.MurmurHashUtils.
package bucket
