package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNotWritable marks a table that this library would damage, or write in vain, if it wrote to it. Nothing but another
// table, or changed options, helps.
var ErrNotWritable = errors.New("this library does not write to the table")

// CheckWritable tells why this library must not write to a table of this schema: an [ErrNotWritable] with one sentence
// for the first reason found, nil if there is none.
func CheckWritable(t *Table) error {
	o, err := t.ParseOptions()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritable, err)
	}
	if reason := t.unwritable(o); reason != "" {
		return fmt.Errorf("%w: %s", ErrNotWritable, reason)
	}
	return nil
}

func (t *Table) unwritable(o Options) string {
	reason := t.unwritableBucket(o)
	if reason == "" && len(t.PrimaryKeys) > 0 {
		reason = t.unwritableKey()
	}
	switch {
	case reason != "":
		return reason
	case o.FileFormat != "parquet":
		return fmt.Sprintf("file.format = %s, and only parquet can be written", o.FileFormat)
	case o.Compression == "zstd" && (o.ZstdLevel < 1 || o.ZstdLevel > 22):
		return fmt.Sprintf("%s = %d, and zstd has the levels 1 to 22", OptionZstdLevel, o.ZstdLevel)
	}
	for _, f := range t.Fields {
		switch {
		case o.PartitionLegacyName && slices.Contains(t.PartitionKeys, f.Name) &&
			(f.Type.Kind == Binary || f.Type.Kind == VarBinary):
			return fmt.Sprintf("it is partitioned by %s of type %s, for which partition.legacy-name = true has no stable "+
				"directory name", f.Name, f.Type)
		case slices.Contains(t.PartitionKeys, f.Name) && (f.Type.Kind == Float || f.Type.Kind == Double):
			return fmt.Sprintf("it is partitioned by %s of type %s, whose directory names differ between releases of Java",
				f.Name, f.Type)
		}
	}
	return t.unwritableOption()
}

// unwritableBucket looks at how rows are distributed.
func (t *Table) unwritableBucket(o Options) string {
	keyed := len(t.PrimaryKeys) > 0
	switch {
	case o.Bucket == BucketPostpone:
		return "bucket = -2 hides what is written until a compaction of another engine"
	case o.Bucket == BucketUnaware && keyed:
		return "bucket = -1 with a primary key needs an index of all keys, which is not supported; set a number of buckets"
	case o.Bucket == BucketUnaware:
		return ""
	case o.Bucket < 1:
		return fmt.Sprintf("bucket = %d is no number of buckets", o.Bucket)
	case len(t.BucketKeys()) == 0:
		return fmt.Sprintf("bucket = %d needs a bucket-key, because the table has no primary key", o.Bucket)
	}
	for _, name := range t.BucketKeys() {
		switch f, ok := t.Field(name); {
		case !ok:
			return fmt.Sprintf("bucket-key %s is no column", name)
		case f.Type.Nested():
			return fmt.Sprintf("bucket-key %s has type %s, by which rows cannot be distributed", name, f.Type)
		case o.BucketFunction == "mod" && (len(t.BucketKeys()) > 1 || f.Type.Kind != Int && f.Type.Kind != BigInt):
			return "bucket-function.type = mod needs a bucket-key of one INT or BIGINT column"
		}
	}
	if o.BucketFunction != "default" && o.BucketFunction != "mod" {
		return fmt.Sprintf("bucket-function.type = %s, and only default and mod are supported", o.BucketFunction)
	}
	return ""
}

// unwritableKey looks at how rows of one key become one.
func (t *Table) unwritableKey() string {
	for _, name := range t.PartitionKeys {
		if !slices.Contains(t.PrimaryKeys, name) {
			return fmt.Sprintf("its primary key does not hold the partition key %s: a row that moves to another partition "+
				"would have to be deleted from where it was, which is not supported", name)
		}
	}
	for _, c := range []struct {
		key   string
		known []string
		why   string
	}{
		{"merge-engine", []string{"deduplicate", "partial-update", "first-row"}, "rows of one key would have to be aggregated"},
		// What lookup and full-compaction make of changes is made by compactions; a writer adds nothing to it.
		{"changelog-producer", []string{"none", "input", "lookup", "full-compaction"}, "what changes to record is not known"},
		{"sequence.snapshot-ordering", []string{"false"}, "commits would have to give files their sequence numbers"},
		{"rowkind.field", []string{""}, "a column would decide whether a row is deleted"},
	} {
		if v, ok := t.Options[c.key]; ok && !slices.Contains(c.known, strings.ToLower(v)) {
			return fmt.Sprintf("%s = %s: %s, which is not supported", c.key, clip(v), c.why)
		}
	}
	if strings.EqualFold(t.Options["write.sequence-number-init-mode"], "snapshot") {
		return "write.sequence-number-init-mode = snapshot: commits would have to keep the greatest sequence number, which is not supported"
	}
	return ""
}

// unwritableOption looks for options that ask a writer or committer for something that is not done here.
func (t *Table) unwritableOption() string {
	for _, c := range []struct{ key, harmless, why string }{
		{"type", "table", "only plain tables can be written"},
		{"deletion-vectors.enabled", "false", "its readers see only what a compaction has indexed"},
		{"row-tracking.enabled", "false", "commits would have to give every row an id"},
		{"data-evolution.enabled", "false", "commits would have to give every row an id"},
		{"clustering.incremental", "false", "its files would have to be kept sorted"},
		{"data-file.path-directory", "", "data files would have to lie in another directory"},
		{"data-file.external-paths", "", "data files would have to lie outside of the table"},
		{"manifest.format", "avro", "only avro manifests can be written"},
		{"metadata.iceberg.storage", "disabled", "commits would have to keep Iceberg metadata up to date"},
		{"commit.callbacks", "", "commits would have to call Java classes"},
		{"blob-field", "", "its columns would have to go into files of their own"},
		{"vector-field", "", "its columns would have to go into files of their own"},
		{"vector.file.format", "", "its columns would have to go into files of their own"},
	} {
		if v, ok := t.Options[c.key]; ok && !strings.EqualFold(v, c.harmless) {
			return fmt.Sprintf("%s = %s: %s, which is not supported", c.key, clip(v), c.why)
		}
	}
	return ""
}
