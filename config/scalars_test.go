package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "1": 1, "1B": 1, "1KB": 1000, "1KiB": 1024, "64MB": 64_000_000, "256MiB": 268_435_456,
		"1GiB": 1_073_741_824, "2 GB": 2_000_000_000, "3TiB": 3_298_534_883_328, "1TB": 1_000_000_000_000,
	} {
		got, err := ParseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseBytes(got.String())
		require.NoError(t, err)
		require.Equal(t, want, again, got.String())
	}
	for _, bad := range []string{"", "-1", "1.5GiB", "1 gig", "1kb", "KiB", "1  KiB", "9999999999999999999", "9999999999TiB", "1e3", "+1"} {
		_, err := ParseBytes(bad)
		require.Error(t, err, bad)
	}
	require.Equal(t, "64MB", Bytes(64_000_000).String())
	require.Equal(t, "1GiB", Bytes(1<<30).String())
	require.Equal(t, "1KiB", Bytes(1024).String())
	require.Equal(t, "1025", Bytes(1025).String())
	require.Equal(t, "0", Bytes(0).String())
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "5m": 5 * time.Minute, "72h": 72 * time.Hour, "1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond,
		"250ms": 250 * time.Millisecond, "0s": 0,
	} {
		got, err := parseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := parseDuration(durationText(got))
		require.NoError(t, err, durationText(got))
		require.Equal(t, got, again)
	}
	for _, bad := range []string{"", "0", "5", "-5m", "5 m", "3d", "1h ", "99999999h", "m"} {
		_, err := parseDuration(bad)
		require.Error(t, err, bad)
	}
	for text, want := range map[string]string{"72h": "72h", "90m": "1h30m", "60s": "1m", "3600s": "1h", "100s": "1m40s", "1h0m5s": "1h0m5s", "0s": "0s"} {
		d, err := parseDuration(text)
		require.NoError(t, err)
		require.Equal(t, want, durationText(d))
	}
}
