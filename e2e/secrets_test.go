package e2e

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/workflows"
)

// finds is everything that a job left behind or showed, by where it was.
type finds map[string][]byte

// require that no secret is in it, and that it is what it claims to be: every word is somewhere.
func (f finds) require(t *testing.T, secrets map[string]string, words ...string) {
	t.Helper()
	for where, data := range f {
		for name, secret := range secrets {
			require.False(t, bytes.Contains(data, []byte(secret)), "%s is in %s", name, where)
		}
	}
	for _, word := range words {
		found := false
		for _, data := range f {
			found = found || bytes.Contains(data, []byte(word))
		}
		require.True(t, found, "the search would have found %q", word)
	}
}

// histories adds all events of a task queue's workflows as they go over the wire, payloads and failures among them, and the
// answers to their queries.
func (f finds) histories(t *testing.T, s *stack, queue string) {
	t.Helper()
	for page := []byte(nil); ; {
		list, err := s.client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("TaskQueue = '%s'", queue), NextPageToken: page,
		})
		require.NoError(t, err)
		for _, e := range list.GetExecutions() {
			id, run := e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId()
			data, err := proto.Marshal(e)
			require.NoError(t, err)
			f["the list of workflows, "+id+run] = data
			events := s.client.GetWorkflowHistory(t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			for events.HasNext() {
				event, err := events.Next()
				require.NoError(t, err)
				data, err := proto.Marshal(event)
				require.NoError(t, err)
				f[fmt.Sprintf("event %d of %s %s", event.GetEventId(), id, run)] = data
			}
			if name := e.GetType().GetName(); name == workflows.SyncName || name == workflows.SyncTableName {
				answer, err := s.client.QueryWorkflow(t.Context(), id, run, workflows.ProgressQuery)
				require.NoError(t, err)
				var text map[string]any
				require.NoError(t, answer.Get(&text))
				f["the progress of "+id+run] = fmt.Append(nil, text)
			}
		}
		if page = list.GetNextPageToken(); len(page) == 0 {
			return
		}
	}
}

// Secrets are given by the environment and by a file, right ones and wrong ones that servers refuse and quote. None is in a
// history, a log, a plan, an answer, an error, a metric, or a file below the warehouse.
func TestSecretsAreNowhere(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	m.Exec(t, "USE "+database, "CREATE TABLE orders_1 (id INT PRIMARY KEY, v VARCHAR(40))", "INSERT INTO orders_1 SELECT seq, MD5(seq) FROM seq_1_to_100")
	secrets := map[string]string{
		"the password in the environment": rand.Text(), "the password in the file": rand.Text(), "a wrong password": rand.Text(),
		"the secret key of S3": testenv.S3Password, "a wrong secret key": rand.Text(),
	}
	user := map[string]string{"the password in the environment": database + "_e", "the password in the file": database + "_f"}
	for name, user := range user {
		m.Exec(t, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", user, secrets[name]), fmt.Sprintf("GRANT SELECT ON %s.* TO '%s'@'%%'", database, user))
		t.Cleanup(func() { m.Exec(t, fmt.Sprintf("DROP USER '%s'@'%%'", user)) })
	}
	change, folder := inBucket(t)
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(secrets["the password in the file"]+"\n"), 0o600))
	t.Setenv("PLANTED_PASSWORD", secrets["the password in the environment"])
	t.Setenv("PLANTED_WRONG_PASSWORD", secrets["a wrong password"])
	t.Setenv("PLANTED_WRONG_KEY", secrets["a wrong secret key"])
	q := queue(t)
	spill := t.TempDir()
	w := s.startWorker(t, q, "--log-level", "debug", "--spill", spill)
	job := func(user, password, key string) string {
		return jobFile(t, "", q, []server{{"a", m}}, func(job, table map[string]any) {
			instance := job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)
			instance["databases"], instance["user"], instance["password"] = database, user, password
			table["primary_key"] = []string{"_table", "id"} // sorted rows lie in the staging root
			table["target"].(map[string]any)["bucket"] = 1
			change(job)
			if key != "" {
				job["target"].(map[string]any)["s3"].(map[string]any)["secret_access_key"] = key
			}
		})
	}
	byEnv, byFile := job(user["the password in the environment"], "${env:PLANTED_PASSWORD}", ""), job(user["the password in the file"], "${file:"+file+"}", "")
	found := finds{}
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"plan", "-f", byEnv}},
		{0, []string{"plan", "-f", byFile, "--json"}},
		{0, []string{"run", "-f", byEnv, "--wait", "--json"}},
		{0, []string{"run", "-f", byFile, "--wait"}},
		{1, []string{"run", "-f", job(user["the password in the environment"], "${env:PLANTED_WRONG_PASSWORD}", ""), "--wait"}},
		{1, []string{"plan", "-f", job(user["the password in the environment"], "${env:PLANTED_WRONG_PASSWORD}", "")}},
		{1, []string{"run", "-f", job(user["the password in the environment"], "${env:PLANTED_PASSWORD}", "${env:PLANTED_WRONG_KEY}"), "--wait"}},
		{0, []string{"status"}},
		{0, []string{"inspect", "table", "-f", byFile}},
	} {
		r := s.run(t, append(c.args, "-v")...)
		require.Equal(t, c.code, r.code, "%v: %s", c.args, r.stderr)
		found["starter "+strings.Join(c.args, " ")] = []byte(r.stdout + r.stderr)
	}
	found.histories(t, s, q)
	address := regexp.MustCompile(`http://\S+`).FindString(w.says)
	for _, page := range []string{"/metrics", "/healthz"} {
		response, err := http.Get(strings.TrimSuffix(address, "/healthz") + page)
		require.NoError(t, err)
		data, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		found[page] = data
	}
	w.kill() // and all of its log is there
	found["the worker's log"] = append([]byte(w.says), w.log.Bytes()...)
	for _, root := range []string{folder, spill} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			found[path] = append([]byte(path+"\n"), data...)
			return err
		}))
	}
	found.require(t, secrets, "${env:PLANTED_PASSWORD}", "${file:"+file+"}", "Access denied for user", "SignatureDoesNotMatch", "go_goroutines", "/job.json", "/decision-1", ".parquet", activities.WriteName)
}
