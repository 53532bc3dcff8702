package starrocks

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/server"
)

// statements are all that the query port takes. Names may have their database before them.
var statements = []struct {
	op   string
	text *regexp.Regexp
	do   func(s *Server, m []string) (*mysql.Result, error)
}{
	{"list", regexp.MustCompile(`(?is)^SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema\.tables WHERE TABLE_SCHEMA = "([^"]+)"$`), (*Server).list},
	{"count", regexp.MustCompile("(?is)^SELECT COUNT\\(\\*\\) FROM `([^`]+)`\\.`([^`]+)`$"), (*Server).countRows},
	{"create", regexp.MustCompile("(?is)^CREATE TABLE IF NOT EXISTS `([^`]+)`\\.`([^`]+)` \\(\n(.*?)\n\\) ENGINE=OLAP\n(\\w+) KEY \\(([^)]+)\\)(?:\nCOMMENT \"((?:[^\"\\\\]|\\\\.)*)\")?.*$"), (*Server).createTable},
	{"swap", regexp.MustCompile("(?is)^ALTER TABLE `([^`]+)`\\.`([^`]+)` SWAP WITH `([^`]+)`$"), (*Server).swap},
	{"rename", regexp.MustCompile("(?is)^ALTER TABLE `([^`]+)`\\.`([^`]+)` RENAME `([^`]+)`$"), (*Server).rename},
	{"drop", regexp.MustCompile("(?is)^DROP TABLE IF EXISTS `([^`]+)`\\.`([^`]+)` FORCE$"), (*Server).drop},
}

// QueryPort opens the port that speaks MySQL's protocol, and returns its address. The script is asked for its statements too, as
// of the node query; of the faults it knows Lost, LostReply, Late and Twice.
func (s *Server) QueryPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("open the query port: %v", err)
	}
	var conns sync.WaitGroup
	quit, protocol := make(chan struct{}), server.NewDefaultServer()
	t.Cleanup(func() {
		close(quit)
		_ = l.Close()
		conns.Wait()
	})
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { s.speak(c, protocol, quit) })
		}
	})
	return l.Addr().String()
}

// speak serves a connection until it ends.
func (s *Server) speak(c net.Conn, protocol *server.Server, quit <-chan struct{}) {
	defer c.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-quit:
			_ = c.Close()
		case <-stop:
		}
	}()
	conn, err := protocol.NewConn(c, s.o.User, s.o.Password, &handler{Server: s, conn: c})
	for err == nil {
		err = conn.HandleCommand()
	}
}

type handler struct {
	server.EmptyHandler
	*Server
	conn net.Conn
}

// errBroken ends a connection.
var errBroken = errors.New("the connection is broken by script")

// UseDB takes any database.
func (h *handler) UseDB(string) error { return nil }

// HandleQuery runs a statement.
func (h *handler) HandleQuery(query string) (*mysql.Result, error) {
	query = strings.TrimSpace(query)
	for _, st := range statements {
		m := st.text.FindStringSubmatch(query)
		if m == nil {
			continue
		}
		do := func() (*mysql.Result, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return st.do(h.Server, m)
		}
		return h.statement(st.op, do)
	}
	if strings.HasPrefix(strings.ToUpper(query), "SET ") {
		return mysql.NewResult(nil), nil
	}
	return nil, mysql.NewError(mysql.ER_PARSE_ERROR, "this test server does not know "+query)
}

func (h *handler) statement(op string, do func() (*mysql.Result, error)) (*mysql.Result, error) {
	broken := func() (*mysql.Result, error) {
		_ = h.conn.Close()
		return nil, errBroken
	}
	f := h.fault(call{node: "query", query: map[string][]string{"op": {op}}})
	switch f.Kind {
	case Lost:
		return broken()
	case LostReply:
		_, _ = do()
		return broken()
	case Late:
		h.mu.Lock()
		h.late = append(h.late, waiting{do: func() { _, _ = do() }, after: h.count + 2})
		h.mu.Unlock()
		return broken()
	case Twice:
		_, _ = do()
	default:
	}
	return do()
}

func (s *Server) list(m []string) (*mysql.Result, error) {
	var rows [][]any
	for full, t := range s.tables {
		if name, ok := strings.CutPrefix(full, m[1]+"."); ok {
			rows = append(rows, []any{name, t.comment})
		}
	}
	return textResult([]string{"TABLE_NAME", "TABLE_COMMENT"}, rows)
}

func textResult(names []string, rows [][]any) (*mysql.Result, error) {
	r, err := mysql.BuildSimpleTextResultset(names, rows)
	if err != nil {
		return nil, err
	}
	return mysql.NewResult(r), nil
}

func (s *Server) countRows(m []string) (*mysql.Result, error) {
	t := s.tables[m[1]+"."+m[2]]
	if t == nil {
		return nil, unknownTable(m[2])
	}
	return textResult([]string{"count(*)"}, [][]any{{int64(len(t.visible()))}})
}

func unknownTable(name string) error {
	return mysql.NewError(mysql.ER_BAD_TABLE_ERROR, fmt.Sprintf("Unknown table '%s'", name))
}

var columnLine = regexp.MustCompile("^  `([^`]+)` (\\S+) (NOT NULL|NULL)")

func (s *Server) createTable(m []string) (*mysql.Result, error) {
	key := m[1] + "." + m[2]
	if s.tables[key] != nil {
		return mysql.NewResult(nil), nil
	}
	t := &table{comment: strings.ReplaceAll(m[6], `\"`, `"`)}
	for line := range strings.SplitSeq(m[3], "\n") {
		c := columnLine.FindStringSubmatch(line)
		if c == nil {
			return nil, mysql.NewError(mysql.ER_PARSE_ERROR, "a column that is not understood: "+line)
		}
		t.columns = append(t.columns, Column{Name: c[1], Type: c[2], NotNull: c[3] == "NOT NULL"})
	}
	if m[4] != "DUPLICATE" {
		for k := range strings.SplitSeq(m[5], ", ") {
			t.keys = append(t.keys, strings.Trim(k, "`"))
		}
	}
	s.tables[key] = t
	return mysql.NewResult(nil), nil
}

// swap exchanges two names. Transactions belong to the table and go with it.
func (s *Server) swap(m []string) (*mysql.Result, error) {
	a, b := m[1]+"."+m[2], m[1]+"."+m[3]
	if s.tables[a] == nil || s.tables[b] == nil {
		return nil, unknownTable(m[3])
	}
	s.tables[a], s.tables[b] = s.tables[b], s.tables[a]
	return mysql.NewResult(nil), nil
}

func (s *Server) rename(m []string) (*mysql.Result, error) {
	from, to := m[1]+"."+m[2], m[1]+"."+m[3]
	switch {
	case s.tables[from] == nil:
		return nil, unknownTable(m[2])
	case s.tables[to] != nil:
		return nil, mysql.NewError(mysql.ER_TABLE_EXISTS_ERROR, fmt.Sprintf("Table name[%s] is already used", m[3]))
	}
	s.tables[to] = s.tables[from]
	delete(s.tables, from)
	return mysql.NewResult(nil), nil
}

func (s *Server) drop(m []string) (*mysql.Result, error) {
	delete(s.tables, m[1]+"."+m[2])
	return mysql.NewResult(nil), nil
}

// Tables lists the names in a database.
func (s *Server) Tables(database string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for full := range s.tables {
		if name, ok := strings.CutPrefix(full, database+"."); ok {
			names = append(names, name)
		}
	}
	return names
}
