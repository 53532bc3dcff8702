package starrocks

import (
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Options of a cluster.
type Options struct {
	// FrontEnds and BackEnds are how many; one and two when zero. The first front end is the leader.
	FrontEnds, BackEnds int
	User, Password      string
	// DuplicateFails answers Fail to a plain load whose label is in use, as front ends from 3.3 on may.
	DuplicateFails bool
	// NoTransactions is a cluster without the transaction interface.
	NoTransactions bool
	// MaxRunning is how many transactions may be open in a database; a thousand when zero.
	MaxRunning int
}

// Server is a cluster.
type Server struct {
	o      Options
	fronts []*httptest.Server
	backs  []*httptest.Server

	mu     sync.Mutex
	tables map[string]*table // by database.name
	txns   map[string]*txn   // by database and label
	// nodeOf is what front ends remember of which node has a label.
	nodeOf map[string]int
	alive  []bool
	nextID int64
	turn   int
	script func(Point) Fault
	count  int
	late   []waiting
	logs   map[string]string
	quit   chan struct{}
}

// txn is a transaction.
type txn struct {
	id                 int64
	database, table    string
	to                 *table // whatever name it has by the time of the commit
	label              string
	state              string // PREPARE, PREPARED, COMMITTED, VISIBLE, ABORTED
	reason             string
	node               int
	loads              int
	format             map[string]string // of its first load, which all others must have
	rows               [][]Value
	total, filtered    int64
	bytes              int64
	tail               []byte // of a body that broke off within a row
	errors             []string
	working, committed bool
}

// Start starts a cluster that ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.FrontEnds == 0 {
		o.FrontEnds = 1
	}
	if o.BackEnds == 0 {
		o.BackEnds = 2
	}
	if o.MaxRunning == 0 {
		o.MaxRunning = 1000
	}
	s := &Server{o: o, tables: map[string]*table{}, txns: map[string]*txn{}, nodeOf: map[string]int{}, logs: map[string]string{}, nextID: 1000, quit: make(chan struct{})}
	for i := range o.FrontEnds {
		s.fronts = append(s.fronts, httptest.NewServer(s.node("fe", i)))
	}
	for i := range o.BackEnds {
		s.backs = append(s.backs, httptest.NewServer(s.node("be", i)))
		s.alive = append(s.alive, true)
	}
	t.Cleanup(func() {
		close(s.quit)
		for _, h := range append(s.fronts, s.backs...) {
			h.CloseClientConnections()
			h.Close()
		}
	})
	return s
}

// Nodes are the front ends' addresses.
func (s *Server) Nodes() []string {
	var nodes []string
	for _, f := range s.fronts {
		nodes = append(nodes, strings.TrimPrefix(f.URL, "http://"))
	}
	return nodes
}

// Create makes a table. With keys it keeps the last row of each.
func (s *Server) Create(database, name string, columns []Column, keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables[database+"."+name] = &table{columns: columns, keys: keys}
}

// Rows are those that a query would see, each with the columns in the table's order.
func (s *Server) Rows(database, name string) [][]Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[database+"."+name].visible()
}

// State is that of a label, as get_load_state has it.
func (s *Server) State(database, label string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.txns[database+"/"+label]; t != nil {
		return t.state
	}
	return "UNKNOWN"
}

// Open lists the labels of a database that are not at their end.
func (s *Server) Open(database string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []string
	for _, t := range s.txns {
		if t.database == database && (t.state == "PREPARE" || t.state == "PREPARED") {
			open = append(open, t.label)
		}
	}
	return open
}

// Forget evicts a label that is at its end, as a front end does that has a thousand newer ones.
func (s *Server) Forget(database, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.txns, database+"/"+label)
}

// Expire aborts what is open or prepared, as the server does when a transaction's time is over.
func (s *Server) Expire(database, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.txns[database+"/"+label].abort("transaction is aborted by timeout 86400 seconds.")
}

// RestartBackEnd makes a node forget all that is not prepared. The front end finds out and aborts it.
func (s *Server) RestartBackEnd(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.txns {
		if t.node == i && t.state == "PREPARE" {
			t.abort("coordinate BE restarts")
		}
	}
}

// RestartFrontEnds makes the front ends forget which node has which label.
func (s *Server) RestartFrontEnds() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodeOf = map[string]int{}
}

// StopFrontEnd ends a front end for good.
func (s *Server) StopFrontEnd(i int) {
	s.fronts[i].CloseClientConnections()
	s.fronts[i].Close()
}

// NodeOf is the node that has an open label, -1 for none.
func (s *Server) NodeOf(database, label string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.txns[database+"/"+label]; t != nil {
		return t.node
	}
	return -1
}

func (t *txn) abort(reason string) {
	if t.state == "PREPARE" || t.state == "PREPARED" {
		t.state, t.reason, t.rows = "ABORTED", reason, nil
	}
}

// commit makes the rows visible, once.
func (s *Server) commit(t *txn, state string) {
	if !t.committed {
		t.to.add(t.rows)
	}
	t.committed, t.state = true, state
}
