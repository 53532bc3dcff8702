package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const hunter = "hunter2-ünïcode/&<x>"

func secretOf(t *testing.T, reference string) Secret {
	t.Helper()
	s, err := ParseSecret(reference)
	require.NoError(t, err)
	return s
}

func TestParseSecret_RefusesLiteralsWithoutQuotingThem(t *testing.T) {
	for _, literal := range []string{
		hunter, "", "$MYSQL", "${MYSQL}", "${env:}", "${env:A B}", "${env:1A}", "${file:relative}", "${file:/}", "x${env:A}",
		"${env:A}x", "${env:A}\n", "${vault:x}", " ${env:A}",
	} {
		_, err := ParseSecret(literal)
		require.EqualError(t, err, "a secret cannot stand here itself; write a reference, ${env:NAME} or ${file:/path}, and put the secret there", "%q", literal)
	}
}

func TestParseJob_LiteralPasswordIsNeverQuoted(t *testing.T) {
	const want = "job.yaml:6:17: source.instances[0].password: a secret cannot stand here itself; write a reference, ${env:NAME} or ${file:/path}, and put the secret there"
	for _, written := range []string{hunter, `"` + hunter + `"`, "'" + hunter + "'", "123456", "true"} {
		_, err := ParseJob("job.yaml", []byte(edited(t, "      user: sync", "      password: "+written+"\n      user: sync")))
		require.EqualError(t, err, want)
	}
	// Neither when the file around it is broken, or the key is written wrong.
	for _, text := range []string{
		edited(t, "      user: sync", "      password: "+hunter+"\n      user: [sync"),
		edited(t, "      user: sync", "      password: \""+hunter+"\n      user: sync"),
		edited(t, "      user: sync", "      pasword: "+hunter+"\n      user: sync"),
		edited(t, "      user: sync", "      password: "+hunter+": x\n      user: sync"),
		edited(t, "      user: sync", "      password: ["+hunter+"]\n      user: sync"),
		edited(t, "      user: sync", "      password: !"+hunter+" x\n      user: sync"),
		edited(t, "      user: sync", "      password: {a: "+hunter+"}\n      user: sync"),
		edited(t, "      user: sync", "      password: "+hunter+"\n     user: sync"),
		edited(t, "file:///lake", "s3://key:"+hunter+"@bucket/lake"),
	} {
		_, err := ParseJob("job.yaml", []byte(text))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2", text)
	}
}

func TestSecret_NeverPrintsItsValue(t *testing.T) {
	t.Setenv("TEST_SECRET", hunter)
	job, err := ParseJob("job.yaml", []byte(edited(t, "      user: sync", "      user: sync\n      password: ${env:TEST_SECRET}")))
	require.NoError(t, err)
	secret := job.Source.Instances[0].Password
	value, err := secret.Resolve(context.Background())
	require.NoError(t, err)
	require.Equal(t, hunter, value)

	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, what := range []any{secret, &secret, job, *job, job.Source.Instances, []Secret{secret}, map[string]Secret{"a": secret}} {
			out := fmt.Sprintf(verb, what)
			require.NotContains(t, out, "hunter2", verb)
			require.NotContains(t, out, fmt.Sprintf("%x", "hunter2"), verb)
		}
	}
	require.Equal(t, "${env:TEST_SECRET}", secret.String())
	for _, what := range []any{secret, &secret, job} {
		out, err := json.Marshal(what)
		require.NoError(t, err)
		require.NotContains(t, string(out), "hunter2")
		require.Contains(t, string(out), "${env:TEST_SECRET}")
	}
}

func TestSecret_Resolve(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return "${file:" + path + "}"
	}
	for text, want := range map[string]string{"a": "a", "a\n": "a", "a\r\n": "a", "a\n\n": "a\n", " a b \n": " a b "} {
		got, err := secretOf(t, write("good", text)).Resolve(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	none, err := Secret{}.Resolve(ctx)
	require.NoError(t, err)
	require.Empty(t, none)

	require.NoError(t, os.Unsetenv("TEST_SECRET_UNSET"))
	t.Setenv("TEST_SECRET_EMPTY", "")
	for reference, want := range map[string]string{
		"${env:TEST_SECRET_UNSET}":                    "the environment variable is not set in this process",
		"${env:TEST_SECRET_EMPTY}":                    "the environment variable is empty",
		"${file:" + dir + "/none}":                    "no such file",
		"${file:" + dir + "}":                         "is a directory",
		write("empty", "\n"):                          "the file is empty",
		write("large", strings.Repeat("x", 64<<10+1)): "the file has more than 65536 bytes",
	} {
		_, err := secretOf(t, reference).Resolve(ctx)
		require.ErrorIs(t, err, ErrSecret)
		require.ErrorContains(t, err, reference)
		require.ErrorContains(t, err, want)
	}
	_, err = secretOf(t, "${file:"+dir+"/none}").Resolve(ctx)
	require.ErrorIs(t, err, fs.ErrNotExist)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = secretOf(t, "${env:PATH}").Resolve(ended)
	require.ErrorIs(t, err, context.Canceled)
}

func TestMasker(t *testing.T) {
	var m Masker
	require.Equal(t, "as it was", m.Mask("as it was"))
	m.Add("", hunter, "hunter2", `quo"te\d`)
	for text, want := range map[string]string{
		"":                           "",
		"dial sync:" + hunter + "@x": "dial sync:***@x",
		"hunter2 twice: hunter2":     "*** twice: ***",
		"url hunter2-%C3%BCn%C3%AFcode%2F%26%3Cx%3E": "url ***",
		`json {"p":"quo\"te\\d"}`:                    `json {"p":"***"}`,
		`raw quo"te\d`:                               `raw ***`,
		"other text":                                 "other text",
	} {
		require.Equal(t, want, m.Mask(text))
	}
	quoted, err := json.Marshal(hunter)
	require.NoError(t, err)
	require.Equal(t, `"***"`, m.Mask(string(quoted)))
	require.Equal(t, `"***"`, m.Mask(fmt.Sprintf("%q", hunter)))

	cause := errors.New("access denied for " + hunter)
	masked := m.Error(fmt.Errorf("connect: %w", cause))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		require.NotContains(t, fmt.Sprintf(verb, masked), "hunter2", verb)
	}
	require.EqualError(t, masked, "connect: access denied for ***")
	require.ErrorIs(t, masked, cause)
	require.NoError(t, m.Error(nil))
	plain := errors.New("plain")
	require.Same(t, plain, m.Error(plain))

	var out bytes.Buffer
	n, err := m.Writer(&out).Write([]byte("line " + hunter + "\n"))
	require.NoError(t, err)
	require.Equal(t, len("line "+hunter+"\n"), n)
	require.Equal(t, "line ***\n", out.String())
}

func TestMasker_ManyGoroutines(t *testing.T) {
	t.Setenv("TEST_SECRET", hunter)
	var m Masker
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			m.Add(fmt.Sprintf("secret-number-%d", i))
			value, err := m.Resolve(context.Background(), Secret{"${env:TEST_SECRET}"})
			if err != nil || m.Mask(value) != "***" {
				t.Error("a resolved secret is not masked")
			}
		})
	}
	wait.Wait()
	_, err := m.Resolve(context.Background(), Secret{"${env:TEST_SECRET_NONE}"})
	require.ErrorIs(t, err, ErrSecret)
}
