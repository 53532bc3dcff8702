package temporaldev

import (
	"context"
	"fmt"
	"net/http"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

const (
	pollInterval = 25 * time.Millisecond
	callTimeout  = 10 * time.Second
)

// waitReady returns when the frontend knows the namespace, its search attributes are there, and the UI answers.
func (s *Server) waitReady(ctx context.Context, opts Options) error {
	c, err := client.NewLazyClient(client.Options{
		HostPort: s.address, Namespace: s.namespace, Logger: sdklog.NewStructuredLogger(opts.Logger),
	})
	if err != nil {
		return fmt.Errorf("make a client for the Temporal server: %w", err)
	}
	defer c.Close()

	steps := []struct {
		what string
		call func(context.Context) error
	}{
		{"the Temporal server to be healthy", func(ctx context.Context) error {
			_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		}},
		{"the namespace " + s.namespace, func(ctx context.Context) error {
			_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.namespace})
			return err
		}},
		{"the visibility store", func(ctx context.Context) error {
			_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{})
			return err
		}},
		{"the web UI", s.checkUI},
	}
	for _, step := range steps {
		if err := s.poll(ctx, step.call); err != nil {
			return fmt.Errorf("wait for %s: %w", step.what, err)
		}
	}
	return s.addSearchAttributes(ctx, c, opts.SearchAttributes)
}

// poll repeats call until it succeeds, the server has failed, or ctx ends, and then returns the last error of call.
func (s *Server) poll(ctx context.Context, call func(context.Context) error) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		callCtx, cancel := context.WithTimeout(ctx, callTimeout)
		err := call(callCtx)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case failure := <-s.failed:
			return failure
		case <-tick.C:
		}
	}
}

func (s *Server) checkUI(ctx context.Context) error {
	if s.ui == nil {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.UIURL()+"/api/v1/namespaces", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", req.URL, resp.Status)
	}
	return nil
}

// addSearchAttributes adds what an older namespace lacks; a new one has them already.
func (s *Server) addSearchAttributes(ctx context.Context, c client.Client, want map[string]enumspb.IndexedValueType) error {
	if len(want) == 0 {
		return nil
	}
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: s.namespace})
	if err != nil {
		return fmt.Errorf("list the search attributes of %s: %w", s.namespace, err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, kind := range want {
		switch old, ok := have.GetCustomAttributes()[name]; {
		case !ok:
			missing[name] = kind
		case old != kind:
			return fmt.Errorf("search attribute %s exists as %s and cannot become %s: choose another name or another folder", name, old, kind)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: s.namespace, SearchAttributes: missing,
	})
	if err != nil {
		return fmt.Errorf("add search attributes to %s: %w", s.namespace, err)
	}
	return nil
}
