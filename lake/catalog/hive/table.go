package hive

import (
	"maps"
	"math"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	metastore "github.com/beltran/gohive/hive_metastore"

	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/schema"
)

// The classes by which Hive reads a table of Paimon, and Paimon knows its own.
const (
	inputFormat    = "org.apache.paimon.hive.mapred.PaimonInputFormat"
	outputFormat   = "org.apache.paimon.hive.mapred.PaimonOutputFormat"
	serde          = "org.apache.paimon.hive.PaimonSerDe"
	storageHandler = "org.apache.paimon.hive.PaimonStorageHandler"
)

const (
	// partitionedOption is the table option that makes partitions known to the metastore.
	partitionedOption = "metastore.partitioned-table"
	// maxComment is how long a column's comment may be in the metastore's database, in characters.
	maxComment = 256
)

// newTable is the metastore's table for one that is created.
func newTable(id catalog.Identifier, t *schema.Table, location string) *metastore.Table {
	now := int32(time.Now().Unix())
	out := metastore.NewTable()
	out.DbName, out.TableName, out.TableType = id.Database, id.Table, "MANAGED_TABLE"
	out.Owner, out.CreateTime, out.LastAccessTime, out.Retention = owner(), now, now, math.MaxInt32
	out.Parameters = map[string]string{}
	out.Sd = metastore.NewStorageDescriptor()
	out.Sd.Location, out.Sd.InputFormat, out.Sd.OutputFormat = location, inputFormat, outputFormat
	out.Sd.SerdeInfo = metastore.NewSerDeInfo()
	out.Sd.SerdeInfo.SerializationLib, out.Sd.SerdeInfo.Parameters = serde, map[string]string{}
	out.Sd.Parameters = map[string]string{}
	show(out, t)
	return out
}

// show gives a table of the metastore what a schema says: columns, keys, options and comment. Other parameters stay.
func show(out *metastore.Table, t *schema.Table) {
	var cols, keys []*metastore.FieldSchema
	for _, f := range t.Fields {
		column := &metastore.FieldSchema{Name: f.Name, Type: typeName(f.Type), Comment: comment(f.Description)}
		if partitioned(t) && slices.Contains(t.PartitionKeys, f.Name) {
			continue
		}
		cols = append(cols, column)
	}
	if partitioned(t) {
		for _, key := range t.PartitionKeys {
			f, _ := t.Field(key) // a schema has the columns of its keys
			keys = append(keys, &metastore.FieldSchema{Name: f.Name, Type: typeName(f.Type), Comment: comment(f.Description)})
		}
	}
	out.Sd.Cols, out.PartitionKeys = cols, keys
	delete(out.Parameters, "comment")
	maps.Copy(out.Parameters, parameters(t))
}

// parameters are those that Java's HiveCatalog sets, whose option sync-all-properties is on: all options and keys.
func parameters(t *schema.Table) map[string]string {
	out := map[string]string{}
	for key, value := range t.Options {
		out[strings.TrimPrefix(key, "hive.")] = value
	}
	for key, columns := range map[string][]string{"primary-key": t.PrimaryKeys, "partition": t.PartitionKeys, "bucket-key": t.BucketKeys()} {
		if len(columns) > 0 {
			out[key] = strings.Join(columns, ",")
		}
	}
	if t.Comment != "" {
		out["comment"] = t.Comment
	}
	out["table_type"], out["storage_handler"] = "PAIMON", storageHandler
	return out
}

// partitioned tells whether the metastore knows the table's partitions.
func partitioned(t *schema.Table) bool {
	on, _ := strconv.ParseBool(t.Options[partitionedOption]) // what is no boolean is refused by who makes the table
	return on && len(t.PartitionKeys) > 0
}

// comment is a column's comment as the metastore's database takes it.
func comment(text string) string {
	text = strings.NewReplacer("\r", "", "\n", " ").Replace(text)
	if utf8.RuneCountInString(text) > maxComment {
		text = string([]rune(text)[:maxComment])
	}
	return text
}

func owner() string {
	u, err := user.Current()
	if err != nil {
		return "tributary"
	}
	return u.Username
}

// ours tells a table of Paimon from others, as Java does.
func ours(t *metastore.Table) bool {
	return t.Sd != nil && t.Sd.InputFormat == inputFormat && t.Sd.OutputFormat == outputFormat
}

// shows tells whether a table of the metastore shows a schema already.
func shows(t *metastore.Table, s *schema.Table) bool {
	want := metastore.Table{Parameters: maps.Clone(t.Parameters), Sd: &metastore.StorageDescriptor{}}
	show(&want, s)
	same := func(a, b *metastore.FieldSchema) bool { return *a == *b }
	return slices.EqualFunc(t.Sd.Cols, want.Sd.Cols, same) && slices.EqualFunc(t.PartitionKeys, want.PartitionKeys, same) &&
		maps.Equal(t.Parameters, want.Parameters)
}
