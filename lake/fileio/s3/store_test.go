package s3_test

import (
	"context"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/fileio/s3"
)

var onMinIO = flag.Bool("minio", false, "run the tests on MinIO in place of versitygw")

func theServer(t testing.TB) *testenv.S3Server {
	t.Helper()
	if *onMinIO {
		return testenv.MinIO(t)
	}
	return testenv.S3(t)
}

func keys(context.Context) (s3.Keys, error) {
	return s3.Keys{ID: testenv.S3User, Secret: testenv.S3Password}, nil
}

func newClient(t testing.TB, endpoint string, change ...func(*s3.Config)) *s3.Client {
	t.Helper()
	c := s3.Config{Endpoint: endpoint, Keys: keys}
	for _, f := range change {
		f(&c)
	}
	client, err := s3.NewClient(t.Context(), c, s3.NewBuffers(s3.UploadMemory))
	require.NoError(t, err)
	return client
}

func newStore(t testing.TB, c *s3.Client, uri string) *s3.Store {
	t.Helper()
	s, err := c.Store(uri)
	require.NoError(t, err)
	return s
}

func TestStore(t *testing.T) {
	server := theServer(t)
	client := newClient(t, server.Endpoint)
	for name, below := range map[string]string{"bucket": "", "prefix": "/lake/w h"} {
		t.Run(name, func(t *testing.T) {
			fileiotest.Run(t, fileiotest.Config{New: func(t *testing.T) fileio.Store {
				return newStore(t, client, "s3://"+server.Bucket(t)+below)
			}})
		})
	}
}
