package starrocks

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// thrift is a transaction's reply as a node gives it.
func thrift(status, message string, more ...any) answer {
	return encode(append([]any{"Status", status, "Message", message}, more...)...)
}

// backend is a node's part. The body is read without the lock, so that two requests may meet.
func (s *Server) backend(c call) answer {
	switch op := c.op(); op {
	case "stream load":
		return s.streamLoad(c)
	case "load":
		return s.load(c)
	case "error log":
		s.mu.Lock()
		defer s.mu.Unlock()
		return answer{body: s.logs[c.query["file"][0]]}
	case "begin", "prepare", "commit", "rollback":
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.label() == "" {
			return thrift("INVALID_ARGUMENT", "empty label")
		}
		if op == "begin" {
			return s.begin(c)
		}
		t := s.txns[c.database()+"/"+c.label()]
		if t == nil || t.node != c.at || t.state != "PREPARE" {
			return thrift("TXN_NOT_EXISTS", fmt.Sprintf("transaction with label %s not exists", c.label()))
		}
		if op == "rollback" {
			t.abort("transaction is aborted by user.")
			return thrift("OK", "", "Label", t.label, "TxnId", t.id)
		}
		return s.finish(t, op)
	}
	return thrift("INVALID_ARGUMENT", "unsupport transaction operation "+c.op())
}

// open begins a transaction at the front end's, as a node does for both kinds of loads.
func (s *Server) open(c call, database, name string) (*txn, answer) {
	if s.tables[database+"."+name] == nil {
		return nil, thrift("INTERNAL_ERROR", fmt.Sprintf("unknown table, table=%s.%s", database, name))
	}
	key := database + "/" + c.label()
	if old := s.txns[key]; old != nil && old.state != "ABORTED" {
		existing := "RUNNING"
		if old.state == "VISIBLE" || old.state == "COMMITTED" {
			existing = "FINISHED"
		}
		return nil, thrift("LABEL_ALREADY_EXISTS", fmt.Sprintf("Label [%s] has already been used, relate to txn [%d]", c.label(), old.id), "ExistingJobStatus", existing)
	}
	running := 0
	for _, t := range s.txns {
		if t.database == database && (t.state == "PREPARE" || t.state == "PREPARED") {
			running++
		}
	}
	if running >= s.o.MaxRunning {
		return nil, thrift("INTERNAL_ERROR", fmt.Sprintf("current running txns on db 10004 is %d, larger than limit %d", running, s.o.MaxRunning))
	}
	s.nextID++
	t := &txn{id: s.nextID, database: database, table: name, to: s.tables[database+"."+name], label: c.label(), state: "PREPARE", node: c.at}
	s.txns[key] = t
	return t, answer{}
}

func (s *Server) begin(c call) answer {
	t, refused := s.open(c, c.database(), c.header.Get("table"))
	if t == nil {
		return refused
	}
	return thrift("OK", "", "Label", t.label, "TxnId", t.id, "BeginTxnTimeMs", 0)
}

// formatOf are the headers that every load of a transaction must repeat.
func formatOf(c call) map[string]string {
	f := map[string]string{}
	for _, k := range []string{
		"format", "columns", "column_separator", "row_delimiter", "jsonpaths", "strip_outer_array", "compression", "strict_mode",
		"enclose", "escape", "timezone", "partial_update", "temporary_partitions",
	} {
		if v := c.header.Get(k); v != "" {
			f[k] = v
		}
	}
	return f
}

// load adds a body. What a node looks at before it reads the body comes first.
func (s *Server) load(c call) answer {
	s.mu.Lock()
	t := s.txns[c.database()+"/"+c.label()]
	format := formatOf(c)
	var refused answer
	switch {
	case t == nil || t.node != c.at || t.state != "PREPARE":
		refused = thrift("TXN_NOT_EXISTS", fmt.Sprintf("Transaction with label %s not exists", c.label()))
	case t.table != c.header.Get("table"):
		refused = thrift("INVALID_ARGUMENT", fmt.Sprintf("Request table %s not equal transaction table %s", c.header.Get("table"), t.table))
	case t.working:
		refused = thrift("TXN_IN_PROCESSING", "Transaction in processing, please retry later", "Label", t.label)
	case t.format != nil && !maps.Equal(t.format, format):
		t.abort("load request not equal last.")
		refused = thrift("INTERNAL_ERROR", "load request not equal last.")
	}
	if refused.body != "" {
		s.mu.Unlock()
		return refused
	}
	t.working, t.format = true, format
	s.mu.Unlock()

	data, err := c.body()

	s.mu.Lock()
	defer s.mu.Unlock()
	t.working = false
	if t.state != "PREPARE" {
		return thrift("ABORTED", "current transaction is aborted")
	}
	t.loads++
	t.bytes += int64(len(data))
	if bad := s.take(t, format, data); bad != "" {
		t.abort(bad)
		return thrift("INTERNAL_ERROR", bad)
	}
	if err != nil {
		return answer{} // nobody is there to hear it
	}
	return thrift("OK", "", "Label", t.label, "TxnId", t.id, "LoadBytes", len(data), "StreamLoadPlanTimeMs", 1, "ReceivedDataTimeMs", 1)
}

// take reads rows from a body. What is left behind the last row delimiter stays for the next body, as in the node's pipe.
func (s *Server) take(t *txn, format map[string]string, data []byte) (bad string) {
	data, bad = unpack(format, data)
	if bad != "" {
		return bad
	}
	p, bad := newParser(t.to, format)
	if bad != "" {
		return bad
	}
	if strings.EqualFold(format["format"], "JSON") {
		bad = p.json(data)
	} else {
		t.tail = p.csv(append(t.tail, data...))
	}
	t.keep(p)
	return bad
}

// keep takes over what was read.
func (t *txn) keep(p *parser) {
	t.rows = append(t.rows, p.rows...)
	t.total += int64(len(p.rows)) + int64(len(p.errors))
	t.filtered += int64(len(p.errors))
	t.errors = append(t.errors, p.errors...)
}

// end takes what is left without a row delimiter for a row, as the node does at the end of its pipe.
func (s *Server) end(t *txn) {
	if p, bad := newParser(t.to, t.format); len(t.tail) > 0 && bad == "" {
		_ = p.csv(append(t.tail, separator(t.format["row_delimiter"], "\n")...))
		t.keep(p)
	}
}

func (s *Server) counts(t *txn) []any {
	return []any{
		"NumberTotalRows", t.total, "NumberLoadedRows", t.total - t.filtered, "NumberFilteredRows", t.filtered,
		"NumberUnselectedRows", 0, "LoadBytes", t.bytes, "LoadTimeMs", 1,
	}
}

// log keeps the error log of a load and tells where it is.
func (s *Server) log(t *txn) string {
	name := fmt.Sprintf("error_log_%d", t.id)
	s.logs[name] = strings.Join(t.errors, "\n")
	return s.backs[t.node].URL + "/api/_load_error_log?file=" + name
}

// finish is prepare, or commit in one phase.
func (s *Server) finish(t *txn, op string) answer {
	switch {
	case t.working:
		return thrift("TXN_IN_PROCESSING", "Transaction in processing, please retry later", "Label", t.label)
	case t.loads == 0:
		t.abort("hasn't send any data yet")
		return thrift("INTERNAL_ERROR", fmt.Sprintf("transaction %s hasn't send any data yet", t.label))
	}
	s.end(t)
	if t.filtered > 0 {
		url := s.log(t)
		t.abort("too many filtered rows")
		return thrift("INTERNAL_ERROR", "too many filtered rows", "ErrorURL", url)
	}
	if op == "commit" {
		s.commit(t, "VISIBLE")
	} else {
		t.state = "PREPARED"
	}
	return thrift("OK", "", append([]any{"Label", t.label, "TxnId", t.id}, s.counts(t)...)...)
}

// streamLoad is a plain load: the transaction begins before the body is read.
func (s *Server) streamLoad(c call) answer {
	database, name := c.target()
	plain := func(id int64, status, message string, more ...any) answer {
		return encode(append([]any{"TxnId", id, "Label", c.label(), "Status", status, "Message", message}, more...)...)
	}
	s.mu.Lock()
	t, refused := s.open(c, database, name)
	if t == nil {
		s.mu.Unlock()
		return s.duplicate(refused, plain)
	}
	t.format = formatOf(c)
	s.mu.Unlock()

	data, err := c.body()

	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state != "PREPARE" {
		return plain(t.id, "Fail", t.reason)
	}
	t.bytes = int64(len(data))
	if err != nil {
		t.abort("receive body don't equal with body bytes")
		return plain(t.id, "Fail", t.reason)
	}
	bad := s.take(t, t.format, data)
	if bad == "" {
		s.end(t)
	}
	switch {
	case bad != "":
		t.abort(bad)
		return plain(t.id, "Fail", bad)
	case t.filtered > 0:
		url := s.log(t)
		counts := s.counts(t)
		t.abort("too many filtered rows")
		return plain(t.id, "Fail", "too many filtered rows", append(counts, "ErrorURL", url)...)
	}
	s.commit(t, "VISIBLE")
	return plain(t.id, "Success", "OK", s.counts(t)...)
}

// duplicate turns the answer to a begin into that of a plain load.
func (s *Server) duplicate(refused answer, plain func(int64, string, string, ...any) answer) answer {
	has := func(text string) bool { return strings.Contains(refused.body, text) }
	if !has("LABEL_ALREADY_EXISTS") {
		return answer{body: strings.Replace(refused.body, `"INTERNAL_ERROR"`, `"Fail"`, 1)}
	}
	if s.o.DuplicateFails {
		return plain(-1, "Fail", "Label has already been used")
	}
	existing := []any{"ExistingJobStatus", "RUNNING"}
	if has("FINISHED") {
		existing[1] = "FINISHED"
	}
	return plain(-1, "Label Already Exists", "Label has already been used", slices.Clone(existing)...)
}
