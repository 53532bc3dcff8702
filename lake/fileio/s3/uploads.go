package s3

import (
	"context"
	"encoding/base64"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tributary-lake/tributary/lake/fileio"
)

const (
	uploadMark = ".upload-"
	uploadEnd  = ".tmp"
	// abortTime is how long the end of an upload that was given up may take. A cancelled context must not keep it.
	abortTime = 20 * time.Second
)

// uploadName is the path under which an upload that has not ended is listed.
func uploadName(p, id string) string {
	return path.Join(path.Dir(p), "."+path.Base(p)+uploadMark+base64.RawURLEncoding.EncodeToString([]byte(id))+uploadEnd)
}

// upload tells which upload a path stands for, if it stands for one.
func upload(p string) (target, id string, ok bool) {
	name := path.Base(p)
	cut := strings.LastIndex(name, uploadMark)
	if cut < 2 || name[0] != '.' || !strings.HasSuffix(name, uploadEnd) {
		return "", "", false
	}
	text := strings.TrimSuffix(name[cut+len(uploadMark):], uploadEnd)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) == 0 {
		return "", "", false
	}
	return path.Join(path.Dir(p), name[1:cut]), string(raw), true
}

// listUploads lists the uploads below a folder that have not ended. A store that cannot tell, or does not let these
// credentials ask, shows none: they are rubbish at worst.
func (s *Store) listUploads(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	pages := s3.NewListMultipartUploadsPaginator(s.client.api, &s3.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: aws.String(s.below(folder))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			if unknownRequest(err) || status(err) == http.StatusForbidden && code(err) == "AccessDenied" {
				return nil
			}
			return s.wrap("list the uploads below", folder, err)
		}
		for i := range page.Uploads {
			u := &page.Uploads[i]
			key := aws.ToString(u.Key)
			p, ok := s.path(key)
			if !ok || !strings.HasPrefix(key, s.below(folder)) {
				continue
			}
			if err := fn(fileio.Info{Path: uploadName(p, aws.ToString(u.UploadId)), Modified: aws.ToTime(u.Initiated)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// abortUpload gives an upload up. One that has ended is no error.
func (s *Store) abortUpload(ctx context.Context, p, id string) error {
	_, err := s.client.api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &s.bucket, Key: aws.String(s.key(p)), UploadId: &id,
	})
	if code(err) == "NoSuchUpload" || missing(err) {
		return nil
	}
	return err
}
