package s3

import "context"

// Config says where a store is and how it is spoken to. The zero Config is Amazon's own with the credentials that the
// environment, a profile, or the machine's or pod's role gives.
type Config struct {
	// Endpoint is the address of a store that is not Amazon's, such as http://127.0.0.1:9000. Empty is Amazon's of the region,
	// or what AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL says.
	Endpoint string
	// Region is the bucket's. Empty is what the environment or the profile says, and us-east-1 where an endpoint is given.
	Region string
	// Addressing tells where the bucket's name stands in a request.
	Addressing Addressing
	// Profile of the shared configuration and credentials files.
	Profile string
	// Keys gives fixed keys. It is asked again every few minutes, so that keys which were renewed are taken up. nil leaves it to
	// the environment, the profile, or the machine's or pod's role.
	Keys func(ctx context.Context) (Keys, error)
	// Encryption is what the store is asked to encrypt new objects with.
	Encryption Encryption
	// KMSKey is the id or ARN of the key for KMS; empty is the account's own for S3.
	KMSKey string
	// RequesterPays accepts that the account of the credentials pays for requests to a bucket of others.
	RequesterPays bool
	// FewChecksums sends and checks checksums only where S3 demands them: old stores refuse those that are sent by default.
	FewChecksums bool
	// CA is a PEM file of the certificate authorities to trust instead of the system's.
	CA string
}

// Keys are fixed credentials.
type Keys struct {
	ID, Secret string
	// Token belongs to temporary keys.
	Token string
}

// Addressing is where the bucket's name stands in a request.
type Addressing int

// The ways of addressing.
const (
	// AutoAddressing is by path where there is an endpoint, else by host.
	AutoAddressing Addressing = iota
	// HostAddressing puts the bucket before the host's name.
	HostAddressing
	// PathAddressing puts the bucket into the path.
	PathAddressing
)

// Encryption is how a store encrypts new objects.
type Encryption int

// The ways of encryption.
const (
	// DefaultEncryption is what the bucket's own settings say.
	DefaultEncryption Encryption = iota
	// ManagedKeys are S3's own keys (SSE-S3, AES256).
	ManagedKeys
	// KMS are keys of the key management service (SSE-KMS).
	KMS
)
