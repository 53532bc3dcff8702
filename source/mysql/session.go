package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/tributary-lake/tributary/source"
)

// sessionWait is how many seconds a server waits for this client: a slow lake must not cost the connection.
const sessionWait = "86400"

// required are settings without which values would arrive changed.
func required() []string {
	return []string{
		"SET NAMES utf8mb4",
		"SET time_zone = '+00:00'",
		"SET sql_mode = ''", // PAD_CHAR_TO_FULL_LENGTH changes CHAR, others the meaning of conditions
	}
}

// wanted are settings that a server may lack or refuse: without them a read may fail, but not be wrong.
func wanted() []string {
	return []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"SET SESSION net_write_timeout = " + sessionWait,
		"SET SESSION net_read_timeout = " + sessionWait,
		"SET SESSION wait_timeout = " + sessionWait,
		"SET SESSION sql_select_limit = 9223372036854775807",
		"SET SESSION sql_big_selects = 1",
		"SET SESSION max_execution_time = 0",              // MySQL
		"SET SESSION max_statement_time = 0",              // MariaDB
		"SET SESSION information_schema_stats_expiry = 0", // MySQL 8: statistics of today
	}
}

// setSession applies the session rules and checks that those which matter hold: a proxy may swallow a SET.
func setSession(ctx context.Context, c driverConn) error {
	for _, q := range required() {
		if _, err := c.ExecContext(ctx, q, nil); err != nil {
			return fmt.Errorf("%w: the server refuses %s, without which values would arrive changed: %w", source.ErrDenied, q, err)
		}
	}
	for _, q := range wanted() {
		var refused *driversql.MySQLError
		if _, err := c.ExecContext(ctx, q, nil); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	got, err := one(ctx, c, "SELECT CONCAT_WS('|', @@session.time_zone, @@character_set_results, @@session.sql_mode)")
	if err != nil {
		return err
	}
	if want := "+00:00|utf8mb4|"; got != want {
		return fmt.Errorf("%w: the session has time zone, character set and SQL mode %q in spite of SET, where %q is needed: connect to the server itself or configure the proxy to keep session settings", source.ErrDenied, got, want)
	}
	return nil
}

// sendBuffer is the size of the server's buffer for rows that widen asks for, what the client reads at once.
const sendBuffer = 256 << 10

// widen makes the server's buffer larger, in which it gathers rows for a write to the network. It begins with 16 KiB
// (net_buffer_length, which no client may set) and grows to the longest statement that comes in (net_realloc in the
// server's net_serv.cc), for the connection's life. A sixteenth of the writes saves server and client up to a tenth of
// their time. Blanks at a statement's end are not logged. A server that has no use for it is left as it is.
func (c *conn) widen(ctx context.Context) error {
	text, err := one(ctx, c, "SELECT @@max_allowed_packet")
	if err == nil {
		if most, wrong := strconv.ParseInt(text, 10, 64); wrong != nil || most < 2*sendBuffer {
			return nil
		}
		_, err = c.ExecContext(ctx, "DO 0"+strings.Repeat(" ", sendBuffer), nil)
	}
	var refused *driversql.MySQLError
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// Ask is the only value of a query's only row, as text. Its errors have their class.
func (c *conn) Ask(ctx context.Context, query string) (string, error) {
	text, err := one(ctx, c, query)
	return text, classify(err)
}

// one is the only value of a query's only row, as text.
func one(ctx context.Context, c driverConn, query string) (string, error) {
	rows, err := c.QueryContext(ctx, query, nil)
	if err != nil {
		return "", err
	}
	value := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(value); err != nil {
		return "", errors.Join(err, rows.Close())
	}
	var text string
	switch v := value[0].(type) {
	case []byte:
		text = string(v) // the driver's buffer, so before the next call
	case string:
		text = v
	default:
		text = fmt.Sprint(v)
	}
	if err := rows.Next(value); !errors.Is(err, io.EOF) {
		return "", errors.Join(fmt.Errorf("%s: more than one row", strings.ToLower(query)), err, rows.Close())
	}
	return text, rows.Close()
}
