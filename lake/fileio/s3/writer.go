package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"

	"github.com/tributary-lake/tributary/lake/fileio"
)

const (
	// partBytes is the size of all parts but the last one. S3 takes 10,000 of them: 78 GiB, many times a data file.
	partBytes = 8 << 20
	maxParts  = 10000
	// partsAtOnce of one file are on their way at the same time.
	partsAtOnce = 4
	// ownerKey is the metadata by which a writer knows its own object when the answer to the last request was lost.
	ownerKey = "tributary-upload"
)

// Create implements fileio.Store. Nothing is sent before the first part is full or Close is called.
func (s *Store) Create(ctx context.Context, p string) (fileio.Writer, error) {
	clean, err := s.file(ctx, "create", p)
	if err != nil {
		return nil, err
	}
	return s.writer(ctx, clean), nil
}

func (s *Store) writer(ctx context.Context, p string) *writer {
	w := &writer{store: s, path: p, owner: uuid.NewString(), slots: make(chan struct{}, partsAtOnce)}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.part = &part{buffers: s.client.buffers}
	return w
}

// writer sends a file: in one request when it is small, else in parts while it is written.
type writer struct {
	ctx    context.Context //nolint:containedctx // a writer lives within the call that its Create was made for
	cancel context.CancelCauseFunc
	store  *Store
	path   string
	owner  string
	closed bool
	// exclusive makes the file only where there is none.
	exclusive bool

	part     *part  // being filled
	uploadID string // of a file that is sent in parts
	begun    int    // parts
	slots    chan struct{}
	sending  sync.WaitGroup

	mu   sync.Mutex
	done []types.CompletedPart
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, fmt.Errorf("write %s: %w", w.store.URI(w.path), fs.ErrClosed)
	}
	written := 0
	for written < len(p) {
		if err := context.Cause(w.ctx); err != nil {
			return written, w.store.wrap("write", w.path, err)
		}
		n := min(len(p)-written, int(partBytes-w.part.size))
		if err := w.part.write(w.ctx, p[written:written+n]); err != nil {
			return written, w.store.wrap("write", w.path, w.because(err))
		}
		written += n
		if w.part.size == partBytes {
			if err := w.sendPart(); err != nil {
				return written, w.store.wrap("write", w.path, w.because(err))
			}
		}
	}
	return written, nil
}

// because is the error of the part that failed where another only tells that the file was given up.
func (w *writer) because(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	return err
}

// sendPart sends the part that is full while the next one is filled.
func (w *writer) sendPart() error {
	if w.uploadID == "" {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if w.begun++; w.begun > maxParts {
		return fmt.Errorf("the file is larger than %d parts of %d bytes", maxParts, partBytes)
	}
	number, full := int32(w.begun), w.part
	w.part = &part{buffers: w.store.client.buffers}
	full.send()
	select {
	case w.slots <- struct{}{}:
	case <-w.ctx.Done():
		full.release()
		return w.ctx.Err()
	}
	w.sending.Go(func() {
		defer func() {
			full.release()
			<-w.slots
		}()
		if err := w.upload(number, full.reader()); err != nil {
			w.cancel(fmt.Errorf("part %d: %w", number, err))
		}
	})
	return nil
}

func (w *writer) begin() error {
	sse, key := w.store.encryption()
	in := &s3.CreateMultipartUploadInput{
		Bucket: &w.store.bucket, Key: aws.String(w.store.key(w.path)), Metadata: map[string]string{ownerKey: w.owner},
		ServerSideEncryption: sse, SSEKMSKeyId: key,
	}
	if !w.store.client.config.FewChecksums {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32 // what the SDK sends with each part
	}
	out, err := w.store.client.api.CreateMultipartUpload(w.ctx, in)
	if err != nil {
		return err
	}
	w.uploadID = aws.ToString(out.UploadId)
	return nil
}

func (w *writer) upload(number int32, body io.ReadSeeker) error {
	out, err := w.store.client.api.UploadPart(w.ctx, &s3.UploadPartInput{
		Bucket: &w.store.bucket, Key: aws.String(w.store.key(w.path)), UploadId: &w.uploadID, PartNumber: &number, Body: body,
	})
	if err != nil {
		return err
	}
	part := types.CompletedPart{PartNumber: &number, ETag: out.ETag}
	if !w.store.client.config.FewChecksums {
		part.ChecksumCRC32 = out.ChecksumCRC32
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, part)
	return nil
}

// Close implements fileio.Writer.
func (w *writer) Close() error {
	if w.closed {
		return fmt.Errorf("close %s: %w", w.store.URI(w.path), fs.ErrClosed)
	}
	w.closed = true
	defer w.cancel(nil)
	var err error
	if w.uploadID == "" {
		err = w.ctx.Err()
		if err == nil {
			err = w.store.put(w.ctx, w.path, w.part.reader(), false)
		}
		w.part.release()
	} else {
		err = w.complete()
	}
	if err != nil {
		return w.store.wrap("close", w.path, err)
	}
	return nil
}

// complete sends the last part and makes the file of all. What fails is aborted.
func (w *writer) complete() error {
	var err error
	if w.part.size > 0 && context.Cause(w.ctx) == nil {
		err = w.sendPart()
	}
	w.sending.Wait()
	if err == nil {
		err = context.Cause(w.ctx)
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return errors.Join(w.because(err), w.giveUp())
	}
	return nil
}

// finish completes the upload. The answer may be lost while the work is done, and a second request then fails: whether the
// object is the writer's own is told by its metadata.
func (w *writer) finish() error {
	slices.SortFunc(w.done, func(a, b types.CompletedPart) int { return int(*a.PartNumber - *b.PartNumber) })
	in := &s3.CompleteMultipartUploadInput{
		Bucket: &w.store.bucket, Key: aws.String(w.store.key(w.path)), UploadId: &w.uploadID,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: w.done},
	}
	if w.exclusive {
		in.IfNoneMatch = aws.String("*")
	}
	_, err := w.store.client.api.CompleteMultipartUpload(w.ctx, in)
	if err == nil {
		return nil
	}
	if head, looked := w.store.head(w.ctx, w.path); looked == nil && head.Metadata[ownerKey] == w.owner {
		return nil
	}
	return err
}

// Abort implements fileio.Writer.
func (w *writer) Abort() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if err := w.giveUp(); err != nil {
		return w.store.wrap("abort", w.path, err)
	}
	return nil
}

// giveUp ends what is on its way and removes the parts that were sent.
func (w *writer) giveUp() error {
	w.cancel(context.Canceled)
	w.sending.Wait()
	w.part.release()
	if w.uploadID == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortTime)
	defer cancel()
	return w.store.abortUpload(ctx, w.path, w.uploadID)
}

// put writes a file in one request, with ifAbsent only where there is none.
func (s *Store) put(ctx context.Context, p string, body io.ReadSeeker, ifAbsent bool) error {
	sse, key := s.encryption()
	in := &s3.PutObjectInput{
		Bucket: &s.bucket, Key: aws.String(s.key(p)), Body: body, ServerSideEncryption: sse, SSEKMSKeyId: key,
	}
	if ifAbsent {
		in.IfNoneMatch = aws.String("*")
	}
	_, err := s.client.api.PutObject(ctx, in)
	return err
}

// encryption is what requests that make objects ask for.
func (s *Store) encryption() (types.ServerSideEncryption, *string) {
	switch c := s.client.config; {
	case c.Encryption == ManagedKeys:
		return types.ServerSideEncryptionAes256, nil
	case c.Encryption == KMS && c.KMSKey != "":
		return types.ServerSideEncryptionAwsKms, &c.KMSKey
	case c.Encryption == KMS:
		return types.ServerSideEncryptionAwsKms, nil
	}
	return "", nil
}
