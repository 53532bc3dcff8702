package config

import (
	"fmt"
	"reflect"

	"github.com/tributary-lake/tributary/config/document"
)

// S3 says how stores under s3:// are spoken to. Where it is empty, the environment, the AWS profile, or the role of the machine or pod
// decides, as with AWS's own tools.
type S3 struct {
	Endpoint        string    `key:"endpoint" rule:"endpoint" doc:"The address of a store that is not Amazon's, such as http://127.0.0.1:9000. Without it Amazon's of the region, or what AWS_ENDPOINT_URL_S3 says where the worker runs."`
	Region          string    `key:"region" rule:"text" doc:"The bucket's region. Without it what AWS_REGION or the profile says where the worker runs; with an endpoint us-east-1."`
	PathStyle       PathStyle `key:"path_style" default:"auto" doc:"Whether the bucket's name stands in the path of requests. auto: where there is an endpoint."`
	AccessKeyID     Secret    `key:"access_key_id" doc:"Reference to the access key's id: ${env:NAME} or ${file:/path}. Without it AWS's own chain of credentials is asked: environment, profile, web identity, the machine's or pod's role."`
	SecretAccessKey Secret    `key:"secret_access_key" doc:"Reference to the access key's secret."`
	SessionToken    Secret    `key:"session_token" doc:"Reference to the token of temporary keys. References are read again every five minutes, so keys can be renewed."`
	Profile         string    `key:"profile" rule:"text" doc:"A profile of the AWS configuration files where the worker runs."`
	SSE             SSE       `key:"sse" default:"none" doc:"What new objects are encrypted with. none: what the bucket says; sse-s3: S3's own keys; sse-kms: keys of KMS."`
	KMSKeyID        string    `key:"kms_key_id" rule:"text" doc:"Id or ARN of the KMS key. Without it the account's key for S3."`
	RequesterPays   bool      `key:"requester_pays" default:"false" doc:"Whether this account pays for requests to a bucket of others."`
	Checksums       Checksums `key:"checksums" default:"when_supported" doc:"When checksums are sent and checked, as AWS's own setting. when_required is for old stores that refuse them."`
	CA              string    `key:"ca" rule:"text" doc:"PEM file of the certificate authorities, read by the worker. Without it the system's are used."`
}

// PathStyle tells whether the bucket's name stands in the path.
type PathStyle string

// The ways of addressing a bucket.
const (
	PathStyleAuto PathStyle = "auto"
	PathStyleOn   PathStyle = "true"
	PathStyleOff  PathStyle = "false"
)

func (PathStyle) allowed() []string {
	return []string{string(PathStyleAuto), string(PathStyleOn), string(PathStyleOff)}
}

// SSE is what new objects are encrypted with.
type SSE string

// The kinds of encryption by the store.
const (
	SSENone SSE = "none"
	SSES3   SSE = "sse-s3"
	SSEKMS  SSE = "sse-kms"
)

func (SSE) allowed() []string { return []string{string(SSENone), string(SSES3), string(SSEKMS)} }

// Checksums tells when checksums are sent and checked.
type Checksums string

// When checksums are sent and checked.
const (
	ChecksumsSupported Checksums = "when_supported"
	ChecksumsRequired  Checksums = "when_required"
)

func (Checksums) allowed() []string {
	return []string{string(ChecksumsSupported), string(ChecksumsRequired)}
}

// checkS3 refuses settings that do not go together.
func (b *binder) checkS3(s S3) {
	const path = "target.s3"
	switch {
	case !s.AccessKeyID.IsZero() && s.SecretAccessKey.IsZero():
		b.fault(path+".access_key_id", "a key needs its secret", "add secret_access_key")
	case b.at[path+".access_key_id"] != nil && s.AccessKeyID.IsZero():
		// What was there has been refused.
	case s.AccessKeyID.IsZero() && !s.SecretAccessKey.IsZero():
		b.fault(path+".secret_access_key", "a secret needs its key's id", "add access_key_id")
	case s.AccessKeyID.IsZero() && !s.SessionToken.IsZero():
		b.fault(path+".session_token", "a token belongs to keys", "add access_key_id and secret_access_key")
	}
	if s.Profile != "" && !s.AccessKeyID.IsZero() {
		b.fault(path+".profile", "there are keys already", "keep the keys or the profile")
	}
	if s.KMSKeyID != "" && s.SSE != SSEKMS {
		b.fault(path+".kms_key_id", fmt.Sprintf("sse is %s", s.SSE), "set sse: sse-kms, or remove the key")
	}
}

// MarshalJSON writes all settings, secrets as references.
func (s S3) MarshalJSON() ([]byte, error) { return appendValue(nil, reflect.ValueOf(s)), nil }

// ParseS3 reads what MarshalJSON wrote. The error is Problems.
func ParseS3(data []byte) (S3, error) { return parsePart[S3](data) }

// parsePart reads the JSON of a part of a job.
func parsePart[T any](data []byte) (T, error) {
	r := &report{}
	var part, none T
	if root := readNode(r, data); root != nil {
		newBinder(r, nil).bindStruct(reflect.ValueOf(&part).Elem(), root, document.Place{})
	}
	if len(r.problems) > 0 {
		return none, r.problems.sorted()
	}
	return part, nil
}
