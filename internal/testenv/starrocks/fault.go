package starrocks

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// Point is a request that a node is about to see.
type Point struct {
	// Node is fe, be, or query for the query port.
	Node string
	// Op is begin, load, prepare, commit, rollback, stream load, state or error log; of the query port list, count, create,
	// swap, rename or drop.
	Op string
	// N counts all requests of all nodes, from 0.
	N int
	// Label of it.
	Label string
}

// Kind is what befalls a request.
type Kind int

// The kinds.
const (
	None Kind = iota
	// Lost breaks the connection and does nothing.
	Lost
	// Half reads half of the body and breaks the connection. The node keeps what it has read.
	Half
	// LostReply does it and breaks the connection.
	LostReply
	// HalfReply does it and breaks off in the answer.
	HalfReply
	// InternalError answers 500 and does nothing.
	InternalError
	// DoneInternalError does it and answers 500.
	DoneInternalError
	// WrongJSON does it and answers what is no JSON.
	WrongJSON
	// Twice does it two times, as behind a proxy that tries again, and gives the second answer.
	Twice
	// Loop redirects to where the request came to.
	Loop
	// Late breaks the connection, and does it when two more requests have come.
	Late
	// Stuck does it and answers when the client has gone.
	Stuck
	// Answer gives the fault's body and does nothing.
	Answer
	// PublishTimeout does it, and answers that not all nodes have heard of it yet.
	PublishTimeout
	// Restart makes the node that has the label forget what is not prepared, and goes on.
	Restart
)

// Kinds are all that a sweep tries.
func Kinds() []Kind {
	return []Kind{Lost, Half, LostReply, HalfReply, InternalError, DoneInternalError, WrongJSON, Twice, Loop, Late, Stuck, Restart}
}

// String is the kind's name.
func (k Kind) String() string {
	return [...]string{
		"none", "lost", "half", "lost reply", "half reply", "internal error", "done internal error", "wrong JSON", "twice", "loop",
		"late", "stuck", "answer", "publish timeout", "restart",
	}[k]
}

// Fault is what befalls a request.
type Fault struct {
	Kind Kind
	// Body is that of Answer.
	Body string
}

// Script is asked at each request from now on.
func (s *Server) Script(f func(Point) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = f
	s.count = 0
}

// Requests is how many have come since the script was set.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// waiting is a request that is done later.
type waiting struct {
	do    func()
	after int
}

// call is a request taken apart. body reads it when it is wanted: a front end never does.
type call struct {
	node   string
	at     int
	method string
	path   string
	query  map[string][]string
	header http.Header
	host   string
	auth   bool
	body   func() ([]byte, error)
}

// answer of a node.
type answer struct {
	status   int
	location string
	body     string
}

func (s *Server) node(kind string, at int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		c := call{
			node: kind, at: at, method: r.Method, path: r.URL.Path, query: r.URL.Query(), header: r.Header.Clone(), host: r.Host,
			auth: ok && user == s.o.User && password == s.o.Password,
			body: func() ([]byte, error) { return io.ReadAll(r.Body) },
		}
		f := s.fault(c)
		s.befall(w, r, c, f)
	})
}

// fault asks the script, and does what has waited long enough.
func (s *Server) fault(c call) Fault {
	s.mu.Lock()
	p := Point{Node: c.node, Op: c.op(), N: s.count, Label: c.label()}
	s.count++
	script := s.script
	var due, rest []waiting
	for _, w := range s.late {
		if w.after <= s.count {
			due = append(due, w)
		} else {
			rest = append(rest, w)
		}
	}
	s.late = rest
	s.mu.Unlock()
	for _, w := range due {
		w.do()
	}
	if script == nil {
		return Fault{}
	}
	return script(p)
}

// Flush does what still waits.
func (s *Server) Flush() {
	s.mu.Lock()
	due := s.late
	s.late = nil
	s.mu.Unlock()
	for _, w := range due {
		w.do()
	}
}

func (s *Server) befall(w http.ResponseWriter, r *http.Request, c call, f Fault) {
	broken := func() { panic(http.ErrAbortHandler) }
	switch f.Kind {
	case Lost:
		broken()
	case Half:
		if c.node == "be" && r.ContentLength > 0 {
			s.half(c, r)
		}
		broken()
	case InternalError:
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	case Loop:
		w.Header().Set("Location", "http://"+c.host+r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	case Late:
		c = c.read()
		s.mu.Lock()
		s.late = append(s.late, waiting{func() { s.do(c) }, s.count + 2})
		s.mu.Unlock()
		broken()
	case Twice:
		c = c.read()
		s.do(c)
	case Answer:
		_, _ = io.WriteString(w, f.Body)
		return
	case Restart:
		if n := s.NodeOf(c.database(), c.label()); n >= 0 {
			s.RestartBackEnd(n)
		}
	case None, LostReply, HalfReply, DoneInternalError, WrongJSON, Stuck, PublishTimeout:
	}
	a := s.do(c)
	switch f.Kind {
	case LostReply:
		broken()
	case HalfReply:
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, a.body[:len(a.body)/2])
		broken()
	case DoneInternalError:
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	case WrongJSON:
		_, _ = io.WriteString(w, "<html>502 Bad Gateway</html>")
		return
	case Stuck:
		select {
		case <-r.Context().Done():
		case <-s.quit:
		}
		broken()
	case PublishTimeout:
		a.body = strings.NewReplacer(`"Success"`, `"Publish Timeout"`, `"OK"`, `"Publish Timeout"`).Replace(a.body)
		s.mu.Lock()
		if t := s.txns[c.database()+"/"+c.label()]; t != nil && t.state == "VISIBLE" {
			t.state = "COMMITTED"
		}
		s.mu.Unlock()
	default:
	}
	a.write(w)
}

// read takes the body now, so that it can be used later and again.
func (c call) read() call {
	if c.node == "fe" {
		return c
	}
	data, err := c.body()
	c.body = func() ([]byte, error) { return data, err }
	return c
}

// half is a body that breaks off: the node has taken what it has read.
func (s *Server) half(c call, r *http.Request) {
	part, _ := io.ReadAll(io.LimitReader(r.Body, r.ContentLength/2))
	c.body = func() ([]byte, error) { return part, io.ErrUnexpectedEOF }
	s.do(c)
}

func (a answer) write(w http.ResponseWriter) {
	if a.location != "" {
		w.Header().Set("Location", a.location)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// encode is a reply's JSON, its keys in the order of the pairs, as the nodes write them.
func encode(pairs ...any) answer {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(pairs[i])
		value, _ := json.Marshal(pairs[i+1])
		b.Write(append(append(key, ':'), value...))
	}
	b.WriteByte('}')
	return answer{body: b.String()}
}
