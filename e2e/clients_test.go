package e2e

import (
	"go.temporal.io/sdk/client"

	"github.com/tributary-lake/tributary/lake/catalog"
)

func target() catalog.Identifier { return catalog.Identifier{Database: "ods", Table: "orders"} }

// startOptions are those of a client that knows nothing but the task queue.
func startOptions(queue string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: queue, TaskQueue: queue}
}
