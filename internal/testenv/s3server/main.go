// Command s3server serves a folder by the protocol of Amazon S3: a folder in it is a bucket, a file an object. It is versitygw,
// for tests alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "s3server:", err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: s3server FOLDER ADDRESS USER PASSWORD")
	}
	data := filepath.Join(args[0], "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	if err := (meta.XattrMeta{}).Test(data); err != nil {
		return fmt.Errorf("%w: set TMPDIR to a folder on a file system with extended attributes", err)
	}
	// Left at 0, the limit refuses every copy.
	backend, err := posix.New(data, meta.XattrMeta{}, posix.PosixOpts{CopyObjectThreshold: 5 << 30})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(context.Background(), backend, &embedgw.Config{
		RootUserAccess: args[2], RootUserSecret: args[3], Region: "us-east-1", Ports: []string{args[1]},
		MaxConnections: 1000, MaxRequests: 1000, MultipartMaxParts: 10000, KeepAlive: true, Quiet: true,
	})
}
