package moment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/source"
)

// where is the position that all sessions of a moment see while a lock holds. On MariaDB any of them, opened under the lock,
// knows; on MySQL the server is asked.
func (v *Server) where(ctx context.Context, lock, reader Session) (source.Position, error) {
	switch {
	case !v.binlog && !v.gtid:
		return source.Position{Unknown: "the server has no binary log"}, nil
	case v.mariadb:
		return v.whereMariaDB(ctx, lock, reader)
	}
	return v.whereMySQL(ctx, lock)
}

// Now is where the server's log ends: behind all that anybody could read before the call.
func (v *Server) Now(ctx context.Context, s Session) (source.Position, error) {
	if why := v.unusable[source.MomentPosition]; why != "" {
		return source.Position{Unknown: why}, nil
	}
	return v.where(ctx, s, s)
}

func (v *Server) whereMariaDB(ctx context.Context, lock, reader Session) (source.Position, error) {
	if v.silent {
		got, err := lock.Query(ctx, "SELECT @@global.gtid_current_pos AS applied")
		if err != nil {
			return source.Position{}, err
		}
		if got[0]["applied"] == "" {
			return source.Position{Unknown: "the server is a replica, does not log what it applies and has no GTIDs of it"}, nil
		}
		return source.Position{GTID: got[0]["applied"]}, nil
	}
	_, p, err := visible(ctx, reader)
	if err != nil {
		return p, err
	}
	got, err := lock.Query(ctx, "SELECT @@global.gtid_binlog_pos AS written")
	if err != nil {
		return p, err
	}
	p.GTID = got[0]["written"]
	return p, nil
}

// confirmed is the position without a place in the log that another session may have been told of: then the GTIDs say it alone.
// MariaDB looks through the file for it, so it is asked once the lock is gone.
func (v *Server) confirmed(ctx context.Context, s Session, p source.Position) source.Position {
	if !v.mariadb || p.File == "" {
		return p
	}
	if at, _, err := gtidsAt(ctx, s, p); err != nil || at != byDomain(p.GTID) {
		return source.Position{GTID: p.GTID}
	}
	return p
}

// visible is how many transactions MariaDB has made visible since it was started, and the place in the binary log that it has
// noted for a session's snapshot, without one that of the last commit.
func visible(ctx context.Context, s Session) (commits string, p source.Position, err error) {
	rows, err := s.Query(ctx, "SHOW STATUS WHERE Variable_name IN ('Binlog_commits', 'Binlog_snapshot_file', 'Binlog_snapshot_position')")
	if err != nil {
		return "", p, err
	}
	for _, r := range rows {
		switch r["variable_name"] {
		case "Binlog_commits":
			commits = r["value"]
		case "Binlog_snapshot_file":
			p.File = r["value"]
		case "Binlog_snapshot_position":
			if p.Offset, err = strconv.ParseUint(r["value"], 10, 64); err != nil {
				return "", p, fmt.Errorf("the server says that a snapshot is at %q: %w", r["value"], err)
			}
		}
	}
	if commits == "" || p.File == "" {
		return "", p, errors.New("the server has no status Binlog_commits or Binlog_snapshot_file")
	}
	return commits, p, nil
}

// gtidsAt are the GTIDs up to a place of MariaDB's binary log, for which the server looks through the file, and all that it has
// written by then.
func gtidsAt(ctx context.Context, s Session, p source.Position) (at, written string, err error) {
	rows, err := s.Query(ctx, fmt.Sprintf("SELECT COALESCE(BINLOG_GTID_POS(%s, %d), 'none') AS at, @@global.gtid_binlog_pos AS written", text(p.File), p.Offset))
	if err != nil {
		return "", "", err
	}
	return byDomain(rows[0]["at"]), byDomain(rows[0]["written"]), nil
}

// byDomain brings the GTIDs of a position into one order.
func byDomain(gtids string) string {
	all := strings.Split(gtids, ",")
	slices.Sort(all)
	return strings.Join(all, ",")
}

// text makes a literal of a name that the server gave.
func text(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }

func (v *Server) whereMySQL(ctx context.Context, s Session) (source.Position, error) {
	var p source.Position
	if v.show {
		rows, err := masterStatus(ctx, s)
		if err != nil {
			return p, err
		}
		if len(rows) > 0 {
			p.File, p.GTID = rows[0]["file"], oneLine(rows[0]["executed_gtid_set"])
			if p.Offset, err = strconv.ParseUint(rows[0]["position"], 10, 64); err != nil {
				return p, fmt.Errorf("the server says that its log ends at %q: %w", rows[0]["position"], err)
			}
		}
		return p, nil
	}
	if !v.gtid {
		return source.Position{Unknown: v.noPosition()}, nil
	}
	rows, err := s.Query(ctx, "SELECT @@global.gtid_executed AS gtid")
	if err != nil {
		return p, err
	}
	return source.Position{GTID: oneLine(rows[0]["gtid"])}, nil
}

// oneLine takes out the line feeds that MySQL puts between a set's servers.
func oneLine(set string) string {
	b := make([]byte, 0, len(set))
	for i := range len(set) {
		if set[i] != '\n' && set[i] != ' ' {
			b = append(b, set[i])
		}
	}
	return string(b)
}

// committing tells whether a transaction is between the binary log and the end of its commit, so that some may see its
// rows already and others not. Of MySQL; a server that does not give GTIDs to all has transactions without.
func (v *Server) committing(ctx context.Context, s Session) (bool, error) {
	rows, err := s.Query(ctx, "SELECT @@global.gtid_owned <> '' AS busy")
	if err != nil || rows[0]["busy"] != "0" || v.gtid {
		return err == nil && rows[0]["busy"] != "0", err
	}
	if rows, err = s.Query(ctx, "SHOW GLOBAL STATUS LIKE 'Ongoing_anonymous_transaction_count'"); err != nil {
		return false, err
	}
	// A server that does not count them proves nothing.
	return len(rows) == 0 || rows[0]["value"] != "0", nil
}
