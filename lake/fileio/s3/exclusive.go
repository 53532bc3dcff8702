package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// largeBytes is from where on a file that must be the first of its name is sent in parts, if the store keeps the condition
// there too.
const largeBytes = 64 << 20

// CreateExclusive implements fileio.Store.
func (s *Store) CreateExclusive(ctx context.Context, p string, data []byte) error {
	clean, err := s.file(ctx, "create", p)
	if err != nil {
		return err
	}
	send := func() error { return s.put(ctx, clean, bytes.NewReader(data), true) }
	if len(data) >= largeBytes && s.completesExclusively(ctx) {
		send = func() error { return s.putParts(ctx, clean, data) }
	}
	return s.settle(ctx, clean, data, send)
}

// settle sends a file until it is known who won. Whatever but success is answered, the object is read: only that tells.
func (s *Store) settle(ctx context.Context, p string, data []byte, send func() error) error {
	for failures := 1; ; failures++ {
		sent := send()
		if sent == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return s.wrap("create", p, errors.Join(err, sent))
		}
		same, err := s.holds(ctx, p, data)
		switch {
		case err == nil && same:
			return nil
		case err == nil:
			return fmt.Errorf("create %s: %w", s.URI(p), fileio.ErrExist)
		case !missing(err):
			return s.wrap("create", p, errors.Join(sent, err))
		}
		// There is no object. A conflict (409) is with a request that did not make one either; anything else that the SDK gave
		// up is final unless it was the condition that failed: then the one who had won is gone already.
		if again := status(sent) == http.StatusConflict || status(sent) == http.StatusPreconditionFailed; !again || failures == attempts {
			return s.wrap("create", p, sent)
		}
		if err := wait(ctx, failures); err != nil {
			return s.wrap("create", p, errors.Join(err, sent))
		}
	}
}

// holds tells whether an object has exactly these bytes.
func (s *Store) holds(ctx context.Context, p string, data []byte) (bool, error) {
	for failures := 1; ; failures++ {
		out, err := s.client.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.key(p))})
		if err != nil {
			return false, err
		}
		same, err := equal(out, data)
		_ = out.Body.Close() // it was only read from
		if err == nil || failures == attempts {
			return same, err
		}
		if err := wait(ctx, failures); err != nil {
			return false, err
		}
	}
}

func equal(out *s3.GetObjectOutput, data []byte) (bool, error) {
	if aws.ToInt64(out.ContentLength) != int64(len(data)) {
		return false, nil
	}
	there, err := io.ReadAll(io.LimitReader(out.Body, int64(len(data))))
	return err == nil && bytes.Equal(there, data), err
}

// putParts makes a large file of parts, on the condition that there is none.
func (s *Store) putParts(ctx context.Context, p string, data []byte) error {
	w := s.writer(ctx, p)
	w.exclusive = true
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Abort()) //nolint:contextcheck // the writer has one of its own, made of this
	}
	return w.Close() //nolint:contextcheck // the writer has one of its own, made of this
}
