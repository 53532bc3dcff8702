package commit

import (
	"fmt"
	"strconv"

	"github.com/tributary-lake/tributary/lake/schema"
)

// options are the table options that decide how commits are made, with Paimon's defaults.
type options struct {
	// target is the size at which a manifest is closed.
	target int64
	// fullThreshold is the size of manifests worth rewriting above which all of them are.
	fullThreshold int64
	// minCount is the number of small manifests at the end of the list that are merged into one.
	minCount int
	// buckets is the table's number of buckets, as entries have it.
	buckets int32
	// upgrade lets the sorted files of an overwrite of a key table begin at topLevel.
	upgrade  bool
	topLevel int32
}

func optionsOf(t *schema.Table) (options, error) {
	o := options{target: 8 << 20, fullThreshold: 16 << 20, minCount: 30, upgrade: true}
	table, err := t.ParseOptions()
	if err != nil {
		return o, err
	}
	o.buckets, o.topLevel = int32(table.Bucket), int32(table.NumLevels-1)
	if text, ok := t.Options["overwrite-upgrade"]; ok {
		if o.upgrade, err = strconv.ParseBool(text); err != nil {
			return o, fmt.Errorf("table option overwrite-upgrade: %w", err)
		}
	}
	for key, into := range map[string]*int64{
		"manifest.target-file-size":               &o.target,
		"manifest.full-compaction-threshold-size": &o.fullThreshold,
	} {
		text, ok := t.Options[key]
		if !ok {
			continue
		}
		n, err := schema.ParseMemorySize(text)
		if err != nil {
			return o, fmt.Errorf("table option %s: %w", key, err)
		}
		*into = n
	}
	if text, ok := t.Options["manifest.merge-min-count"]; ok {
		n, err := strconv.Atoi(text)
		if err != nil {
			return o, fmt.Errorf("table option manifest.merge-min-count: %w", err)
		}
		o.minCount = n
	}
	return o, nil
}
