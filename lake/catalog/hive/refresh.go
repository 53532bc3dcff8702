package hive

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"time"

	metastore "github.com/beltran/gohive/hive_metastore"

	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/schema"
)

// added is how many partitions are added at once.
const added = 500

// Refresh makes the metastore show what a table has by now: its latest columns and, if the table's option
// metastore.partitioned-table is true, these partitions, each as messages have it. It can be called again at any time.
func (c *Catalog) Refresh(ctx context.Context, id catalog.Identifier, partitions [][]byte) error {
	if err := validate(id); err != nil {
		return err
	}
	if err := c.mirror(ctx, id, true); err != nil {
		return fmt.Errorf("refresh %s in the metastore: %w", id, err)
	}
	t, err := c.files.LoadTable(ctx, id)
	if err != nil || !partitioned(t) {
		return err
	}
	if err := c.addPartitions(ctx, id, t, partitions); err != nil {
		return fmt.Errorf("add partitions of %s to the metastore: %w", id, err)
	}
	return nil
}

func (c *Catalog) addPartitions(ctx context.Context, id catalog.Identifier, t *schema.Table, partitions [][]byte) error {
	shown, err := c.get(ctx, id)
	if err != nil {
		return err
	}
	layout, err := partition.LayoutOf(c.Path(id), t)
	if err != nil {
		return err
	}
	folder := path.Join(c.Path(id), t.Options["data-file.path-directory"])
	parts := map[string]*metastore.Partition{} // two of a commit may share a folder
	for _, serialized := range partitions {
		values, err := layout.Values(serialized)
		if err != nil {
			return err
		}
		name := layout.Partition(values)
		parts[name] = newPartition(shown, layout.Texts(values), c.store.URI(path.Join(folder, name)))
	}
	names := slices.Sorted(maps.Keys(parts))
	for some := range slices.Chunk(names, added) {
		request := metastore.NewAddPartitionsRequest()
		request.DbName, request.TblName, request.IfNotExists, request.NeedResult_ = id.Database, id.Table, true, false
		for _, name := range some {
			request.Parts = append(request.Parts, parts[name])
		}
		err := c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error {
			_, err := api.AddPartitionsReq(ctx, request)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// newPartition is a partition of a table, stored as the table is.
func newPartition(t *metastore.Table, values []string, location string) *metastore.Partition {
	now := time.Now().Unix()
	sd := *t.Sd
	sd.Location = location
	p := metastore.NewPartition()
	p.DbName, p.TableName, p.Values, p.Sd = t.DbName, t.TableName, values, &sd
	p.CreateTime, p.LastAccessTime = int32(now), int32(now)
	p.Parameters = map[string]string{"transient_lastDdlTime": strconv.FormatInt(now, 10)}
	return p
}
