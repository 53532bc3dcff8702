package starrocks

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// op is what a request asks for.
func (c call) op() string {
	switch {
	case c.node == "query":
		return c.query["op"][0]
	case strings.HasPrefix(c.path, "/api/transaction/"):
		return strings.TrimPrefix(c.path, "/api/transaction/")
	case strings.HasSuffix(c.path, "/_stream_load"):
		return "stream load"
	case strings.HasSuffix(c.path, "/get_load_state"):
		return "state"
	case c.path == "/api/_load_error_log":
		return "error log"
	}
	return "unknown"
}

// target is what stands in the path: /api/{database}/{table}/…
func (c call) target() (database, table string) {
	parts := strings.Split(strings.TrimPrefix(c.path, "/api/"), "/")
	if len(parts) < 3 {
		return parts[0], ""
	}
	return parts[0], parts[1]
}

func (c call) database() string {
	if strings.HasPrefix(c.path, "/api/transaction/") {
		return c.header.Get("db")
	}
	database, _ := c.target()
	return database
}

func (c call) label() string {
	if l := c.query["label"]; len(l) > 0 {
		return l[0]
	}
	return c.header.Get("label")
}

// do is what a node makes of a request.
func (s *Server) do(c call) answer {
	if !c.auth {
		if c.node == "be" {
			return encode("Status", "Fail", "Message", "no valid Basic authorization")
		}
		return answer{status: http.StatusUnauthorized, body: "Access denied for user"}
	}
	if c.node == "be" {
		return s.backend(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frontend(c)
}

// exception is how a front end says that something went wrong.
func exception(format string, args ...any) answer {
	return encode("Status", "FAILED", "Message", "class com.starrocks.common.StarRocksException: "+fmt.Sprintf(format, args...))
}

func (s *Server) redirect(server string, c call) answer {
	return answer{status: http.StatusTemporaryRedirect, location: server + c.path + queryOf(c)}
}

func queryOf(c call) string {
	if len(c.query) == 0 {
		return ""
	}
	return "?" + url.Values(c.query).Encode()
}

func (s *Server) frontend(c call) answer {
	op := c.op()
	switch op {
	case "stream load":
		if c.header.Get("Expect") != "100-continue" {
			return encode("Status", "FAILED", "Message", "class com.starrocks.common.DdlException: There is no 100-continue header")
		}
		n := s.choose()
		if n < 0 {
			return encode("Status", "FAILED", "Message", "class com.starrocks.common.DdlException: No backend alive.")
		}
		return s.redirect(s.backs[n].URL, c)
	case "begin", "load", "prepare", "commit", "rollback":
		if s.o.NoTransactions {
			return answer{status: http.StatusNotFound, body: "Not Found"}
		}
	case "state":
	default:
		return answer{status: http.StatusNotFound, body: "Not Found"}
	}
	if c.at > 0 {
		return s.redirect(s.fronts[0].URL, c) // to the leader
	}
	if op == "state" {
		return s.labelState(c)
	}
	return s.transact(c, op)
}

func (s *Server) choose() int {
	for range s.alive {
		s.turn = (s.turn + 1) % len(s.alive)
		if s.alive[s.turn] {
			return s.turn
		}
	}
	return -1
}

func (s *Server) labelState(c call) answer {
	if !s.hasDatabase(c.database()) {
		return encode("status", "FAILED", "msg", "unknown database, database="+c.database())
	}
	state, reason := "UNKNOWN", ""
	if t := s.txns[c.database()+"/"+c.label()]; t != nil {
		state, reason = t.state, t.reason
	}
	return encode("state", state, "reason", reason, "code", "0", "status", "OK", "message", "", "msg", "")
}

func (s *Server) hasDatabase(name string) bool {
	for full := range s.tables {
		if strings.HasPrefix(full, name+".") {
			return true
		}
	}
	return false
}

// transact is the leader's part in transactions.
func (s *Server) transact(c call, op string) answer {
	database, label := c.header.Get("db"), c.label()
	switch {
	case database == "":
		return exception("No database selected.")
	case label == "":
		return exception("Empty label.")
	case !s.hasDatabase(database):
		return exception("Database[%s] does not exist.", database)
	}
	key := database + "/" + label
	t := s.txns[key]
	switch op {
	case "begin":
		n := s.choose()
		if n < 0 {
			return exception("No backend alive.")
		}
		s.nodeOf[label] = n
		return s.redirect(s.backs[n].URL, c)
	case "commit", "rollback":
		if t == nil {
			return exception("No transaction found by label %s", label)
		}
		if t.state != "PREPARE" {
			return s.decide(t, op)
		}
	}
	n, known := s.nodeOf[label]
	if !known && t != nil {
		n, known = t.node, true
	}
	if !known {
		return exception("No transaction found by label %s", label)
	}
	return s.redirect(s.backs[n].URL, c)
}

// decide is commit or rollback of what is prepared or at its end.
func (s *Server) decide(t *txn, op string) answer {
	did := "committed"
	if op == "rollback" {
		did = "aborted"
	}
	no := func() answer {
		verb := map[string]string{"commit": "commit", "rollback": "abort"}[op]
		return encode("Status", "FAILED", "Message", fmt.Sprintf("Can not %s %s transaction %d, label is %s", verb, t.state, t.id, t.label))
	}
	already := func() answer {
		return encode("Status", "OK", "Message", fmt.Sprintf("Transaction %d has already %s, label is %s", t.id, did, t.label), "TxnId", t.id, "Label", t.label)
	}
	switch {
	case t.state == "PREPARED" && op == "commit":
		s.commit(t, "VISIBLE")
	case t.state == "PREPARED":
		t.abort("User rollback")
	case t.state == "ABORTED" && op == "rollback", t.state != "ABORTED" && op == "commit":
		return already()
	default:
		return no()
	}
	return encode("TxnId", t.id, "Label", t.label, "Status", "OK", "Message", "")
}
