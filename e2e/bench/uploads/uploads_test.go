package uploads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/fileio/s3"
)

const size = 256 << 20

// stream hands out the same random bytes in writes of 64 KiB, as an encoder of pages does: they cannot be seen before they come.
type stream struct {
	data []byte
	left int
}

func newStream() *stream {
	data := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte("uploads"))).Read(data)
	return &stream{data: data, left: size}
}

func (s *stream) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 64<<10, s.left)], s.data[s.left%len(s.data):])
	s.left -= n
	return n, nil
}

// cpu is what the process has used. Unlike time it says something on a machine that others use too.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkUpload sends 256 MiB in parts of 8 MiB, four at a time, to versitygw on the same machine.
func BenchmarkUpload(b *testing.B) {
	server := testenv.S3(b)
	bucket := server.Bucket(b)
	client, err := s3.NewClient(b.Context(), s3.Config{Endpoint: server.Endpoint, Keys: func(context.Context) (s3.Keys, error) {
		return s3.Keys{ID: testenv.S3User, Secret: testenv.S3Password}, nil
	}}, s3.NewBuffers(s3.UploadMemory))
	require.NoError(b, err)
	store, err := client.Store("s3://" + bucket)
	require.NoError(b, err)
	api := awss3.New(awss3.Options{
		BaseEndpoint: aws.String(server.Endpoint), UsePathStyle: true, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider(testenv.S3User, testenv.S3Password, ""),
	})
	uploader := manager.NewUploader(api, func(u *manager.Uploader) { u.PartSize, u.Concurrency = 8<<20, 4 })
	ways := map[string]func(name string) error{
		"tributary": func(name string) error {
			w, err := store.Create(b.Context(), name)
			if err != nil {
				return err
			}
			if _, err := io.CopyBuffer(struct{ io.Writer }{w}, newStream(), make([]byte, 64<<10)); err != nil {
				return err
			}
			return w.Close()
		},
		"sdk": func(name string) error {
			_, err := uploader.Upload(b.Context(), &awss3.PutObjectInput{Bucket: &bucket, Key: &name, Body: newStream()})
			return err
		},
	}
	n := 0
	for _, way := range []string{"tributary", "sdk"} {
		b.Run(way, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			began := cpu(b)
			for b.Loop() {
				n++
				require.NoError(b, ways[way](fmt.Sprint("f", n)))
			}
			b.ReportMetric((cpu(b)-began).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
	first, last := make([]byte, 100), make([]byte, 100)
	for i, buf := range [][]byte{first, last} {
		r, err := store.Open(b.Context(), fmt.Sprint("f", []int{1, n}[i]))
		require.NoError(b, err)
		_, err = r.ReadAt(buf, size/2)
		require.NoError(b, err)
	}
	require.True(b, bytes.Equal(first, last), "both sent the same")
}
