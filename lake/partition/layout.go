package partition

import (
	"path"
	"strconv"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Layout finds the folders of one table's data files (org.apache.paimon.utils.FileStorePathFactory).
type Layout struct {
	table  string
	keys   []string
	types  []schema.Type
	naming Naming
}

// LayoutOf returns the layout of the table whose folder has the given path in its store.
func LayoutOf(table string, t *schema.Table) (*Layout, error) {
	types, err := t.PartitionTypes()
	if err != nil {
		return nil, err
	}
	options, err := t.ParseOptions()
	if err != nil {
		return nil, err
	}
	return &Layout{table: table, keys: t.PartitionKeys, types: types, naming: NamingOf(options)}, nil
}

// Types are those of the partition keys, in their order.
func (l *Layout) Types() []schema.Type { return l.types }

// Values reads a serialized partition, as messages and manifests have it.
func (l *Layout) Values(serialized []byte) ([]row.Value, error) {
	return row.Deserialize(l.types, serialized)
}

// Partition is a partition's directory below the table's, such as "dt=19723/hour=7"; empty without partition keys.
func (l *Layout) Partition(values []row.Value) string {
	return Path(l.keys, l.types, values, l.naming)
}

// Texts are a partition's values as a Hive metastore has them: those of its directory's name, not escaped.
func (l *Layout) Texts(values []row.Value) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = l.naming.value(l.types[i], v)
	}
	return texts
}

// Bucket is the path of a bucket's folder in the table's store.
func (l *Layout) Bucket(values []row.Value, bucket int32) string {
	return path.Join(l.table, l.Partition(values), BucketFolder(bucket))
}

// BucketFolder is the name of a bucket's folder.
func BucketFolder(bucket int32) string {
	if bucket == schema.BucketPostpone {
		return "bucket-postpone"
	}
	return "bucket-" + strconv.Itoa(int(bucket))
}
