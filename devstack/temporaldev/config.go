package temporaldev

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

const (
	clusterName = "active"
	storeName   = "sqlite"
	disabled    = "disabled"
)

func serverConfig(store *config.SQL, p *ports) *config.Config {
	rpc := func(name string) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: p.numbers[name], BindOnIP: host}}
	}
	frontend := rpc("frontend")
	frontend.RPC.HTTPPort = p.numbers["http"]

	conf := &config.Config{}
	conf.Persistence.DefaultStore, conf.Persistence.VisibilityStore = storeName, storeName
	conf.Persistence.NumHistoryShards = 1 // more are slower over one connection
	conf.Persistence.DataStores = map[string]config.DataStore{storeName: {SQL: store}}
	conf.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
			Enabled: true, InitialFailoverVersion: 1, ClusterID: "dev-stack",
			RPCAddress: p.address("frontend"), HTTPAddress: p.address("http"),
		}},
	}
	conf.Services = map[string]config.Service{
		"frontend": frontend, "history": rpc("history"), "matching": rpc("matching"), "worker": rpc("worker"),
	}
	conf.PublicClient.HostPort = p.address("frontend")
	conf.DCRedirectionPolicy.Policy = "noop"
	conf.Global.Membership.MaxJoinDuration = 30 * time.Second
	conf.Global.Membership.BroadcastAddress = host
	conf.Archival.History.State, conf.Archival.Visibility.State = disabled, disabled
	conf.NamespaceDefaults.Archival.History.State, conf.NamespaceDefaults.Archival.Visibility.State = disabled, disabled
	return conf
}

// dynamicValues are the settings that differ from the server's defaults.
func dynamicValues() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		dynamicconfig.EnableServerVersionCheck.Key(): false, // it calls home
		// At the default of 20 a second and shard, every hand-over of a workflow task waits for a slot of 50 ms.
		dynamicconfig.TransferProcessorMaxPollRPS.Key(): 500,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():    500,
		// The limit per namespace is reached by fan-outs of thousands of activities on one machine.
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key(): 20_000,
		dynamicconfig.EnableActivityEagerExecution.Key():       true,
		// An attribute added to a namespace is usable at once instead of after the cache's time.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
	}
}

// startTemporal returns when the four services run, when one of them gave up, or when ctx ends.
func startTemporal(ctx context.Context, conf *config.Config, l logger, failed <-chan error) (temporal.Server, error) {
	type outcome struct {
		server temporal.Server
		err    error
	}
	done := make(chan outcome, 1)
	// In a goroutine of its own, because the logger ends the one that meets a fatal error.
	go func() {
		server, err := newTemporal(conf, l)
		if err != nil {
			done <- outcome{nil, err}
			return
		}
		done <- outcome{server, server.Start()}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return o.server, fmt.Errorf("start the Temporal server: %w", o.err)
		}
		return o.server, nil
	case err := <-failed:
		return nil, fmt.Errorf("start the Temporal server: %w", err)
	case <-ctx.Done():
		go func() { // what is still starting is stopped when it has started
			if o := <-done; o.server != nil {
				_ = o.server.Stop()
			}
		}()
		return nil, fmt.Errorf("start the Temporal server: %w", ctx.Err())
	}
}

func newTemporal(conf *config.Config, l logger) (temporal.Server, error) {
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, s := range conf.Services {
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(fmt.Sprintf("%s:%d", host, s.RPC.GRPCPort))
	}
	authorizer, err := authorization.GetAuthorizerFromConfig(&conf.Global.Authorization)
	if err != nil {
		return nil, fmt.Errorf("make the authorizer: %w", err)
	}
	mapper, err := authorization.GetClaimMapperFromConfig(&conf.Global.Authorization, l)
	if err != nil {
		return nil, fmt.Errorf("make the claim mapper: %w", err)
	}
	return temporal.NewServer(
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts), // no gossip: there is one process
		temporal.WithLogger(l),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return mapper }),
		temporal.WithDynamicConfigClient(dynamicValues()),
	)
}
