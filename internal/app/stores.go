package app

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/s3"
)

// stores opens warehouses and staging roots by their addresses. Stores with the same settings share their connections; all
// share the memory of uploads.
type stores struct {
	masker  *config.Masker
	buffers *s3.Buffers

	mu      sync.Mutex
	clients map[[sha256.Size]byte]*s3.Client
}

func newStores(masker *config.Masker) *stores {
	return &stores{masker: masker, buffers: s3.NewBuffers(s3.UploadMemory), clients: map[[sha256.Size]byte]*s3.Client{}}
}

// open opens a root. The settings matter to those in S3 alone.
func (s *stores) open(ctx context.Context, uri string, settings config.S3) (fileio.Store, error) {
	if !inS3(uri) {
		return fileio.OpenLocal(uri)
	}
	client, err := s.client(ctx, settings)
	if err != nil {
		return nil, err
	}
	return client.Store(uri)
}

func inS3(uri string) bool { return strings.HasPrefix(uri, "s3://") }

// client returns the client with these settings, made by whoever asks first.
func (s *stores) client(ctx context.Context, settings config.S3) (*s3.Client, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("settings of S3: %w", err)
	}
	key := sha256.Sum256(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[key]; c != nil {
		return c, nil
	}
	c, err := s3.NewClient(ctx, s.config(settings), s.buffers)
	if err != nil {
		return nil, err
	}
	s.clients[key] = c
	return c, nil
}

// config is a job's settings as the store knows them.
func (s *stores) config(c config.S3) s3.Config {
	out := s3.Config{
		Endpoint: c.Endpoint, Region: c.Region, Profile: c.Profile, KMSKey: c.KMSKeyID, RequesterPays: c.RequesterPays,
		FewChecksums: c.Checksums == config.ChecksumsRequired, CA: c.CA,
	}
	switch c.PathStyle {
	case config.PathStyleOn:
		out.Addressing = s3.PathAddressing
	case config.PathStyleOff:
		out.Addressing = s3.HostAddressing
	case config.PathStyleAuto:
	}
	switch c.SSE {
	case config.SSES3:
		out.Encryption = s3.ManagedKeys
	case config.SSEKMS:
		out.Encryption = s3.KMS
	case config.SSENone:
	}
	if !c.AccessKeyID.IsZero() {
		out.Keys = func(ctx context.Context) (k s3.Keys, err error) {
			for _, part := range []struct {
				to   *string
				from config.Secret
			}{{&k.ID, c.AccessKeyID}, {&k.Secret, c.SecretAccessKey}, {&k.Token, c.SessionToken}} {
				if *part.to, err = s.masker.Resolve(ctx, part.from); err != nil {
					return s3.Keys{}, err
				}
			}
			return k, nil
		}
	}
	return out
}

// s3Root writes an address in S3 in one way: see root.
func s3Root(uri string) string {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
	return "s3://" + strings.TrimSuffix(bucket+path.Clean("/"+prefix), "/")
}
