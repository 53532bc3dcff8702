package source

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MomentMethod is how several connections come to see one moment of an instance, or which way is asked for.
type MomentMethod string

// The methods, in the order of preference.
const (
	// MomentAuto asks for the first one that the account may use.
	MomentAuto MomentMethod = "auto"
	// MomentFlush opens the connections under FLUSH TABLES WITH READ LOCK.
	MomentFlush MomentMethod = "flush"
	// MomentLockTables opens them under LOCK TABLES … READ of the shards.
	MomentLockTables MomentMethod = "lock_tables"
	// MomentPosition locks nothing: it opens them again until no commit lies between the first and the last.
	MomentPosition MomentMethod = "position"
)

// MomentRequest asks for connections that see one moment of an instance.
type MomentRequest struct {
	Instance string
	// Shards are those that are read, all on the instance.
	Shards []Shard
	// Readers is how many connections are wanted. Fewer are given where the instance has no more to spare.
	Readers int
	// Method is MomentAuto when empty.
	Method MomentMethod
}

// MomentPlan is how an instance's connections would be opened at one moment.
type MomentPlan struct {
	Instance string `json:"instance"`
	// Method is the one that is tried first.
	Method MomentMethod `json:"method"`
	// Cost is what it asks of the instance, and Cut which position will be known, a sentence each.
	Cost string `json:"cost"`
	Cut  string `json:"cut"`
	// Notes say why it is not another method, and what else a person should know, a sentence each.
	Notes []string `json:"notes,omitempty"`
}

// Position is a place in an instance's binary log. Both forms may be known.
type Position struct {
	// GTID is the set of transactions up to there, as the server writes it.
	GTID string `json:"gtid,omitempty"`
	// File and Offset are the place itself.
	File   string `json:"file,omitempty"`
	Offset uint64 `json:"offset,omitempty"`
	// Unknown says why neither is known, a clause.
	Unknown string `json:"unknown,omitempty"`
}

// String is for people.
func (p Position) String() string {
	var parts []string
	if p.GTID != "" {
		parts = append(parts, "GTID "+p.GTID)
	}
	if p.File != "" {
		parts = append(parts, fmt.Sprintf("%s:%d", p.File, p.Offset))
	}
	if len(parts) == 0 {
		return "not known: " + p.Unknown
	}
	return strings.Join(parts, ", ")
}

// before tells whether p is before q in the binary log of one instance. Of places that cannot be compared none is.
func (p Position) before(q Position) bool {
	if p.File != "" && q.File != "" {
		a, b := logNumber(p.File), logNumber(q.File)
		return a < b || a == b && p.Offset < q.Offset
	}
	if p.GTID != "" && q.GTID != "" {
		// A server's own set only grows.
		return transactions(p.GTID) < transactions(q.GTID)
	}
	return false
}

// Same tells whether two positions of one instance are one, and false for known where that cannot be told.
func (p Position) Same(q Position) (same, known bool) {
	if p.GTID != "" && q.GTID != "" && !strings.Contains(p.GTID, ":") {
		return sorted(p.GTID) == sorted(q.GTID), true // MariaDB numbers all that it logs
	}
	if p.File != "" && q.File != "" {
		sets := p.GTID == "" || q.GTID == "" || sorted(p.GTID) == sorted(q.GTID)
		return sets && p.File == q.File && p.Offset == q.Offset, true
	}
	return p.GTID != "" && sorted(p.GTID) == sorted(q.GTID), p.GTID != "" && q.GTID != ""
}

// sorted brings the members of a set into one order.
func sorted(set string) string {
	members := strings.Split(set, ",")
	slices.Sort(members)
	return strings.Join(members, ",")
}

// logNumber is the number at the end of a binary log's name.
func logNumber(file string) uint64 {
	n, _ := strconv.ParseUint(file[strings.LastIndexByte(file, '.')+1:], 10, 64)
	return n
}

// transactions counts those of a set: uuid:1-7:9 of MySQL, domain-server-number of MariaDB, both as lists.
func transactions(set string) uint64 {
	var sum uint64
	for _, member := range strings.Split(set, ",") {
		parts := strings.Split(strings.TrimSpace(member), ":")
		if len(parts) == 1 {
			n, _ := strconv.ParseUint(member[strings.LastIndexByte(member, '-')+1:], 10, 64)
			sum += n
			continue
		}
		for _, interval := range parts[1:] {
			from, to, ranged := strings.Cut(interval, "-")
			a, err := strconv.ParseUint(from, 10, 64)
			if err != nil {
				continue // a tag
			}
			b := a
			if ranged {
				b, _ = strconv.ParseUint(to, 10, 64)
			}
			sum += b - a + 1
		}
	}
	return sum
}

// Moment is one at which connections were opened.
type Moment struct {
	Instance string       `json:"instance"`
	Method   MomentMethod `json:"method"`
	// Position is what the connections see.
	Position Position `json:"position"`
	// Connections that see it.
	Connections int `json:"connections"`
	// Tries is how many it took.
	Tries int `json:"tries"`
	// Locked is how long the lock was held, 0 without one.
	Locked time.Duration `json:"locked,omitempty"`
}

// Cut is what the rows of an instance reflect: the position of its moment, or the range of its moments.
type Cut struct {
	Instance string `json:"instance,omitempty"`
	// Moments is how many there were.
	Moments int `json:"moments"`
	// Methods are those that made them, sorted.
	Methods []MomentMethod `json:"methods"`
	// Position is that of the moment, the lowest where there are several.
	Position Position `json:"position"`
	// Last is the highest, when it is another one.
	Last *Position `json:"last,omitempty"`
	// LockSeconds is the longest time that a lock was held.
	LockSeconds float64 `json:"lock_seconds"`
}

// longestCut bounds a cut's text: a GTID set has no bound of its own.
const longestCut = 16 << 10

// Text is the cut as JSON without the instance, for a property of a snapshot whose name has that. It is short enough to be read
// with every snapshot: above 16 KiB it goes without GTID sets.
func (c Cut) Text() string {
	c.Instance = ""
	text, _ := json.Marshal(c) // it holds nothing but text and numbers
	if len(text) <= longestCut {
		return string(text)
	}
	c.Position = c.Position.withoutSet()
	if c.Last != nil {
		last := c.Last.withoutSet()
		c.Last = &last
	}
	text, _ = json.Marshal(c)
	return string(text)
}

// String is the cut in a line for people.
func (c Cut) String() string {
	methods := make([]string, len(c.Methods))
	for i, m := range c.Methods {
		methods[i] = string(m)
	}
	text := fmt.Sprintf("instance %s as of %s", c.Instance, c.Position)
	if c.Position.GTID == "" && c.Position.File == "" {
		text = fmt.Sprintf("instance %s as of a position that is %s", c.Instance, c.Position)
	}
	if c.Last != nil {
		text += fmt.Sprintf(" to %s, at %d moments", c.Last, c.Moments)
	}
	return text + " (by " + strings.Join(methods, ", ") + ")"
}

func (p Position) withoutSet() Position {
	p.GTID = ""
	if p.File == "" {
		p.Unknown = "the GTID set is too long to be kept here"
	}
	return p
}

// Cuts sums moments up to one cut for each instance, sorted by name: so its size does not grow with the number of shards.
func Cuts(moments []Moment) []Cut {
	var cuts []Cut
	for _, m := range moments {
		i := slices.IndexFunc(cuts, func(c Cut) bool { return c.Instance == m.Instance })
		if i < 0 {
			i = len(cuts)
			cuts = append(cuts, Cut{Instance: m.Instance, Position: m.Position})
		}
		cuts[i].add(m)
	}
	slices.SortFunc(cuts, func(a, b Cut) int { return strings.Compare(a.Instance, b.Instance) })
	return cuts
}

func (c *Cut) add(m Moment) {
	c.Moments++
	if !slices.Contains(c.Methods, m.Method) {
		c.Methods = append(c.Methods, m.Method)
		slices.Sort(c.Methods)
	}
	c.LockSeconds = max(c.LockSeconds, m.Locked.Seconds())
	last := c.Position
	if c.Last != nil {
		last = *c.Last
	}
	switch {
	case m.Position.Unknown != "":
		// One moment without a position leaves the instance without: what is known of the others is no cut.
		c.Position, c.Last = m.Position, nil
	case c.Position.Unknown != "":
	case m.Position.before(c.Position):
		c.Position, c.Last = m.Position, &last
	case last.before(m.Position):
		c.Last = &m.Position
	}
}
