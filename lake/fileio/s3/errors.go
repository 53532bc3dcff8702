package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// wrap names the operation and the file, and says what a person can do about an error. Refused credentials and missing
// rights become fs.ErrPermission.
func (s *Store) wrap(op, p string, err error) error {
	where := fmt.Sprintf("%s %s", op, s.URI(p))
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", where, err)
	}
	code, status := code(err), status(err)
	switch code {
	case "NoSuchBucket":
		return fmt.Errorf("%s: there is no bucket %s at this endpoint: create it, or correct the address or the endpoint: %w", where, s.bucket, err)
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired":
		return fmt.Errorf("%s: the credentials have expired: renew them where the worker gets them from, then let the run go on: %w: %w", where, fs.ErrPermission, err)
	case "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch", "XAdminUserNotFound", "InvalidClientTokenId":
		return fmt.Errorf("%s: the credentials were refused: %w: %w", where, fs.ErrPermission, err)
	case "RequestTimeTooSkewed":
		return fmt.Errorf("%s: this machine's clock is wrong: %w", where, err)
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return fmt.Errorf("%s: the bucket is in another region: set target.s3.region: %w", where, err)
	}
	switch {
	case missing(err) && (op == "open" || op == "stat"):
		return fmt.Errorf("%s: %w", where, fileio.ErrNotExist)
	case status == http.StatusMovedPermanently || status == http.StatusTemporaryRedirect:
		return fmt.Errorf("%s: the bucket is in another region: set target.s3.region: %w", where, err)
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return fmt.Errorf("%s: %w: give these credentials the rights that docs/s3.md lists: %w", where, fs.ErrPermission, err)
	case errors.Is(err, errNoKeys):
		return fmt.Errorf("%s: set target.s3.access_key_id and secret_access_key, a profile, AWS_ACCESS_KEY_ID, or a role of the machine or pod: %w: %w",
			where, fs.ErrPermission, err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// code is the store's word for an error, or "".
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// status is the HTTP status of an error, 0 when there was no answer.
func status(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// missing tells that there is no such object. That there is no such bucket is no such answer.
func missing(err error) bool {
	switch code(err) {
	case "NoSuchKey", "NotFound":
		return true
	case "NoSuchBucket":
		return false
	}
	return status(err) == http.StatusNotFound
}

// errNoKeys marks the errors of whoever was asked for credentials.
var errNoKeys = errors.New("no credentials")

// marked is a provider whose errors are told from those of the store.
type marked struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (m marked) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := m.CredentialsProvider.Retrieve(ctx)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errNoKeys, err)
	}
	return c, err
}
