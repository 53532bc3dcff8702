package s3

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// Store is a bucket, or what lies below a prefix of one. See fileio.Store.
type Store struct {
	client *Client
	bucket string
	// root is the clean prefix, without slashes at its ends.
	root string
	// unsafe is set once the store was seen to let a second writer win.
	unsafe atomic.Bool
}

var (
	_ fileio.Store        = (*Store)(nil)
	_ fileio.FolderLister = (*Store)(nil)
	_ fileio.Prover       = (*Store)(nil)
	_ fileio.BulkDeleter  = (*Store)(nil)
)

// URI implements fileio.Store.
func (s *Store) URI(p string) string { return "s3://" + path.Join(s.bucket, s.root, p) }

// Exclusive implements fileio.Store. It is false once ProveExclusive has found that the store does not keep conditions.
func (s *Store) Exclusive() bool { return !s.unsafe.Load() }

// file checks a path and the context, and returns the path's shortest form.
func (s *Store) file(ctx context.Context, op, p string) (string, error) {
	clean, err := fileio.CleanFile(p)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", op, s.URI(""), err)
	}
	return clean, nil
}

// Stat implements fileio.Store.
func (s *Store) Stat(ctx context.Context, p string) (fileio.Info, error) {
	clean, err := s.file(ctx, "stat", p)
	if err != nil {
		return fileio.Info{}, err
	}
	head, err := s.head(ctx, clean)
	if err != nil {
		return fileio.Info{}, s.wrap("stat", clean, err)
	}
	return fileio.Info{Path: clean, Size: aws.ToInt64(head.ContentLength), Modified: aws.ToTime(head.LastModified)}, nil
}

func (s *Store) head(ctx context.Context, p string) (*s3.HeadObjectOutput, error) {
	return s.client.api.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(s.key(p))})
}

// List implements fileio.Store. Uploads that were begun and not ended are listed as temporary files.
func (s *Store) List(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	clean, err := s.folder(ctx, folder)
	if err != nil {
		return err
	}
	pages := s3.NewListObjectsV2Paginator(s.client.api, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.below(clean))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return s.wrap("list", clean, err)
		}
		for i := range page.Contents {
			o := &page.Contents[i]
			p, ok := s.path(aws.ToString(o.Key))
			if !ok {
				continue
			}
			if err := fn(fileio.Info{Path: p, Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)}); err != nil {
				return err
			}
		}
	}
	return s.listUploads(ctx, clean, fn)
}

// Folders implements fileio.FolderLister.
func (s *Store) Folders(ctx context.Context, folder string) ([]string, error) {
	clean, err := s.folder(ctx, folder)
	if err != nil {
		return nil, err
	}
	prefix := s.below(clean)
	pages := s3.NewListObjectsV2Paginator(s.client.api, &s3.ListObjectsV2Input{
		Bucket: &s.bucket, Prefix: &prefix, Delimiter: aws.String("/"),
	})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.wrap("list", clean, err)
		}
		for _, c := range page.CommonPrefixes {
			name := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(c.Prefix), prefix), "/")
			if name != "" && name != "." && name != ".." {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

func (s *Store) folder(ctx context.Context, folder string) (string, error) {
	clean, err := fileio.CleanFolder(folder)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("list %s: %w", s.URI(""), err)
	}
	return clean, nil
}

// below is the prefix of the keys of all files below a clean folder.
func (s *Store) below(folder string) string {
	if key := s.key(folder); key != "" {
		return key + "/"
	}
	return ""
}

// path is the path of a key, if it is one of a file. The empty objects by which Hadoop and consoles mark folders are none,
// nor is what no path can name.
func (s *Store) path(key string) (string, bool) {
	p := key
	if s.root != "" {
		p = strings.TrimPrefix(key, s.root+"/")
	}
	clean, err := fileio.CleanFile(p)
	return p, err == nil && clean == p
}

// Delete implements fileio.Store. Deleting an upload that was not ended aborts it.
func (s *Store) Delete(ctx context.Context, p string) error {
	clean, err := s.file(ctx, "delete", p)
	if err != nil {
		return err
	}
	if target, id, ok := upload(clean); ok {
		if err := s.abortUpload(ctx, target, id); err != nil {
			return s.wrap("abort the upload of", target, err)
		}
		return nil
	}
	_, err = s.client.api.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.key(clean))})
	if err != nil && !missing(err) {
		return s.wrap("delete", clean, err)
	}
	return nil
}

// batch is how many objects one request may delete.
const batch = 1000

// DeleteAll implements fileio.BulkDeleter.
func (s *Store) DeleteAll(ctx context.Context, paths []string) error {
	var objects, single []string
	for _, p := range paths {
		clean, err := s.file(ctx, "delete", p)
		if err != nil {
			return err
		}
		if _, _, ok := upload(clean); ok {
			single = append(single, clean)
		} else {
			objects = append(objects, clean)
		}
	}
	for chunk := range slices.Chunk(objects, batch) {
		if len(chunk) == 1 {
			single = append(single, chunk[0])
			continue
		}
		left, err := s.deleteBatch(ctx, chunk)
		if err != nil {
			return err
		}
		single = append(single, left...)
	}
	var failed error
	for _, p := range single {
		failed = errors.Join(failed, s.Delete(ctx, p))
	}
	return failed
}
