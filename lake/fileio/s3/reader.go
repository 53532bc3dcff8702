package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/window"
)

// headBytes are fetched when a file is opened: most files of a table are smaller, and cost one request then.
const headBytes = 64 << 10

// reader reads an object at any place. It is bound to the object's tag, so that all bytes are of one version.
type reader struct {
	ctx   context.Context //nolint:containedctx // io.ReaderAt has none; a reader lives within the call that its Open was made for
	store *Store
	path  string
	size  int64
	tag   *string

	windows *window.Reader
}

// Open implements fileio.Store.
func (s *Store) Open(ctx context.Context, p string) (fileio.Reader, error) {
	clean, err := s.file(ctx, "open", p)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, store: s, path: clean}
	if err := r.start(); err != nil {
		return nil, s.wrap("open", clean, err)
	}
	return r, nil
}

// start fetches the beginning of the file, and with it its size and tag.
func (r *reader) start() error {
	var err error
	for failures := 0; failures < attempts; {
		out, got := r.get(0, headBytes, nil)
		if got != nil {
			if status(got) == http.StatusRequestedRangeNotSatisfiable {
				return r.empty()
			}
			return got // the SDK has tried again whatever may pass
		}
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(out.Body, headBytes)); err == nil {
			_ = out.Body.Close() // it was only read from
			r.size, r.tag = sizeOf(out), out.ETag
			if int64(len(data)) != min(r.size, headBytes) {
				return fmt.Errorf("%d bytes came of a range of %d: the store does not keep ranges", len(data), min(r.size, headBytes))
			}
			r.windows = window.New(r.size, data, r.fetch)
			return nil
		}
		_ = out.Body.Close()
		failures++
		if err := wait(r.ctx, failures); err != nil {
			return err
		}
	}
	return err
}

// empty opens a file of which no range can be had: one without a byte.
func (r *reader) empty() error {
	head, err := r.store.head(r.ctx, r.path)
	if err != nil {
		return err
	}
	if n := aws.ToInt64(head.ContentLength); n != 0 {
		return fmt.Errorf("no range of its %d bytes can be had", n)
	}
	r.tag, r.windows = head.ETag, window.New(0, nil, r.fetch)
	return nil
}

// sizeOf is an object's size by the answer to a request for a range: bytes 0-9/1234.
func sizeOf(out *s3.GetObjectOutput) int64 {
	if _, total, ok := strings.Cut(aws.ToString(out.ContentRange), "/"); ok {
		if n, err := strconv.ParseInt(total, 10, 64); err == nil {
			return n
		}
	}
	return aws.ToInt64(out.ContentLength)
}

// get asks for the bytes from off on, n of them.
func (r *reader) get(off, n int64, tag *string) (*s3.GetObjectOutput, error) {
	return r.store.client.api.GetObject(r.ctx, &s3.GetObjectInput{
		Bucket: &r.store.bucket, Key: aws.String(r.store.key(r.path)), IfMatch: tag,
		Range: aws.String(fmt.Sprintf("bytes=%d-%d", off, off+n-1)),
	})
}

// Size implements fileio.Reader.
func (r *reader) Size() int64 { return r.size }

// Close implements io.Closer. A reader holds nothing open between reads.
func (r *reader) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read %s: offset %d", r.store.URI(r.path), off)
	}
	n, err := r.windows.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, r.store.wrap("read", r.path, err)
	}
	return n, err
}

// fetch reads a range that lies within the file. A body that breaks off is asked for again from where it broke.
func (r *reader) fetch(p []byte, off int64) (int, error) {
	done, failures := 0, 0
	for done < len(p) {
		out, err := r.get(off+int64(done), int64(len(p)-done), r.tag)
		if err != nil {
			if status(err) == http.StatusPreconditionFailed {
				err = fmt.Errorf("another file took its place while it was read: %w", err)
			}
			return done, err
		}
		n, err := io.ReadFull(out.Body, p[done:])
		_ = out.Body.Close() // it was only read from
		done += n
		if err == nil {
			break
		}
		if n > 0 {
			failures = 0
		}
		failures++
		if failures == attempts {
			return done, errors.Join(fmt.Errorf("the answer broke off %d times in a row", failures), err)
		}
		if err := wait(r.ctx, failures); err != nil {
			return done, err
		}
	}
	return done, nil
}
