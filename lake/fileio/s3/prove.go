package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"

	"github.com/tributary-lake/tributary/lake/fileio"
)

const (
	proofRounds  = 5
	proofWriters = 8
)

// ProveExclusive implements fileio.Prover: it lets writers race for names that it removes again, and tries to replace what
// is there. What is found is remembered for the client and the bucket; a failure to find out is not.
func (s *Store) ProveExclusive(ctx context.Context) error {
	known, err := s.client.proof(s.bucket)
	if !known {
		err = s.prove(ctx)
		if err == nil || errors.Is(err, fileio.ErrNotExclusive) {
			s.client.remember(s.bucket, err)
		}
	}
	if errors.Is(err, fileio.ErrNotExclusive) {
		s.unsafe.Store(true)
	}
	return err
}

// proof is what was found out of a bucket, if anything was.
func (c *Client) proof(bucket string) (known bool, result error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	result, known = c.proved[bucket]
	return known, result
}

func (c *Client) remember(bucket string, result error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proved[bucket] = result
}

func (s *Store) prove(ctx context.Context) (err error) {
	var names []string
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
		defer cancel()
		for _, name := range names {
			err = errors.Join(err, s.Delete(ctx, name))
		}
	}()
	for range proofRounds {
		name := ".probe." + uuid.NewString() + ".tmp"
		names = append(names, name)
		winners, err := s.raceFor(ctx, name)
		if err != nil {
			return s.wrap("try out conditional writes with", name, err)
		}
		if winners > 1 {
			return fmt.Errorf("%w: %s: of %d writers that created one object with If-None-Match: * at one moment, %d were told that they did",
				fileio.ErrNotExclusive, s.URI(""), proofWriters, winners)
		}
	}
	return s.proveRefusal(ctx, names[0])
}

// raceFor lets writers go for one name and counts those who are told that they made it.
func (s *Store) raceFor(ctx context.Context, name string) (int, error) {
	var group sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, proofWriters)
	for i := range errs {
		group.Go(func() {
			<-start
			errs[i] = s.put(ctx, name, strings.NewReader(fmt.Sprintf("writer %d", i)), true)
		})
	}
	close(start)
	group.Wait()
	winners := 0
	var failed error
	for _, err := range errs {
		switch {
		case err == nil:
			winners++
		case status(err) != http.StatusPreconditionFailed && status(err) != http.StatusConflict:
			failed = errors.Join(failed, err)
		}
	}
	if winners > 0 {
		failed = nil // the others do not matter
	}
	return winners, failed
}

// proveRefusal makes sure that what is there stays when another is created on the condition that there is none.
func (s *Store) proveRefusal(ctx context.Context, name string) error {
	before, err := s.text(ctx, name)
	if err != nil {
		return s.wrap("try out conditional writes with", name, err)
	}
	put := s.put(ctx, name, strings.NewReader("a later writer"), true)
	after, err := s.text(ctx, name)
	if err != nil {
		return s.wrap("try out conditional writes with", name, err)
	}
	if put == nil || after != before {
		return fmt.Errorf("%w: %s: an object was replaced although If-None-Match: * was sent", fileio.ErrNotExclusive, s.URI(""))
	}
	return nil
}

func (s *Store) text(ctx context.Context, p string) (string, error) {
	out, err := s.client.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.key(p))})
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	text, err := io.ReadAll(io.LimitReader(out.Body, 100))
	return string(text), err
}

// completesExclusively tells whether the store keeps the condition where a file is completed of parts. It is tried out once
// for a client and bucket; without it large files are sent in one request.
func (s *Store) completesExclusively(ctx context.Context) bool {
	c := s.client
	c.mu.Lock()
	kept, known := c.completes[s.bucket]
	c.mu.Unlock()
	if known {
		return kept
	}
	kept, err := s.tryComplete(ctx)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.completes[s.bucket] = kept
	}
	return kept
}

// tryComplete completes an upload under a name that is taken.
func (s *Store) tryComplete(ctx context.Context) (kept bool, err error) {
	name := ".probe." + uuid.NewString() + ".tmp"
	if err := s.put(ctx, name, strings.NewReader("the first"), false); err != nil {
		return false, err
	}
	w := s.writer(ctx, name)
	w.exclusive = true
	defer func() {
		err = errors.Join(err, w.Abort(), s.Delete(context.WithoutCancel(ctx), name)) //nolint:contextcheck // the writer has one of its own, made of this
	}()
	if err := w.begin(); err != nil {
		return false, err
	}
	if err := w.upload(1, strings.NewReader("a later one")); err != nil {
		return false, err
	}
	completed := w.finish()
	text, err := s.text(ctx, name)
	return completed != nil && text == "the first", err
}
