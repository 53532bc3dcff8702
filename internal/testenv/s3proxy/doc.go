// Package s3proxy puts a bad network and a bad store between a client and an S3 server: requests that fail, connections that
// break before, within or after the answer, and conditions that are not kept.
//
// It is for tests only.
package s3proxy
