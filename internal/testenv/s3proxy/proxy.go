package s3proxy

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Fault is what befalls a request.
type Fault int

// The faults.
const (
	// None lets the request be.
	None Fault = iota
	// InternalError answers 500 and does nothing.
	InternalError
	// SlowDown answers 503, as a store does that has too much to do, and does nothing.
	SlowDown
	// Reset breaks the connection and does nothing.
	Reset
	// LostReply does what is asked for and breaks the connection.
	LostReply
	// HalfReply does what is asked for and breaks the connection in the middle of the answer.
	HalfReply
	// Conflict answers 409, as S3 does to conditional requests that meet, and does nothing.
	Conflict
	// Expired answers that the credentials have expired.
	Expired
)

// Proxy passes requests on to an S3 server.
type Proxy struct {
	// Endpoint is the proxy's own address.
	Endpoint string
	// Change may change a request before it is passed on. It is set before the first one.
	Change func(*http.Request) error
	// Requests counts those that came in.
	Requests atomic.Int64

	server string
	client *http.Transport
	choose atomic.Pointer[func(*http.Request) Fault]
}

// Choose sets what befalls requests from now on; nil is nothing. The function may be called at the same time.
func (p *Proxy) Choose(fault func(*http.Request) Fault) {
	if fault == nil {
		fault = func(*http.Request) Fault { return None }
	}
	p.choose.Store(&fault)
}

// NewProxy starts a proxy before a server, for the length of the test.
func NewProxy(tb testing.TB, server string) *Proxy {
	tb.Helper()
	p := &Proxy{server: server, client: &http.Transport{MaxIdleConnsPerHost: 64}}
	s := httptest.NewServer(p)
	tb.Cleanup(func() {
		s.Close()
		p.client.CloseIdleConnections()
	})
	p.Endpoint = s.URL
	return p
}

// Random chooses faults of all kinds but the last ones for a share of the requests, the same ones each time for a seed as far
// as requests come in the same order.
func Random(seed uint64, share float64) func(*http.Request) Fault {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	return func(*http.Request) Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() >= share {
			return None
		}
		return InternalError + Fault(random.IntN(int(Conflict-InternalError)))
	}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Requests.Add(1)
	fault := None
	if choose := p.choose.Load(); choose != nil {
		fault = (*choose)(r)
	}
	switch fault {
	case InternalError:
		refuse(w, http.StatusInternalServerError, "InternalError")
	case SlowDown:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case Conflict:
		refuse(w, http.StatusConflict, "ConditionalRequestConflict")
	case Expired:
		refuse(w, http.StatusBadRequest, "ExpiredToken")
	case Reset:
		panic(http.ErrAbortHandler) // net/http breaks the connection
	default:
		p.pass(w, r, fault)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>made up</Message></Error>", code)
}

func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, fault Fault) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host = "http", p.server[len("http://"):]
	if p.Change != nil {
		if err := p.Change(out); err != nil {
			panic(err)
		}
	}
	answer, err := p.client.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	if fault == LostReply {
		_, _ = io.Copy(io.Discard, answer.Body)
		panic(http.ErrAbortHandler)
	}
	for k, v := range answer.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.StatusCode)
	if fault == HalfReply && answer.ContentLength > 1 {
		_, _ = io.CopyN(w, answer.Body, answer.ContentLength/2)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = io.Copy(w, answer.Body)
}

// Unconditional makes the proxy a store that does not know If-None-Match. The keys sign what is left of the requests.
func (p *Proxy) Unconditional(user, password string) {
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	p.Change = func(r *http.Request) error {
		if r.Header.Get("If-None-Match") == "" {
			return nil
		}
		r.Header.Del("If-None-Match")
		keys := aws.Credentials{AccessKeyID: user, SecretAccessKey: password}
		return signer.SignHTTP(r.Context(), keys, r, r.Header.Get("X-Amz-Content-Sha256"), "s3", "us-east-1", time.Now())
	}
}
