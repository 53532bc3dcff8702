package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	optionFields        = "fields."
	optionSequenceField = "sequence.field"
	optionPrimaryKey    = "primary-key"
	optionPartition     = "partition"
	optionType          = "type"
	// optionDefaultFunction stands where an option of the prefix fields. has the names of columns, and names none.
	optionDefaultFunction = "default-aggregate-function"
)

// immutable tells whether an option says how the files in place are to be understood, so that it cannot change once there
// are some: what org.apache.paimon.CoreOptions marks as @Immutable in any release from 1.3, and the names of partition
// folders, on whose change Paimon would look for the files elsewhere.
func immutable(key string) bool {
	return slices.Contains([]string{
		OptionBucketKey, OptionBucketFunction, OptionPartitionDefaultName, OptionPartitionLegacyName,
		"data-file.path-directory", "index-file-in-data-file-dir", "dynamic-bucket.initial-buckets",
		"merge-engine", "rowkind.field", "force-lookup", "sequence.snapshot-ordering", "primary-key.nullable",
		"aggregation.remove-record-on-delete", "partial-update.remove-record-on-delete",
		"partial-update.remove-record-on-sequence-group", "row-tracking.enabled", "data-evolution.enabled",
		"pk-clustering-override", "blob-field", "blob-descriptor-field", "blob-view-field", "blob-external-storage-path",
		"blob-external-storage-field",
	}, key)
}

// SetOption sets a table's option; to the value that it has is no change. Where the table may hold rows, options that say
// how its files are to be understood are refused, and the number of buckets changes only between fixed numbers: it then
// holds for partitions written anew. The keys and the type of a table never change.
func SetOption(key, value string) Change {
	return Change{text: fmt.Sprintf("set option %s = %q", clip(key), clip(value)), apply: func(a *alteration) error {
		if was, ok := a.Options[key]; ok && was == value {
			return nil
		}
		if err := a.mayChange(key, value); err != nil {
			return err
		}
		a.Options[key] = value
		return nil
	}}
}

// RemoveOption brings an option back to its default. It is refused as SetOption is; where the table may hold rows, the
// number of buckets cannot be removed. An option that is not set is no change.
func RemoveOption(key string) Change {
	return Change{text: "remove option " + clip(key), apply: func(a *alteration) error {
		if _, ok := a.Options[key]; !ok {
			return nil
		}
		if key == OptionBucket && a.rows {
			return errors.New("the number of buckets cannot be removed where there may be files")
		}
		if err := a.mayChange(key, ""); err != nil {
			return err
		}
		delete(a.Options, key)
		return nil
	}}
}

// mayChange tells why an option cannot take another value; "" stands for its default.
func (a *alteration) mayChange(key, value string) error {
	switch key {
	case optionPrimaryKey, optionPartition, optionType:
		return fmt.Errorf("the %s of a table never changes", key)
	}
	if !a.rows {
		return nil
	}
	was := a.was[key]
	switch {
	case immutable(key):
		return errors.New("it says how the files in place are to be understood, and there may be some")
	case key == OptionBucket:
		return mayRebucket(was, value)
	case key == "deletion-vectors.enabled" && isTrue(was) != isTrue(value) && !isTrue(a.was["deletion-vectors.modifiable"]):
		return errors.New("rows would be doubled until a full compaction; the option deletion-vectors.modifiable = true allows it")
	case (key == "ignore-delete" || key == "ignore-update-before") && isTrue(was) && !isTrue(value):
		return errors.New("what was ignored so far would be missing")
	case key == "clustering.columns" && a.was["pk-clustering-override"] != "":
		return errors.New("the option pk-clustering-override fixes it")
	}
	return nil
}

func isTrue(value string) bool { return strings.EqualFold(value, "true") }

func mayRebucket(was, value string) error {
	if was == "" {
		was = strconv.Itoa(BucketUnaware)
	}
	unaware := strconv.Itoa(BucketUnaware)
	switch {
	case was == value:
		return nil
	case was == unaware:
		return errors.New("a table without fixed buckets gets none where there may be files")
	case value == unaware:
		return errors.New("a table with fixed buckets keeps some where there may be files")
	}
	return nil
}

// free tells which option names a column and would not follow if it were renamed or dropped.
func (t *Table) free(name string) error {
	for _, key := range []string{
		"rowkind.field", "record-level.time-field", "upsert-key", "clustering.columns", "sink.clustering.by-columns",
		"partial-update.remove-record-on-sequence-group", "file-index.bloom-filter.columns", "file-index.bitmap.columns",
		"file-index.bsi.columns", "file-index.range-bitmap.columns", "blob-field", "blob-descriptor-field", "vector-field",
	} {
		if slices.Contains(splitNames(t.Options[key]), name) {
			return fmt.Errorf("the option %s names it; change the option first", key)
		}
	}
	return nil
}

func splitNames(list string) []string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// renameInOptions has the options that may name a column follow its new name
// (SchemaManager.applyRenameColumnsToOptions; it knows fewer suffixes of fields.<column> and refuses the others).
func (a *alteration) renameInOptions(from, to string) {
	list := func(names []string) string {
		replace(names, from, to)
		return strings.Join(names, ",")
	}
	renamed := map[string]string{}
	for key, value := range a.Options {
		switch key {
		case OptionBucketKey: // whose names Paimon does not trim
			renamed[key] = list(strings.Split(value, ","))
			continue
		case optionSequenceField:
			renamed[key] = list(splitNames(value))
			continue
		}
		names, suffix, ok := a.fieldOption(key)
		switch {
		case !ok:
			renamed[key] = value
		case suffix == "sequence-group":
			renamed[optionFields+list(a.split(names))+"."+suffix] = list(strings.Split(value, ","))
		default:
			renamed[optionFields+list(a.split(names))+"."+suffix] = value
		}
	}
	a.Options = renamed
}

// fieldOption takes an option fields.<columns>.<suffix> apart. Names of columns may hold dots: the longest one counts. Where
// no column fits, the names end at the first dot, as Paimon has it.
func (t *Table) fieldOption(key string) (names, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(key, optionFields)
	if !ok {
		return "", "", false
	}
	for _, f := range t.Fields {
		if strings.HasPrefix(rest, f.Name+".") && len(f.Name) > len(names) {
			names = f.Name
		}
	}
	if names == "" {
		names, _, _ = strings.Cut(rest, ".")
		if names == optionDefaultFunction {
			return "", "", false
		}
		if group, ok := strings.CutSuffix(rest, ".sequence-group"); ok {
			names = group
		}
	}
	return names, strings.TrimPrefix(strings.TrimPrefix(rest, names), "."), true
}

// split takes the names in an option's key apart; a column may have a comma in its own.
func (t *Table) split(names string) []string {
	if t.Index(names) >= 0 {
		return []string{names}
	}
	return strings.Split(names, ",")
}

// validateNamed tells which option names a column that is not there (SchemaValidation.validateFieldsPrefix and
// validateSequenceField, and the single columns beside them).
func (t *Table) validateNamed() error {
	for _, key := range []string{optionSequenceField, "rowkind.field", "record-level.time-field"} {
		value, ok := t.Options[key]
		if !ok || value == "" {
			continue
		}
		names := []string{value}
		if key == optionSequenceField {
			names = splitNames(value)
		}
		if err := t.named(key, names); err != nil {
			return err
		}
	}
	for key := range t.Options {
		names, _, ok := t.fieldOption(key)
		if !ok {
			continue
		}
		if err := t.named(key, t.split(names)); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) named(key string, names []string) error {
	for i, name := range names {
		if t.Index(name) < 0 {
			return fmt.Errorf("the option %s names a column %q, which is not there", clip(key), clip(name))
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("the option %s names the column %q twice", clip(key), clip(name))
		}
	}
	return nil
}
