package moment

import (
	"context"
	"fmt"
	"strconv"

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

func (v *Server) whereMariaDB(ctx context.Context, lock, reader Session) (source.Position, error) {
	if v.silent {
		got, err := lock.Query(ctx, "SELECT @@global.gtid_current_pos AS applied")
		if err != nil {
			return source.Position{}, err
		}
		return source.Position{GTID: got[0]["applied"]}, nil
	}
	p, err := snapshotPosition(ctx, reader)
	if err != nil {
		return p, err
	}
	at, written, err := gtidsAt(ctx, lock, p)
	if at != written { // another session's place was told: the GTIDs say it alone
		p = source.Position{}
	}
	p.GTID = written
	return p, err
}

// snapshotPosition is the place in the binary log that MariaDB has noted for a session's snapshot.
func snapshotPosition(ctx context.Context, s Session) (source.Position, error) {
	rows, err := s.Query(ctx, "SHOW STATUS WHERE Variable_name IN ('Binlog_snapshot_file', 'Binlog_snapshot_position')")
	if err != nil {
		return source.Position{}, err
	}
	var p source.Position
	for _, r := range rows {
		switch r["variable_name"] {
		case "Binlog_snapshot_file":
			p.File = r["value"]
		case "Binlog_snapshot_position":
			if p.Offset, err = strconv.ParseUint(r["value"], 10, 64); err != nil {
				return p, fmt.Errorf("the server says that a snapshot is at %q: %w", r["value"], err)
			}
		}
	}
	return p, nil
}

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
// rows already and others not. Of MySQL; a session without GTIDs counts those without.
func (v *Server) committing(ctx context.Context, s Session) (bool, error) {
	if v.gtid {
		rows, err := s.Query(ctx, "SELECT @@global.gtid_owned <> '' AS busy")
		return err == nil && rows[0]["busy"] != "0", err
	}
	rows, err := s.Query(ctx, "SHOW GLOBAL STATUS LIKE 'Ongoing_anonymous_transaction_count'")
	if err != nil {
		return false, err
	}
	// A server that does not count them proves nothing.
	return len(rows) == 0 || rows[0]["value"] != "0", nil
}
