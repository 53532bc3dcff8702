package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tributary-lake/tributary/lake/fileio"
)

const (
	// attempts of one request, its first included. With the waits between them they take some 20 seconds.
	attempts = 10
	// keysLast is how long keys are used before they are asked for again.
	keysLast = 5 * time.Minute
	// connections that stay open to one host while nothing is sent.
	connections = 64
)

// Client speaks to one endpoint with one set of credentials. Its methods may be called at the same time.
type Client struct {
	api     *s3.Client
	config  Config
	buffers *Buffers

	mu        sync.Mutex
	proved    map[string]error // by bucket; nil when it keeps conditions
	completes map[string]bool  // by bucket: see Store.completesExclusively
}

// NewClient makes a client. Nothing is sent; files that the configuration names are read.
func NewClient(ctx context.Context, c Config, buffers *Buffers) (*Client, error) {
	loaded, err := load(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("s3 settings: %w", err)
	}
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = aws.ToString(loaded.BaseEndpoint)
	}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
		if v := os.Getenv(name); c.Endpoint == "" && v != "" {
			endpoint = v
		}
	}
	if loaded.Region == "" {
		if endpoint == "" {
			return nil, errors.New("s3 settings: no region: set it in the job (target.s3.region), in AWS_REGION or in the profile")
		}
		loaded.Region = "us-east-1"
	}
	loaded.Credentials = marked{loaded.Credentials}
	api := s3.NewFromConfig(loaded, func(o *s3.Options) {
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
		o.UsePathStyle = c.Addressing == PathAddressing || c.Addressing == AutoAddressing && endpoint != ""
		if c.FewChecksums {
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
		if c.RequesterPays {
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("x-amz-request-payer", "requester"))
		}
		o.Logger = logging.Nop{} // it would write to stderr
		o.HTTPClient = &watched{next: o.HTTPClient, stall: stall}
	})
	return &Client{api: api, config: c, buffers: buffers, proved: map[string]error{}, completes: map[string]bool{}}, nil
}

// load gathers what the configuration, the environment and the shared files say.
func load(ctx context.Context, c Config) (aws.Config, error) {
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = connections
	})
	if c.CA != "" {
		pool, err := authorities(c.CA)
		if err != nil {
			return aws.Config{}, err
		}
		transport = transport.WithTransportOptions(func(t *http.Transport) {
			if t.TLSClientConfig == nil {
				t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
			}
			t.TLSClientConfig.RootCAs = pool
		})
	}
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithHTTPClient(transport),
		awsconfig.WithRetryer(newRetryer),
	}
	if c.Region != "" {
		options = append(options, awsconfig.WithRegion(c.Region))
	}
	if c.Profile != "" {
		options = append(options, awsconfig.WithSharedConfigProfile(c.Profile))
	}
	if c.Keys != nil {
		options = append(options, awsconfig.WithCredentialsProvider(fixed(c.Keys)))
	}
	return awsconfig.LoadDefaultConfig(ctx, options...)
}

// newRetryer tries again what may pass, without the quota by which the SDK gives up early: a run that has worked for
// hours is worth the wait.
func newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attempts
		o.RateLimiter = ratelimit.None
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			// An answer that broke off: what was asked for is done or not, and every request here may be sent again.
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return aws.TrueTernary
			}
			return aws.UnknownTernary
		}))
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return backoff(attempt), nil })
	})
}

// backoff is the wait after a number of failures: 50 ms doubled each time, at most 5 s, the half of it by chance.
func backoff(failures int) time.Duration {
	full := min(50*time.Millisecond<<min(max(failures-1, 0), 10), 5*time.Second)
	return full/2 + rand.N(full/2)
}

// wait waits after a failure.
func wait(ctx context.Context, failures int) error {
	timer := time.NewTimer(backoff(failures))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func fixed(keys func(context.Context) (Keys, error)) aws.CredentialsProvider {
	return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		k, err := keys(ctx)
		if err != nil {
			return aws.Credentials{}, err
		}
		return aws.Credentials{
			AccessKeyID: k.ID, SecretAccessKey: k.Secret, SessionToken: k.Token, Source: "the job's settings",
			CanExpire: true, Expires: time.Now().Add(keysLast),
		}, nil
	}))
}

func authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificate authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificate authorities: %s holds no PEM certificate", file)
	}
	return pool, nil
}

// Store returns the store below an address, s3://bucket or s3://bucket/prefix. Percent signs stand for themselves, as in
// Paimon's paths.
func (c *Client) Store(uri string) (*Store, error) {
	rest, ok := strings.CutPrefix(uri, "s3://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" || strings.ContainsAny(bucket, "@:?#") {
		return nil, fmt.Errorf("s3 store %q: want s3://bucket/prefix", uri)
	}
	clean, err := fileio.CleanFolder(strings.Trim(prefix, "/"))
	if err != nil {
		return nil, fmt.Errorf("s3 store s3://%s: %w", bucket, err)
	}
	return &Store{client: c, bucket: bucket, root: clean}, nil
}

// key is the object's key of a clean path; of the root it is the root's without a slash.
func (s *Store) key(p string) string { return path.Join(s.root, p) }
