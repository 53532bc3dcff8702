package expire

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/schema"
)

var (
	// ErrUnsupported is returned for tables from which this package cannot tell what may go. Nothing was removed; use
	// Paimon's own procedures.
	ErrUnsupported = errors.New("expiry is not supported")
	// ErrUnreadable is returned when metadata of what is to stay is missing. Nothing was removed by this call. Either
	// another expiry with a longer reach is under way or was cut off, which a call with its options finishes, or the table
	// is damaged.
	ErrUnreadable = errors.New("metadata of what is to stay is missing")
)

// Options say which snapshots stay. Zero values stand for the table's own options, and those for Paimon's defaults.
type Options struct {
	// RetainMin is the number of newest snapshots that stay whatever their age, at least 1 (snapshot.num-retained.min, 10).
	RetainMin int
	// RetainMax is the number of newest snapshots beyond which none stays, however young (snapshot.num-retained.max, no
	// bound).
	RetainMax int
	// OlderThan is the moment before which a snapshot's successor must have been made (now less snapshot.time-retained,
	// 1 h): until then the snapshot was the table.
	OlderThan time.Time
	// Limit is the number of snapshots that one call expires at most (snapshot.expire.limit, 50).
	Limit int
	// DryRun removes nothing and tells what would go.
	DryRun bool
}

// retention is Options with all values filled in.
type retention struct {
	min, max, limit int
	olderThan       time.Time
}

// retentionOf fills in what the options leave to the table.
func retentionOf(t *schema.Table, o Options, now time.Time) (retention, error) {
	r := reader{options: t.Options}
	keep := r.duration("snapshot.time-retained", time.Hour)
	out := retention{
		min:       r.integer("snapshot.num-retained.min", 10),
		max:       r.integer("snapshot.num-retained.max", math.MaxInt32),
		limit:     r.integer("snapshot.expire.limit", 50),
		olderThan: o.OlderThan,
	}
	if o.RetainMin != 0 {
		out.min = o.RetainMin
	}
	if o.RetainMax != 0 {
		out.max = o.RetainMax
	}
	if o.Limit != 0 {
		out.limit = o.Limit
	}
	if out.olderThan.IsZero() {
		out.olderThan = now.Add(-keep)
	}
	// CoreOptions.changelogLifecycleDecoupled.
	decoupled := r.integer("changelog.num-retained.max", 0) > out.max || r.integer("changelog.num-retained.min", 0) > out.min ||
		r.duration("changelog.time-retained", 0) > keep
	switch {
	case r.err != nil:
		return out, r.err
	case out.min < 1:
		return out, fmt.Errorf("snapshot.num-retained.min is %d: at least the latest snapshot must stay", out.min)
	case out.max < out.min:
		return out, fmt.Errorf("snapshot.num-retained.max is %d, less than snapshot.num-retained.min, %d", out.max, out.min)
	case out.limit < 1:
		return out, fmt.Errorf("snapshot.expire.limit is %d: nothing would ever expire", out.limit)
	case decoupled:
		return out, fmt.Errorf("%w: the options changelog.* keep changelogs for longer than snapshots, which then have to become changelogs: "+
			"expire with Paimon, or unset them", ErrUnsupported)
	}
	return out, nil
}

// checkTable refuses tables some of whose files lie where this package does not look.
func checkTable(t *schema.Table) error {
	for _, key := range []string{"data-file.path-directory", "data-file.external-paths", "global-index.external-path"} {
		if t.Options[key] != "" {
			return fmt.Errorf("%w: option %s puts files into another directory", ErrUnsupported, key)
		}
	}
	if strings.EqualFold(t.Options["index-file-in-data-file-dir"], "true") {
		return fmt.Errorf("%w: option index-file-in-data-file-dir puts index files among data files", ErrUnsupported)
	}
	return nil
}

// reader reads options and keeps the first error.
type reader struct {
	options map[string]string
	err     error
}

func (r *reader) integer(key string, other int) int {
	text, ok := r.options[key]
	if !ok {
		return other
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("option %s = %.40q: want a whole number", key, text)
	}
	return int(n)
}

func (r *reader) duration(key string, other time.Duration) time.Duration {
	text, ok := r.options[key]
	if !ok {
		return other
	}
	d, err := parseDuration(text)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("option %s: %w", key, err)
	}
	return d
}

// parseDuration reads a time such as "1 h" or "30 min"; no unit means milliseconds (org.apache.paimon.utils.TimeUtils).
// More than 292 years are taken for that.
func parseDuration(text string) (time.Duration, error) {
	s := strings.TrimSpace(text)
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("time %.40q: want a whole number and a unit, such as 1 h", text)
	}
	var unit time.Duration
	switch strings.ToLower(strings.TrimSpace(s[end:])) {
	case "d", "day", "days":
		unit = 24 * time.Hour
	case "h", "hour", "hours":
		unit = time.Hour
	case "min", "m", "minute", "minutes":
		unit = time.Minute
	case "s", "sec", "secs", "second", "seconds":
		unit = time.Second
	case "", "ms", "milli", "millis", "millisecond", "milliseconds":
		unit = time.Millisecond
	case "µs", "micro", "micros", "microsecond", "microseconds":
		unit = time.Microsecond
	case "ns", "nano", "nanos", "nanosecond", "nanoseconds":
		unit = time.Nanosecond
	default:
		return 0, fmt.Errorf("time %.40q: unknown unit; want d, h, min, s, ms, µs or ns", text)
	}
	if n > math.MaxInt64/int64(unit) {
		return math.MaxInt64, nil
	}
	return time.Duration(n) * unit, nil
}
