package temporaldev_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/devstack/temporaldev"
)

func start(t *testing.T, opts temporaldev.Options) *temporaldev.Server {
	t.Helper()
	s, err := temporaldev.Start(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

func dial(t *testing.T, s *temporaldev.Server) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: s.Address(), Namespace: s.Namespace()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func get(t *testing.T, url string) (status int, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, body
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", host)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}

func greet(ctx workflow.Context, name string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var out string
	err := workflow.ExecuteActivity(ctx, hello, name).Get(ctx, &out)
	return out, err
}

func hello(_ context.Context, name string) (string, error) { return "hello " + name, nil }

// runWorkflow runs one workflow with one activity to its end and returns its id.
func runWorkflow(t *testing.T, c client.Client, attrs ...temporal.SearchAttributeUpdate) string {
	t.Helper()
	w := worker.New(c, "greetings", worker.Options{})
	w.RegisterWorkflow(greet)
	w.RegisterActivity(hello)
	require.NoError(t, w.Start())
	defer w.Stop()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		TaskQueue: "greetings", TypedSearchAttributes: temporal.NewSearchAttributes(attrs...),
	}, greet, "lake")
	require.NoError(t, err)
	var out string
	require.NoError(t, run.Get(t.Context(), &out))
	require.Equal(t, "hello lake", out)
	return run.GetID()
}

// requireListed waits until a query finds exactly the workflow: visibility follows a workflow by some milliseconds.
func requireListed(t *testing.T, c client.Client, query, id string) {
	t.Helper()
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		list, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		require.NoError(collect, err)
		require.Len(collect, list.GetExecutions(), 1)
		require.Equal(collect, id, list.GetExecutions()[0].GetExecution().GetWorkflowId())
	}, 20*time.Second, 20*time.Millisecond)
}

func TestInMemory(t *testing.T) {
	s := start(t, temporaldev.Options{Namespace: "shop"})
	c := dial(t, s)
	runWorkflow(t, c)

	ns, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "shop"})
	require.NoError(t, err)
	require.Equal(t, 30*24*time.Hour, ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())

	portOf(t, s.UIURL()[len("http://"):])
	status, page := get(t, s.UIURL()+"/")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(page), "<html")
	status, body := get(t, s.UIURL()+"/api/v1/namespaces")
	require.Equal(t, http.StatusOK, status)
	var namespaces struct {
		Namespaces []struct {
			NamespaceInfo struct{ Name string }
		}
	}
	require.NoError(t, json.Unmarshal(body, &namespaces))
	var names []string
	for _, n := range namespaces.Namespaces {
		names = append(names, n.NamespaceInfo.Name)
	}
	require.Contains(t, names, "shop")
	// The page would otherwise ask public sites for news and releases.
	_, settings := get(t, s.UIURL()+"/api/v1/settings")
	require.Contains(t, string(settings), `"DisableNewsFetch":true`)
	require.Contains(t, string(settings), `"NotifyOnNewVersion":false`)

	require.NoError(t, s.Stop())
	require.NoError(t, s.Stop(), "stopping twice")
	select {
	case err := <-s.Failed():
		require.NoError(t, err)
	default:
	}
	again := start(t, temporaldev.Options{Port: portOf(t, s.Address()), UIPort: temporaldev.NoUI})
	require.Equal(t, s.Address(), again.Address())
	require.Empty(t, again.UIURL())
}

func TestStateOutlivesTheServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	keyword, number := enumspb.INDEXED_VALUE_TYPE_KEYWORD, enumspb.INDEXED_VALUE_TYPE_INT
	first := start(t, temporaldev.Options{
		Dir: dir, UIPort: temporaldev.NoUI,
		SearchAttributes: map[string]enumspb.IndexedValueType{"Campaign": keyword},
	})
	id := runWorkflow(t, dial(t, first), temporal.NewSearchAttributeKeyKeyword("Campaign").ValueSet("spring"))
	requireListed(t, dial(t, first), "Campaign = 'spring'", id)
	require.NoError(t, first.Stop())

	// On other ports, with an attribute more than the namespace was made with.
	second := start(t, temporaldev.Options{
		Dir: dir, UIPort: temporaldev.NoUI,
		SearchAttributes: map[string]enumspb.IndexedValueType{"Campaign": keyword, "Shards": number},
	})
	require.NotEqual(t, first.Address(), second.Address())
	c := dial(t, second)
	requireListed(t, c, "Campaign = 'spring'", id)
	other := runWorkflow(t, c, temporal.NewSearchAttributeKeyInt64("Shards").ValueSet(16))
	requireListed(t, c, "Shards > 15", other)
	require.NoError(t, second.Stop())

	_, err := temporaldev.Start(t.Context(), temporaldev.Options{
		Dir: dir, UIPort: temporaldev.NoUI,
		SearchAttributes: map[string]enumspb.IndexedValueType{"Campaign": number},
	})
	require.ErrorContains(t, err, "Campaign exists as Keyword")
}

// What a process killed during schema set-up leaves, and what another version leaves.
func TestUnfinishedOrOtherDatabaseIsMadeAnew(t *testing.T) {
	for name, marker := range map[string]string{"killed in schema set-up": "", "other version": "1.29.0"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, err := sql.Open("sqlite", filepath.Join(dir, "temporal.db"))
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), "CREATE TABLE namespaces (partition_id INT NOT NULL)")
			require.NoError(t, err)
			require.NoError(t, db.Close())
			require.NoError(t, os.WriteFile(filepath.Join(dir, "temporal.db-wal"), []byte("left over"), 0o600))
			if marker != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "temporal.db.schema"), []byte(marker), 0o600))
			}
			s := start(t, temporaldev.Options{Dir: dir, UIPort: temporaldev.NoUI})
			runWorkflow(t, dial(t, s))
			version, err := os.ReadFile(filepath.Join(dir, "temporal.db.schema"))
			require.NoError(t, err)
			require.Equal(t, "1.32.1", string(version))
		})
	}
}

func TestTakenPortsAndFolder(t *testing.T) {
	dir := t.TempDir()
	s := start(t, temporaldev.Options{Dir: dir})
	port, uiPort := portOf(t, s.Address()), portOf(t, s.UIURL()[len("http://"):])

	for _, tc := range []struct {
		opts   temporaldev.Options
		port   int
		option string
	}{
		{temporaldev.Options{Port: port}, port, "Port"},
		{temporaldev.Options{UIPort: uiPort}, uiPort, "UIPort"},
	} {
		_, err := temporaldev.Start(t.Context(), tc.opts)
		var inUse *temporaldev.PortInUseError
		require.ErrorAs(t, err, &inUse)
		require.Equal(t, tc.port, inUse.Port)
		require.Equal(t, tc.option, inUse.Option)
	}
	_, err := temporaldev.Start(t.Context(), temporaldev.Options{Dir: dir})
	require.ErrorIs(t, err, temporaldev.ErrDirInUse)
	require.ErrorContains(t, err, dir)
}

func TestCancelledStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := temporaldev.Start(ctx, temporaldev.Options{})
	require.ErrorIs(t, err, context.Canceled)
}
