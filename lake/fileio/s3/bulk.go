package s3

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// deleteBatch deletes up to a thousand objects in one request and returns those that must be tried one by one: an answer of
// success may tell of single objects that failed, and some stores do not know the request, or want a digest in it that the
// SDK no longer sends.
func (s *Store) deleteBatch(ctx context.Context, paths []string) ([]string, error) {
	ids := make([]types.ObjectIdentifier, len(paths))
	byKey := make(map[string]string, len(paths))
	for i, p := range paths {
		key := s.key(p)
		ids[i].Key, byKey[key] = aws.String(key), p
	}
	out, err := s.client.api.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &s.bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)},
	})
	if err != nil {
		if unknownRequest(err) {
			return paths, nil
		}
		return nil, s.wrap("delete files below", "", err)
	}
	var left []string
	for i := range out.Errors {
		// Whatever the reason: tried alone it succeeds, or says why not.
		if p, ok := byKey[aws.ToString(out.Errors[i].Key)]; ok && aws.ToString(out.Errors[i].Code) != "NoSuchKey" {
			left = append(left, p)
		}
	}
	return left, nil
}

// unknownRequest tells that a store does not take a request at all, or not in this form.
func unknownRequest(err error) bool {
	switch code(err) {
	case "NotImplemented", "MissingContentMD5", "InvalidRequest", "InvalidArgument", "MethodNotAllowed", "MalformedXML":
		return true
	}
	switch status(err) {
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		return true
	}
	return false
}
