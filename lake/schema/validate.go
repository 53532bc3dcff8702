package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Validate tells what Paimon would refuse in a new table of this schema (org.apache.paimon.schema.SchemaValidation, as far
// as the options that this library knows go).
func (t *Table) Validate() error {
	if len(t.Fields) == 0 {
		return fmt.Errorf("a table needs at least one column")
	}
	if err := t.check(); err != nil {
		return err
	}
	for _, f := range t.Fields {
		if strings.HasPrefix(f.Name, "_KEY_") || slices.Contains(systemNames(), f.Name) {
			return fmt.Errorf("column %q: Paimon keeps this name for itself; rename the column", f.Name)
		}
	}
	o, err := t.ParseOptions()
	if err != nil {
		return err
	}
	if err := t.atomic("partition key", t.PartitionKeys); err != nil {
		return err
	}
	if err := t.atomic("primary key", t.PrimaryKeys); err != nil {
		return err
	}
	if len(t.PrimaryKeys) > 0 && len(t.TrimmedPrimaryKey()) == 0 {
		return fmt.Errorf("the primary key %q has only partition keys; add a column that tells rows of a partition apart",
			t.PrimaryKeys)
	}
	if err := t.validateNamed(); err != nil {
		return err
	}
	return t.validateBucket(o)
}

func systemNames() []string {
	return []string{"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"}
}

func (t *Table) atomic(what string, names []string) error {
	for _, name := range names {
		if f, _ := t.Field(name); f.Type.Nested() {
			return fmt.Errorf("%s %q: a column of type %s cannot be one", what, name, f.Type)
		}
	}
	return nil
}

func (t *Table) validateBucket(o Options) error {
	switch {
	case o.Bucket == BucketPostpone && len(t.PrimaryKeys) == 0:
		return fmt.Errorf("bucket -2 is for tables with a primary key; use -1")
	case o.Bucket == BucketPostpone:
	case o.Bucket == BucketUnaware && len(o.BucketKey) > 0:
		return fmt.Errorf("bucket -1 takes no bucket-key; remove it or set the number of buckets")
	case o.Bucket < 1 && o.Bucket != BucketUnaware:
		return fmt.Errorf("bucket must be at least 1, or -1, or -2, is %d", o.Bucket)
	case o.Bucket >= 1 && len(t.PrimaryKeys) == 0 && len(o.BucketKey) == 0:
		return fmt.Errorf("bucket %d needs a bucket-key, because the table has no primary key", o.Bucket)
	}
	for i, name := range o.BucketKey {
		switch {
		case t.Index(name) < 0:
			return fmt.Errorf("bucket-key %q is no column (Paimon does not trim blanks around commas)", name)
		case slices.Contains(o.BucketKey[:i], name):
			return fmt.Errorf("bucket-key %q is named twice", name)
		case slices.Contains(t.PartitionKeys, name):
			return fmt.Errorf("bucket-key %q is a partition key", name)
		case len(t.PrimaryKeys) > 0 && !slices.Contains(t.PrimaryKeys, name):
			return fmt.Errorf("bucket-key %q is not a part of the primary key", name)
		}
	}
	return t.atomic("bucket-key", o.BucketKey)
}
