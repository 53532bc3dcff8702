package watermark

import (
	"fmt"
	"strings"
	"time"
)

// The forms in which MySQL prints times.
const (
	dayForm   = "2006-01-02"
	clockForm = "2006-01-02 15:04:05"
	exactForm = "2006-01-02 15:04:05.000000"
)

// statement is how much later than its statement a transaction may be said to begin: the server cuts its time to a second.
const statement = time.Second

// horizon is the time that all rows which are not visible yet are not before: of the clock and the beginning of the oldest
// open transaction, zero for none, the earlier, less the overlap.
func horizon(clock, oldest time.Time, overlap time.Duration) time.Time {
	h := clock
	if !oldest.IsZero() && oldest.Add(-statement).Before(h) {
		h = oldest.Add(-statement)
	}
	return h.Add(-overlap)
}

// literalOf is a horizon as a literal that values of the column compare with. A day is not over before the next begins.
func literalOf(h time.Time, days bool) string {
	if days {
		return "'" + h.Format(dayForm) + "'"
	}
	return "'" + h.Format(exactForm) + "'"
}

// earlier is a literal of a time less the overlap. Days and zero dates that no calendar has stay as they are.
func earlier(literal string, overlap time.Duration) string {
	text := strings.Trim(literal, "'")
	for _, form := range []string{clockForm, dayForm} { // parsing takes fractions of any length
		if t, err := time.Parse(form, text); err == nil {
			return "'" + t.Add(-overlap).Format(exactForm) + "'"
		}
	}
	return literal
}

// parseClock reads a time that the server printed.
func parseClock(text string) (time.Time, error) {
	t, err := time.Parse(clockForm, text)
	if err != nil {
		return t, fmt.Errorf("the server's clock says %q: %w", text, err)
	}
	return t, nil
}
