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
	"github.com/tributary-lake/tributary/lake/fileio/hdfs"
	"github.com/tributary-lake/tributary/lake/fileio/s3"
)

// stores opens warehouses and staging roots by their addresses. Stores with the same settings share their connections; all
// share the memory of uploads.
type stores struct {
	masker  *config.Masker
	buffers *s3.Buffers

	mu      sync.Mutex
	clients map[[sha256.Size]byte]*s3.Client
	hdfs    map[config.HDFS]*hdfs.Client
}

// StoreSettings is how a job's stores are reached. Its zero is what the environment says.
type StoreSettings struct {
	S3   config.S3
	HDFS config.HDFS
}

// SettingsOf are the settings of a target's stores.
func SettingsOf(t config.Target) StoreSettings { return StoreSettings{S3: t.S3, HDFS: t.HDFS} }

// text is the part of the settings that an address needs, empty for one on the local file system.
func (s StoreSettings) text(uri string) (string, error) {
	var part any
	switch {
	case inS3(uri):
		part = s.S3
	case inHDFS(uri):
		part = s.HDFS
	default:
		return "", nil
	}
	text, err := json.Marshal(part)
	return string(text), err
}

// parseSettings reads what text wrote.
func parseSettings(uri, text string) (s StoreSettings, err error) {
	switch {
	case text == "":
	case inHDFS(uri):
		s.HDFS, err = config.ParseHDFS([]byte(text))
	default:
		s.S3, err = config.ParseS3([]byte(text))
	}
	return s, err
}

func newStores(masker *config.Masker) *stores {
	return &stores{
		masker: masker, buffers: s3.NewBuffers(s3.UploadMemory), clients: map[[sha256.Size]byte]*s3.Client{},
		hdfs: map[config.HDFS]*hdfs.Client{},
	}
}

// open opens a root. The settings matter to those on a remote store alone.
func (s *stores) open(ctx context.Context, uri string, settings StoreSettings) (fileio.Store, error) {
	switch {
	case inS3(uri):
		client, err := s.client(ctx, settings.S3)
		if err != nil {
			return nil, err
		}
		return client.Store(uri)
	case inHDFS(uri):
		client, err := s.hadoop(settings.HDFS)
		if err != nil {
			return nil, err
		}
		return client.Store(uri)
	}
	return fileio.OpenLocal(uri)
}

func inS3(uri string) bool { return strings.HasPrefix(uri, "s3://") }

func inHDFS(uri string) bool { return strings.HasPrefix(uri, "hdfs://") }

// hadoop returns the client with these settings, made by whoever asks first.
func (s *stores) hadoop(c config.HDFS) (*hdfs.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client := s.hdfs[c]; client != nil {
		return client, nil
	}
	client, err := hdfs.NewClient(hdfs.Config{
		ConfDir: c.ConfDir, User: c.User, Principal: c.Principal, Keytab: c.Keytab, CredentialCache: c.CredentialCache, Krb5: c.Krb5,
		Replication: c.Replication,
	})
	if err != nil {
		return nil, err
	}
	s.hdfs[c] = client
	return client, nil
}

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

// remoteRoot writes an address in S3 or HDFS in one way: see root.
func remoteRoot(uri string) string {
	scheme, rest, _ := strings.Cut(uri, "://")
	host, below, _ := strings.Cut(rest, "/")
	return scheme + "://" + strings.TrimSuffix(host+path.Clean("/"+below), "/")
}
