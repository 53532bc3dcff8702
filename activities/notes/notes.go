package notes

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/source"
)

// notedDrifts bounds the notes about drift in a plan and in a result; the explanation has more.
const notedDrifts = 20

// Drift says which shards are left out of how many that were found, and what became of differences.
func Drift(drifts []source.Drift, left []source.LeftOut, found int) []string {
	var notes []string
	if n := len(left); n > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d shards are LEFT OUT, none of their rows is read, because they cannot be merged with the others (drift: quarantine): %s",
			n, found, LeftOut(left)))
	}
	groups := source.GroupDrifts(drifts)
	for _, g := range First(groups, notedDrifts) {
		notes = append(notes, "drift: "+g.String())
	}
	if n := len(groups) - notedDrifts; n > 0 {
		notes = append(notes, fmt.Sprintf("drift: … and %d more differences", n))
	}
	return notes
}

// LeftOut names the first of the shards that are left out, and why.
func LeftOut(left []source.LeftOut) string {
	texts := make([]string, 0, notedDrifts)
	for _, l := range First(left, notedDrifts) {
		texts = append(texts, l.String())
	}
	if n := len(left) - notedDrifts; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(texts, " | ")
}

// First is a list cut to so many.
func First[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// shownMoments bounds the notes about instances in a plan and in a result.
const shownMoments = 20

// Moments state in a plan what is read at one moment, and how.
func Moments(consistency string, plans []source.MomentPlan) []string {
	var notes []string
	for _, p := range First(plans, shownMoments) {
		notes = append(notes, fmt.Sprintf("consistency %s on instance %s by %s: %s; position: %s", consistency, p.Instance, p.Method, p.Cost, p.Cut))
		for _, n := range p.Notes {
			notes = append(notes, fmt.Sprintf("instance %s: %s", p.Instance, n))
		}
	}
	if n := len(plans) - shownMoments; n > 0 {
		notes = append(notes, fmt.Sprintf("consistency %s on %d more instances", consistency, n))
	}
	return notes
}

// longLock is from when on the time that a lock was held is told without being asked for, in seconds.
const longLock = 1

// Locks warn of locks that were held for long.
func Locks(cuts []source.Cut) []string {
	var notes []string
	for _, c := range cuts {
		if c.LockSeconds > longLock {
			notes = append(notes, fmt.Sprintf("instance %s was locked for %.1f s while connections opened: see run.moment for other ways", c.Instance, c.LockSeconds))
		}
	}
	return notes
}

// Lost says that attempts were lost.
func Lost(attempts int) []string {
	switch {
	case attempts <= 0:
		return nil
	case attempts == 1:
		return []string{"one attempt failed, or was lost with its worker or connection: what it read was read again, and is in the table once"}
	}
	return []string{fmt.Sprintf("%d attempts failed, or were lost with their workers or connections: what they read was read again, and is in the table once", attempts)}
}

// longestText bounds a property of a snapshot, as all snapshots are read by all readers.
const longestText = 8 << 10

// Names are those of the shards that are left out.
func Names(left []source.LeftOut) []string {
	var names []string
	for _, l := range left {
		names = append(names, l.Shard.String())
	}
	return names
}

// Text is the names, one a line, or empty when they are too many for a property of a snapshot.
func Text(names []string) string {
	text := strings.Join(names, "\n")
	if len(text) > longestText {
		return ""
	}
	return text
}

// FewerShards warns of a refresh that would drop the rows of shards which the job's last commit, a snapshot, still had, by its own
// count: MySQL shows an account only what it may read, so a right that is gone looks like a table that is gone.
func FewerShards(count string, snapshot int64, now int) []string {
	before, err := strconv.Atoi(count)
	if err != nil || now >= before {
		return nil
	}
	return []string{fmt.Sprintf("%d shards where snapshot %d was made of %d: rows of the missing ones will not be in the table any more; were they dropped, or may the account no longer read them?",
		now, snapshot, before)}
}
