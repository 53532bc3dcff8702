package config

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/config/document"
)

func TestS3_RoundTrip(t *testing.T) {
	data, err := os.ReadFile("testdata/everything.yaml")
	require.NoError(t, err)
	job := new(Job)
	r := &report{}
	newBinder(r, nil).bindStruct(reflect.ValueOf(job).Elem(), readNode(r, data), document.Place{})
	require.Empty(t, r.problems)
	text, err := job.Target.S3.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"endpoint":"https://s3.example.com:9000","region":"eu-central-1","path_style":"false",
		"access_key_id":"${env:AWS_ID}","secret_access_key":"${file:/run/secrets/aws}","session_token":"${env:AWS_TOKEN}",
		"profile":"lake","sse":"sse-kms","kms_key_id":"alias/lake","requester_pays":true,"checksums":"when_required","ca":"ca.pem"}`, string(text))
	again, err := ParseS3(text)
	require.NoError(t, err)
	require.Equal(t, job.Target.S3, again)

	none, err := ParseS3([]byte("{}"))
	require.NoError(t, err)
	require.Equal(t, S3{PathStyle: PathStyleAuto, SSE: SSENone, Checksums: ChecksumsSupported}, none)
	_, err = ParseS3([]byte(`{"secret_access_key":"hunter2"}`))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}
