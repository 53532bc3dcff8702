package mergetree

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// perLevel reads an option such as `0:lz4,1:zstd`, which says something of the levels of the merge tree.
func perLevel(options map[string]string, key string) (map[int32]string, error) {
	out := map[int32]string{}
	text, ok := options[key]
	if !ok || strings.TrimSpace(text) == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(part, ":")
		level, err := strconv.ParseInt(strings.TrimSpace(name), 10, 32)
		if !found || err != nil {
			return nil, fmt.Errorf("option %s = %q: want levels and values such as 0:lz4,1:zstd", key, text)
		}
		out[int32(level)] = strings.TrimSpace(value)
	}
	return out, nil
}

// chosen is the value of an option for the files of a level, or for changelog files, that have options of their own. It is
// empty where none of these is set.
func chosen(options map[string]string, perLevelKey, changelogKey string, level int32, changelog bool) (string, error) {
	if changelog {
		if v, ok := options[changelogKey]; ok {
			return v, nil
		}
	}
	levels, err := perLevel(options, perLevelKey)
	return levels[level], err
}

// Compression is how the files of a level, or changelog files, are compressed: a name and a level for datafile.NewCodec.
func (s *Spec) Compression(level int32, changelog bool) (name string, zstdLevel int, err error) {
	o, err := s.table.ParseOptions()
	if err != nil {
		return "", 0, err
	}
	own, err := chosen(s.table.Options, "file.compression.per.level", "changelog-file.compression", level, changelog)
	if own == "" {
		own = o.Compression
	}
	return strings.ToLower(own), o.ZstdLevel, err
}

// statsOptions are the table's options with the statistics mode of a level, or of changelog files, in place of the table's.
func (s *Spec) statsOptions(level int32, changelog bool) (map[string]string, error) {
	own, err := chosen(s.table.Options, "metadata.stats-mode.per.level", "changelog-file.stats-mode", level, changelog)
	if err != nil || own == "" {
		return s.table.Options, err
	}
	options := maps.Clone(s.table.Options)
	options["metadata.stats-mode"] = own
	return options, nil
}
