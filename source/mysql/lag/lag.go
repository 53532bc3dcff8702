package lag

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// codeSyntax is ER_PARSE_ERROR.
const codeSyntax = 1064

// Lag is how far a replica is behind.
type Lag struct {
	// Replica is false for a server that replicates from nowhere, as one does that was promoted.
	Replica bool
	// Stopped tells that it does not replicate now, so that how far it is behind is not known.
	Stopped bool
	Behind  time.Duration
}

// Of asks a replica for the lag of its slowest channel. What a statement is called depends on the release: MariaDB
// shows all channels only by the first, MySQL 8.4 knows only the second, older ones only the third.
func Of(ctx context.Context, db *sql.DB) (Lag, error) {
	var last error
	for _, query := range []string{"SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"} {
		found, err := by(ctx, db, query)
		var server *mysql.MySQLError
		if !errors.As(err, &server) || server.Number != codeSyntax {
			return found, err
		}
		last = err
	}
	return Lag{}, last
}

func by(ctx context.Context, db *sql.DB, query string) (Lag, error) {
	var found Lag
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return found, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return found, err
	}
	values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return found, err
		}
		for i, name := range names {
			if !strings.EqualFold(name, "Seconds_Behind_Master") && !strings.EqualFold(name, "Seconds_Behind_Source") {
				continue
			}
			found.Replica = true
			seconds, err := strconv.ParseInt(string(values[i]), 10, 64)
			if err != nil { // NULL
				found.Stopped = true
			}
			found.Behind = max(found.Behind, time.Duration(seconds)*time.Second)
		}
	}
	return found, rows.Err()
}
