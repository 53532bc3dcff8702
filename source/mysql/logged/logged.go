package logged

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/moment"
)

// Session is a connection of the server. Events may be large, so they are not held as the results of its Query are.
type Session interface {
	moment.Session
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

const (
	// atOnce bounds how long the server keeps its log locked for one statement, as some releases do.
	atOnce = 1000
	// most is how many events are looked at.
	most = 1_000_000
)

// Since tells which of the shards, all of the instance, were changed after a cut. What the account may not ask is said in the answer.
func Since(ctx context.Context, q Session, instance string, cut source.Position, shards []source.Shard) (out source.Logged, err error) {
	server, err := moment.Examine(ctx, q, instance, nil)
	if err != nil {
		return out, err
	}
	if out.Now, err = server.Now(ctx, q); err != nil {
		return out, fmt.Errorf("instance %q: ask where the binary log ends: %w", instance, err)
	}
	const written = "the instance was written to since, and "
	switch same, known := cut.Same(out.Now); {
	case out.Now.Unknown != "":
		out.Unknown = out.Now.Unknown
	case cut.File == "" && !known:
		out.Unknown = "the cut and the end of the binary log cannot be compared"
	case same:
	case cut.File == "":
		out.Unknown = written + "the cut does not say where in the binary log it lies"
	default:
		out.Changed, out.Unknown, err = search(ctx, q, cut, shards)
		var refused *driversql.MySQLError
		if errors.As(err, &refused) {
			out.Unknown, err = written+"the binary log cannot be looked into: "+refused.Message, nil
		}
	}
	return out, err
}

// search looks for changes of the shards after a position that has a file and an offset. unknown says why the log does not tell, a
// clause.
func search(ctx context.Context, q Session, from source.Position, shards []source.Shard) (changed map[source.Shard]bool, unknown string, err error) {
	files, err := list(ctx, q, "SHOW BINARY LOGS")
	if err != nil {
		return nil, "", fmt.Errorf("list the binary logs: %w", err)
	}
	first := slices.Index(files, from.File)
	if first < 0 {
		return nil, fmt.Sprintf("the binary log %s is not there any more", from.File), nil
	}
	l := &look{q: q, tables: map[string][]source.Shard{}, changed: map[source.Shard]bool{}}
	for _, s := range shards {
		name := "(" + s.Database + "." + s.Table + ")"
		l.tables[name] = append(l.tables[name], s)
	}
	offset := from.Offset
	for _, file := range files[first:] {
		if err := l.file(ctx, file, offset); err != nil {
			return nil, "", fmt.Errorf("look into binary log %s: %w", file, err)
		}
		if l.unknown != "" || len(l.changed) == len(shards) {
			break
		}
		offset = 4 // behind the file's magic number
	}
	return l.changed, l.unknown, nil
}

// list is the first column of a statement.
func list(ctx context.Context, q Session, query string) ([]string, error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	err = each(rows, func(values map[string]sql.RawBytes) { out = append(out, string(values["log_name"])) })
	return out, err
}

// each calls fn with the columns of every row, by name in lower case.
func each(rows *sql.Rows, fn func(map[string]sql.RawBytes)) error {
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
		names[i] = strings.ToLower(names[i])
	}
	byName := make(map[string]sql.RawBytes, len(names))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, name := range names {
			byName[name] = values[i]
		}
		fn(byName)
	}
	return rows.Err()
}

// look is one look into the log.
type look struct {
	q Session
	// tables has the shards that an event's text may mean: two where names have dots.
	tables  map[string][]source.Shard
	changed map[source.Shard]bool
	unknown string
	seen    int
}

// file looks at the events of a file from an offset on.
func (l *look) file(ctx context.Context, name string, offset uint64) error {
	for l.unknown == "" {
		n, next, err := l.some(ctx, name, offset)
		if err != nil {
			return err
		}
		if l.seen += n; l.seen > most {
			l.unknown = fmt.Sprintf("the binary log has more than %d events since, which are not looked at", most)
		}
		if n < atOnce || next <= offset {
			return nil
		}
		offset = next
	}
	return nil
}

// some looks at as many events as are asked for at once, and gives their number and where the last of them ends.
func (l *look) some(ctx context.Context, name string, offset uint64) (n int, next uint64, err error) {
	rows, err := l.q.QueryContext(ctx, fmt.Sprintf("SHOW BINLOG EVENTS IN '%s' FROM %d LIMIT %d", strings.ReplaceAll(name, "'", "''"), offset, atOnce))
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	err = each(rows, func(event map[string]sql.RawBytes) {
		n++
		_, _ = fmt.Sscan(string(event["end_log_pos"]), &next) // one that is none ends the caller's loop
		l.event(name, string(event["pos"]), string(event["event_type"]), event["info"])
	})
	return n, next, err
}

// event takes an event's part.
func (l *look) event(file, pos, kind string, info []byte) {
	switch {
	case kind == "Table_map":
		text := string(info)
		if at := strings.IndexByte(text, '('); at >= 0 {
			for _, s := range l.tables[strings.TrimSpace(text[at:])] {
				l.changed[s] = true
			}
		}
	case harmless(kind), kind == "Query" && boundary(info):
	default:
		// Its text may hold values: it is not told.
		l.unknown = fmt.Sprintf("the binary log has at %s:%s an event that does not name the tables that it changes (%s)", file, pos, kind)
	}
}

// harmless tells of events that change no row, or rows of a table that a Table_map before them names.
func harmless(kind string) bool {
	for _, rows := range []string{"Write_rows", "Update_rows", "Delete_rows", "Partial_update_rows"} {
		if strings.HasPrefix(kind, rows) {
			return true
		}
	}
	return slices.Contains([]string{
		"Format_desc", "Previous_gtids", "Gtid", "Anonymous_Gtid", "Gtid_list", "Gtid_tagged", "Binlog_checkpoint", "Rotate", "Stop", "Xid",
		"XA_prepare", "Rows_query", "Annotate_rows", "Heartbeat", "Start_encryption",
	}, kind)
}

// boundary tells whether a statement only begins or ends a transaction.
func boundary(info []byte) bool {
	text := strings.ToUpper(strings.TrimSpace(string(info[:min(len(info), 64)])))
	for _, b := range []string{"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT ", "XA START ", "XA END ", "XA COMMIT ", "XA ROLLBACK "} {
		if text == b || strings.HasSuffix(b, " ") && strings.HasPrefix(text, b) {
			return true
		}
	}
	return false
}
