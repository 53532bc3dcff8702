package moment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/tributary-lake/tributary/source"
)

// Session is a connection of the server, used by one goroutine at a time.
type Session interface {
	// Exec runs a statement without a result.
	Exec(ctx context.Context, query string) error
	// Query returns the rows of a small result, by column in lower case, as text; NULL is empty.
	Query(ctx context.Context, query string) ([]map[string]string, error)
	// Close ends the session; what it locked is free then.
	Close() error
}

// Server is what one server can do, and what the account may.
type Server struct {
	// Instance is its name in errors.
	Instance string
	mariadb  bool
	// account is the one that rights are granted to, quoted.
	account string
	// binlog tells that there is a binary log, gtid that MySQL numbers all transactions, show that the account may ask
	// where the log ends.
	binlog, gtid, show bool
	// galera tells that other nodes of a cluster commit here, which its own log need not have.
	galera bool
	// silent tells that a replica does not log what it applies, so that its own log says nothing of that.
	silent bool
	// refused are the privileges that the account lacks, by method. They are to be granted on *.*: an entry for one database
	// would hide those of patterns that match it, and with them the right to read it.
	refused map[source.MomentMethod]string
	// unusable says by method why no right would help.
	unusable map[source.MomentMethod]string
	// unfiltered tells that the binary log is known to leave out no database.
	unfiltered bool
	// blind tells that others' statements cannot be seen, so that a flush on MySQL may get behind a long one.
	blind bool
}

// Error codes of statements that the account may not run.
const (
	codeDatabaseDenied = 1044
	codeAccessDenied   = 1045
	codeTableDenied    = 1142
	codeUnknownSystem  = 1193
	codeSpecificDenied = 1227
)

func denied(err error) bool {
	var server *driversql.MySQLError
	if !errors.As(err, &server) {
		return false
	}
	switch server.Number {
	case codeDatabaseDenied, codeAccessDenied, codeTableDenied, codeSpecificDenied:
		return true
	}
	return false
}

// nothing is the name of a table that is not there: statements that name it tell whether the account may run them, and do
// no more.
const nothing = "tributary asks for a right"

// Examine finds out what the server and the account allow, for shards in these databases. It locks nothing.
func Examine(ctx context.Context, s Session, instance string, databases []string) (*Server, error) {
	v := &Server{Instance: instance, refused: map[source.MomentMethod]string{}, unusable: map[source.MomentMethod]string{}}
	if err := v.look(ctx, s); err != nil {
		return nil, fmt.Errorf("instance %q: look at the server: %w", instance, err)
	}
	if err := v.probe(ctx, s, databases); err != nil {
		return nil, fmt.Errorf("instance %q: look at the account's rights: %w", instance, err)
	}
	v.position()
	return v, nil
}

func (v *Server) look(ctx context.Context, s Session) error {
	got, err := s.Query(ctx, "SELECT VERSION() AS version, @@log_bin AS log_bin, CURRENT_USER() AS account")
	if err != nil {
		return err
	}
	v.mariadb = strings.Contains(strings.ToLower(got[0]["version"]), "mariadb")
	v.binlog = got[0]["log_bin"] == "1"
	user, host := got[0]["account"], ""
	if at := strings.LastIndexByte(user, '@'); at >= 0 {
		user, host = user[:at], user[at+1:]
	}
	v.account = "'" + user + "'@'" + host + "'"
	if got, err = s.Query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name = 'wsrep_on' AND Value = 'ON'"); err != nil {
		return err
	}
	v.galera = len(got) > 0
	if v.mariadb {
		return v.lookForReplica(ctx, s)
	}
	got, err = s.Query(ctx, "SELECT @@gtid_mode AS gtid")
	var server *driversql.MySQLError
	if errors.As(err, &server) && server.Number == codeUnknownSystem {
		return nil
	}
	if err != nil {
		return err
	}
	v.gtid = got[0]["gtid"] == "ON"
	return nil
}

// lookForReplica finds out whether MariaDB applies what it does not log. A replica of a server without GTIDs is known only while
// it runs.
func (v *Server) lookForReplica(ctx context.Context, s Session) error {
	got, err := s.Query(ctx, "SELECT @@log_slave_updates AS logged, @@gtid_slave_pos AS applied")
	if err != nil {
		return err
	}
	running, err := s.Query(ctx, "SHOW GLOBAL STATUS WHERE Variable_name = 'Slaves_running' AND Value <> '0'")
	v.silent = got[0]["logged"] == "0" && (got[0]["applied"] != "" || len(running) > 0)
	return err
}

// probe asks for each right by a statement that has no effect.
func (v *Server) probe(ctx context.Context, s Session, databases []string) error {
	// The right is looked at before the table is.
	err := s.Exec(ctx, "FLUSH TABLES "+quote(nothing)+"."+quote(nothing)+" WITH READ LOCK")
	var server *driversql.MySQLError
	switch {
	case errors.As(err, &server) && server.Number == codeSpecificDenied:
		v.refused[source.MomentFlush] = "RELOAD"
	case err != nil && !errors.As(err, &server):
		return err
	}
	for _, d := range slices.Compact(slices.Sorted(slices.Values(databases))) {
		// An account that may read some tables only is denied this one by name, once it has the right for the database.
		err := s.Exec(ctx, "LOCK TABLES "+quote(d)+"."+quote(nothing)+" READ")
		switch {
		case errors.As(err, &server) && server.Number == codeDatabaseDenied:
			v.refused[source.MomentLockTables] = "LOCK TABLES"
		case err != nil && !errors.As(err, &server):
			return err
		}
	}
	if !v.mariadb {
		if v.show, err = allowed(ctx, s, "SHOW ENGINE INNODB STATUS"); err != nil {
			return err
		}
		v.blind = !v.show // it needs PROCESS, and nothing else does without an effect
		v.show = false
	}
	return v.probeLog(ctx, s)
}

// probeLog asks where the binary log ends and what it leaves out, which one right allows.
func (v *Server) probeLog(ctx context.Context, s Session) error {
	if !v.binlog {
		return nil
	}
	rows, err := masterStatus(ctx, s)
	switch {
	case denied(err):
		return nil
	case err != nil:
		return err
	}
	v.show = len(rows) > 0
	v.unfiltered = v.show && rows[0]["binlog_do_db"] == "" && rows[0]["binlog_ignore_db"] == ""
	if !v.mariadb && !v.gtid && v.show {
		// A replica may apply what its own log never sees.
		got, err := s.Query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_slave_updates', 'log_replica_updates') AND Value = 'OFF'")
		if err != nil {
			return err
		}
		if len(got) > 0 {
			v.silent, err = isReplica(ctx, s)
		}
		return err
	}
	return nil
}

func allowed(ctx context.Context, s Session, query string) (bool, error) {
	_, err := s.Query(ctx, query)
	if denied(err) {
		return false, nil
	}
	return err == nil, err
}

// masterStatus is where the binary log ends; MySQL 8.4 knows only the second name, older ones only the first.
func masterStatus(ctx context.Context, s Session) ([]map[string]string, error) {
	return firstKnown(ctx, s, "SHOW MASTER STATUS", "SHOW BINARY LOG STATUS")
}

func isReplica(ctx context.Context, s Session) (bool, error) {
	rows, err := firstKnown(ctx, s, "SHOW SLAVE STATUS", "SHOW REPLICA STATUS")
	return len(rows) > 0, err
}

// firstKnown runs the first statement that the server's grammar has.
func firstKnown(ctx context.Context, s Session, queries ...string) (rows []map[string]string, err error) {
	const codeSyntax = 1064
	for _, q := range queries {
		rows, err = s.Query(ctx, q)
		var server *driversql.MySQLError
		if !errors.As(err, &server) || server.Number != codeSyntax {
			return rows, err
		}
	}
	return nil, err
}

// position decides whether a moment can be proved by positions. What the log leaves out comes between unseen, so that has to be
// known, for one connection not: its snapshot is one moment whatever the log has.
func (v *Server) position() {
	switch {
	case !v.binlog:
		v.unusable[source.MomentPosition] = "the server has no binary log"
	case v.galera:
		v.unusable[source.MomentPosition] = "the server is a node of a Galera cluster (wsrep_on), where others commit too"
	case v.silent:
		v.unusable[source.MomentPosition] = "the server is a replica and does not log what it applies (log_slave_updates)"
	case v.show && !v.unfiltered:
		v.unusable[source.MomentPosition] = "the binary log leaves out databases (binlog_do_db or binlog_ignore_db)"
	case !v.show:
		v.refused[source.MomentPosition] = "REPLICATION CLIENT"
	}
}

// may tells whether a method can be tried by so many readers.
func (v *Server) may(m source.MomentMethod, readers int) bool {
	if m == source.MomentPosition && readers == 1 && v.unusable[m] == "" && (v.mariadb || v.gtid) {
		return true
	}
	return v.unusable[m] == "" && v.refused[m] == ""
}

// Methods are those that may be tried, the one to begin with first, for a request with so many readers. One reader needs no
// lock to see one moment, so its position alone is at stake.
func (v *Server) Methods(asked source.MomentMethod, readers int) []source.MomentMethod {
	order := []source.MomentMethod{source.MomentFlush, source.MomentLockTables, source.MomentPosition}
	switch {
	case asked != source.MomentAuto && asked != "":
		order = []source.MomentMethod{asked}
	case readers == 1:
		order = []source.MomentMethod{source.MomentPosition, source.MomentFlush, source.MomentLockTables}
		if v.blind {
			order = []source.MomentMethod{source.MomentPosition, source.MomentLockTables, source.MomentFlush}
		}
	case v.blind:
		// The first one can hold up others' queries there.
		order = []source.MomentMethod{source.MomentLockTables, source.MomentPosition, source.MomentFlush}
	}
	return slices.DeleteFunc(order, func(m source.MomentMethod) bool { return !v.may(m, readers) })
}

// Plan says how a moment would be opened. Where the account may do nothing that was asked for it is a
// [source.ErrDenied] that has the GRANT to type.
func (v *Server) Plan(asked source.MomentMethod, readers int) (source.MomentPlan, error) {
	methods := v.Methods(asked, readers)
	if len(methods) == 0 {
		return source.MomentPlan{}, v.none(asked)
	}
	p := source.MomentPlan{Instance: v.Instance, Method: methods[0], Cost: v.cost(methods[0]), Cut: v.cut()}
	if readers == 1 && methods[0] == source.MomentPosition {
		p.Cost = "one connection's own snapshot: nothing is locked"
	}
	if asked == source.MomentAuto || asked == "" {
		p.Notes = v.notes(methods[0])
	}
	if methods[0] == source.MomentFlush && v.blind {
		p.Notes = append(p.Notes, "without PROCESS long statements are not seen, and behind one a flush can hold up all queries of its tables until it ends: "+v.grant("PROCESS"))
	}
	return p, nil
}

func (v *Server) cost(m source.MomentMethod) string {
	switch m {
	case source.MomentFlush:
		return fmt.Sprintf("FLUSH TABLES WITH READ LOCK: nobody writes to the server while connections open, milliseconds as a rule, at most %s; waiting for it holds up writers %s at a time", lockHold, lockWait)
	case source.MomentLockTables:
		return fmt.Sprintf("LOCK TABLES … READ of the shards: nobody writes to them while connections open, milliseconds as a rule, at most %s; a transaction that writes to several shards may be rolled back as a deadlock", lockHold)
	case source.MomentPosition, source.MomentAuto:
	}
	return "no lock: connections are opened again until no commit lies between them, which may fail while the server is busy"
}

// cut says which position will be known.
func (v *Server) cut() string {
	switch {
	case !v.binlog && !v.gtid:
		return "no position: the server has no binary log"
	case v.mariadb && v.silent:
		return "the GTID position that the replica has applied"
	case v.mariadb, v.gtid && v.show:
		return "GTID set, binary log file and offset"
	case v.gtid:
		return "GTID set; file and offset too with " + v.grant("REPLICATION CLIENT")
	case v.show && v.silent:
		return "file and offset of the replica's own binary log"
	case v.show:
		return "binary log file and offset"
	}
	return "no position: " + v.noPosition()
}

func (v *Server) noPosition() string {
	return "the account may not ask for it: " + v.grant("REPLICATION CLIENT")
}

// notes say what keeps the methods before the chosen one from being used.
func (v *Server) notes(chosen source.MomentMethod) []string {
	if chosen == source.MomentFlush {
		return nil
	}
	var notes []string
	if p := v.refused[source.MomentFlush]; p != "" {
		notes = append(notes, "flush is not used: it needs "+v.grant(p))
	} else if v.blind {
		notes = append(notes, "flush is not preferred, as long statements cannot be seen: "+v.grant("PROCESS"))
	}
	if p := v.refused[source.MomentLockTables]; p != "" && chosen == source.MomentPosition {
		notes = append(notes, "lock_tables is not used: it needs "+v.grant(p))
	}
	return notes
}

// grant is what to type for privileges.
func (v *Server) grant(privileges string) string {
	return fmt.Sprintf("GRANT %s ON *.* TO %s", privileges, v.account)
}

// none refuses a request that no method can serve.
func (v *Server) none(asked source.MomentMethod) error {
	wanted := []source.MomentMethod{source.MomentFlush, source.MomentLockTables, source.MomentPosition}
	if asked != source.MomentAuto && asked != "" {
		wanted = []source.MomentMethod{asked}
	}
	var ways []string
	for _, m := range wanted {
		if why := v.unusable[m]; why != "" {
			ways = append(ways, fmt.Sprintf("%s: %s", m, why))
			continue
		}
		privileges := v.refused[m]
		if m == source.MomentFlush && v.blind {
			privileges = "RELOAD, PROCESS"
		}
		ways = append(ways, fmt.Sprintf("%s: %s", m, v.grant(privileges)))
	}
	return fmt.Errorf("%w: instance %q: its connections cannot be opened at one moment, as the account %s may not do so; type one of these there, or set consistency: split: %s",
		source.ErrDenied, v.Instance, v.account, strings.Join(ways, " | "))
}

// quote makes a name of an identifier.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
