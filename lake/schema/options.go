package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The table options that decide how this library writes. Their meaning and defaults are Paimon's (CoreOptions).
const (
	OptionBucket               = "bucket"
	OptionBucketKey            = "bucket-key"
	OptionBucketFunction       = "bucket-function.type"
	OptionFileFormat           = "file.format"
	OptionCompression          = "file.compression"
	OptionZstdLevel            = "file.compression.zstd-level"
	OptionBlockSize            = "file.block-size"
	OptionTargetFileSize       = "target-file-size"
	OptionDataFilePrefix       = "data-file.prefix"
	OptionPartitionDefaultName = "partition.default-name"
	OptionPartitionLegacyName  = "partition.legacy-name"
	OptionStatsMode            = "metadata.stats-mode"
	OptionWriteOnly            = "write-only"
	OptionNumLevels            = "num-levels"
	OptionWriteBufferSize      = "write-buffer-size"
	OptionCompactionTrigger    = "num-sorted-run.compaction-trigger"
)

const (
	// BucketUnaware is the bucket option of tables without buckets; their files lie in bucket-0.
	BucketUnaware = -1
	// BucketPostpone is the bucket option of key tables whose rows a later compaction distributes.
	BucketPostpone = -2
)

// Options are a table's options with defaults filled in.
type Options struct {
	// Bucket is the number of buckets, BucketUnaware or BucketPostpone.
	Bucket int
	// BucketKey names the columns that decide the bucket, as the option says; empty where it is not set. See
	// [Table.BucketKeys].
	BucketKey []string
	// BucketFunction is default, mod or hive.
	BucketFunction string
	// FileFormat of data files, in lower case.
	FileFormat string
	// Compression of data files, in lower case, such as zstd, snappy, gzip, lz4 or none.
	Compression string
	ZstdLevel   int
	// BlockSize is the size in bytes of what a file is divided into, row groups of Parquet; 0 where the option is not set and
	// the format's own default counts.
	BlockSize int64
	// TargetFileSize in bytes, after which a writer begins a new data file.
	TargetFileSize int64
	DataFilePrefix string
	// PartitionDefaultName is the directory of null and blank partition values.
	PartitionDefaultName string
	// PartitionLegacyName chooses Java's toString of the internal value for partition directories.
	PartitionLegacyName bool
	// StatsMode is none, counts, full or truncate(n), in lower case.
	StatsMode string
	// WriteOnly tells writers to leave compaction and expiry to others.
	WriteOnly bool
	// WriteBufferSize bounds the bytes of rows that one writer holds before they have a file; 0 where it is not set.
	WriteBufferSize int64
	// NumLevels is the number of levels of a key table's merge tree; a full compaction writes level NumLevels-1.
	NumLevels int
}

// ParseOptions reads the options that this library uses; an error names the option. Others are not looked at.
func (t *Table) ParseOptions() (Options, error) {
	target := int64(256 << 20)
	if len(t.PrimaryKeys) > 0 {
		target = 128 << 20
	}
	r := optionReader{options: t.Options}
	o := Options{
		Bucket:               r.integer(OptionBucket, BucketUnaware),
		BucketFunction:       strings.ToLower(r.text(OptionBucketFunction, "default")),
		FileFormat:           strings.ToLower(r.text(OptionFileFormat, "parquet")),
		Compression:          strings.ToLower(r.text(OptionCompression, "zstd")),
		ZstdLevel:            r.integer(OptionZstdLevel, 1),
		BlockSize:            r.size(OptionBlockSize, 0),
		TargetFileSize:       r.size(OptionTargetFileSize, target),
		DataFilePrefix:       r.text(OptionDataFilePrefix, "data-"),
		PartitionDefaultName: r.text(OptionPartitionDefaultName, "__DEFAULT_PARTITION__"),
		PartitionLegacyName:  r.boolean(OptionPartitionLegacyName, true),
		StatsMode:            strings.ToLower(r.text(OptionStatsMode, "truncate(16)")),
		WriteOnly:            r.boolean(OptionWriteOnly, false),
		WriteBufferSize:      r.size(OptionWriteBufferSize, 0),
		NumLevels:            r.integer(OptionNumLevels, r.integer(OptionCompactionTrigger, 5)+1),
	}
	if keys := r.text(OptionBucketKey, ""); keys != "" {
		o.BucketKey = strings.Split(keys, ",")
	}
	return o, r.err
}

// BucketKeys are the columns that decide the bucket: the option's, else the trimmed primary key.
func (t *Table) BucketKeys() []string {
	if keys := t.Options[OptionBucketKey]; keys != "" {
		return strings.Split(keys, ",")
	}
	return t.TrimmedPrimaryKey()
}

// optionReader keeps the first error.
type optionReader struct {
	options map[string]string
	err     error
}

func (r *optionReader) text(key, other string) string {
	if v, ok := r.options[key]; ok {
		return v
	}
	return other
}

func (r *optionReader) fail(key, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("option %s = %q: want %s", key, clip(r.options[key]), want)
	}
}

func (r *optionReader) integer(key string, other int) int {
	v, ok := r.options[key]
	if !ok {
		return other
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
	if err != nil {
		r.fail(key, "a whole number")
	}
	return int(n)
}

func (r *optionReader) boolean(key string, other bool) bool {
	v, ok := r.options[key]
	if !ok {
		return other
	}
	switch strings.ToLower(v) {
	case "true":
		return true
	case "false":
		return false
	}
	r.fail(key, "true or false")
	return other
}

func (r *optionReader) size(key string, other int64) int64 {
	v, ok := r.options[key]
	if !ok {
		return other
	}
	n, err := ParseMemorySize(v)
	if err != nil || n <= 0 {
		r.fail(key, "a size such as 128 mb")
	}
	return n
}

// ParseMemorySize reads a size such as "128 mb" or "1g" as bytes; units are powers of 1024, none means bytes
// (org.apache.paimon.options.MemorySize).
func ParseMemorySize(text string) (int64, error) {
	s := strings.TrimSpace(text)
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("size %q: want a whole number and a unit, such as 128 mb", clip(text))
	}
	var shift uint
	switch unit := strings.ToLower(strings.TrimSpace(s[end:])); unit {
	case "", "b", "bytes":
	case "k", "kb", "kibibytes":
		shift = 10
	case "m", "mb", "mebibytes":
		shift = 20
	case "g", "gb", "gibibytes":
		shift = 30
	case "t", "tb", "tebibytes":
		shift = 40
	default:
		return 0, fmt.Errorf("size %q: unknown unit %q, want b, kb, mb, gb or tb", clip(text), clip(unit))
	}
	if n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("size %q is more than 64 bits hold", clip(text))
	}
	return n << shift, nil
}
