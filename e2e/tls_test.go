package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv/tlsproxy"
)

// Temporal behind TLS that wants clients' certificates: a worker and the starter reach it with temporal.tls, by flags and by the
// job file, and by nothing less.
func TestTemporalBehindTLS(t *testing.T) {
	f := newManySplits(t)
	proxy, stranger := tlsproxy.Start(t, f.stack.address, true, "h2"), tlsproxy.Start(t, f.stack.address, false, "h2")
	secure := *f.stack
	secure.address = proxy.Address
	all := []string{"--temporal-tls-ca", proxy.CA, "--temporal-tls-cert", proxy.Cert, "--temporal-tls-key", proxy.Key}
	secure.startWorker(t, f.queue, all...)

	r := secure.run(t, append([]string{"run", "-f", f.job, "--wait", "--json"}, append(all, "--temporal-tls-server-name", tlsproxy.ServerName)...)...)
	require.Zero(t, r.code, r.stderr)
	f.exact(t)
	job := f.changed(t, `"task_queue"`, `"tls": {"ca": "`+proxy.CA+`", "cert": "`+proxy.Cert+`", "key": "`+proxy.Key+`"}, "task_queue"`)
	r = secure.run(t, "run", "-f", job, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)

	for name, c := range map[string]struct {
		flags []string
		code  int
		says  string
	}{
		"no TLS":            {nil, 1, "no answer from Temporal"},
		"system's CAs":      {[]string{"--temporal-tls-enabled", "true"}, 1, "certificate"},
		"no certificate":    {all[:2], 1, "no answer from Temporal"},
		"another authority": {append([]string{"--temporal-tls-ca", stranger.CA}, all[2:]...), 1, "unknown authority"},
		"another server":    {append([]string{"--temporal-tls-server-name", "elsewhere.example"}, all...), 1, "elsewhere.example"},
		"no key":            {all[:4], 2, "set cert and key"},
		"no such file":      {[]string{"--temporal-tls-ca", "/no/such/file"}, 2, "/no/such/file"},
	} {
		t.Run(name, func(t *testing.T) {
			r := secure.run(t, append([]string{"status"}, c.flags...)...)
			require.Equal(t, c.code, r.code)
			require.Contains(t, r.stderr, c.says)
			require.Equal(t, c.code == 1, strings.Contains(r.stderr, "make dev"), "what is wrong is not that nothing runs: %s", r.stderr)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, secure.worker, append([]string{"--temporal-address", secure.address, "--listen", "127.0.0.1:0"}, c.flags...)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.Error(t, cmd.Run())
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), stderr.String())
			require.Contains(t, stderr.String(), c.says)
		})
	}
}
