// Package uploads measures uploads to S3 beside the SDK's own uploader, which is not part of the product: so this is a module of
// its own.
package uploads
