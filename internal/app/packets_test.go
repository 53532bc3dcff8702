package app

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/testenv"
)

var everyPoint = flag.Bool("every-point", false, "sweep every packet instead of every forty-first")

// packetFault is what becomes of the k-th packet that a server sends.
type packetFault string

const (
	// cutBefore closes the connection in the packet's place, cutWithin in the middle of it.
	cutBefore packetFault = "fails"
	cutWithin packetFault = "is cut within"
	// hangs holds it back, and all that follow on the connection.
	hangs packetFault = "hangs"
	// dies closes all connections and takes no more.
	dies packetFault = "is the last one"
)

// packets stands between a job and a server, and counts the server's packets.
type packets struct {
	net.Listener
	server string
	fault  packetFault
	// at is the packet that goes wrong, of those since the last reset; negative is none.
	at, seen atomic.Int64
	dead     atomic.Bool
	struck   atomic.Bool
	// hanging tells of a packet that is held back.
	hanging chan struct{}
}

func newPackets(t *testing.T, server string, fault packetFault) *packets {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p := &packets{Listener: l, server: server, fault: fault, hanging: make(chan struct{}, 1)}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// reset lets the k-th packet from now on go wrong.
func (p *packets) reset(k int64) {
	p.at.Store(k)
	p.seen.Store(0)
	p.dead.Store(false)
	p.struck.Store(false)
}

func (p *packets) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	if p.dead.Load() {
		return
	}
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	for {
		header := make([]byte, 4) // three bytes of length, one of sequence
		if _, err := io.ReadFull(server, header); err != nil {
			return
		}
		packet := make([]byte, 4+int(header[0])|int(header[1])<<8|int(header[2])<<16)
		copy(packet, header)
		if _, err := io.ReadFull(server, packet[4:]); err != nil || p.dead.Load() {
			return
		}
		if p.seen.Add(1)-1 == p.at.Load() {
			p.struck.Store(true)
			switch p.fault {
			case cutWithin:
				_, _ = client.Write(packet[:len(packet)/2])
			case hangs:
				p.hanging <- struct{}{}
				<-gone
			case dies:
				p.dead.Store(true)
			case cutBefore:
			}
			return
		}
		if _, err := client.Write(packet); err != nil {
			return
		}
	}
}

// packetRun makes a run, and every activity that fails once more when the network is whole again.
type packetRun struct {
	t     *testing.T
	proxy *packets
	env   *Env
}

// try does an activity in the time that a hang is given, then as often as a worker would.
func (r *packetRun) try(what string, do func(ctx context.Context) error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	if r.proxy.fault == hangs {
		go func() { // Temporal gives an attempt up that makes no progress
			select {
			case <-ctx.Done():
				return
			case <-r.proxy.hanging:
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond): // what needs no answer goes on
				cancel()
			}
		}()
	}
	err := do(ctx)
	if err == nil {
		return
	}
	require.True(r.t, r.proxy.struck.Load(), "%s failed by itself: %v", what, err)
	r.proxy.reset(-1)
	require.NoError(r.t, do(r.t.Context()), what)
}

func (r *packetRun) run(job json.RawMessage, id string) *activities.TableResult {
	r.t.Helper()
	prepared, err := (&activities.Preparer{Env: r.env}).Prepare(r.t.Context(), activities.PrepareInput{Job: job, Run: id})
	require.NoError(r.t, err)
	part := prepared.Tables[0].TableRun
	var planned *activities.Planned
	r.try("plan", func(ctx context.Context) (err error) {
		planned, err = (&activities.Planner{Env: r.env, Settler: &activities.Settler{Env: r.env}}).Plan(ctx, activities.PlanInput{TableRun: part})
		return err
	})
	writer := &activities.Writer{Env: r.env, Producer: "tributary/test", Memory: budget.New(1<<30, nil)}
	for unit := range planned.Units {
		r.try("write", func(ctx context.Context) error {
			_, err := writer.Write(ctx, activities.WriteInput{TableRun: part, Unit: unit})
			return err
		})
	}
	var result *activities.TableResult
	r.try("commit", func(ctx context.Context) (err error) {
		result, err = (&activities.Committer{Env: r.env}).Commit(ctx, activities.CommitInput{TableRun: part})
		return err
	})
	return result
}

// TestSweepOfPackets lets each packet of a server go wrong in every way while a small run is planned and read: the activity
// fails or has no need of it, and done again the table is MySQL's, row by row.
func TestSweepOfPackets(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	var want []string
	for table := range 2 {
		m.Exec(t, "USE "+database, fmt.Sprintf("CREATE TABLE d_%d (id INT PRIMARY KEY, v VARCHAR(20))", table))
		for id := range 12 {
			m.Exec(t, fmt.Sprintf("INSERT INTO %s.d_%d VALUES (%d, 'row %[3]d')", database, table, id))
			want = append(want, fmt.Sprintf(`{"id":"%d","v":"row %[1]d","_table":"d_%d"}`, id, table))
		}
	}
	stride := int64(41)
	if *everyPoint {
		stride = 1
	}
	for _, fault := range []packetFault{cutBefore, cutWithin, hangs, dies} {
		t.Run(string(fault), func(t *testing.T) {
			proxy := newPackets(t, m.Addr(), fault)
			_, port, err := net.SplitHostPort(proxy.Addr().String())
			require.NoError(t, err)
			warehouse := t.TempDir()
			job := strings.Replace(string(driftJob(m, database, warehouse, `"split": {"count": 2}`)), fmt.Sprintf(`"port": %d`, m.Port()),
				`"tls": {"mode": "disabled"}, "port": `+port, 1)
			points := int64(0)
			for struck := true; struck; points += stride {
				r := &packetRun{t: t, proxy: proxy, env: NewEnv(&config.Masker{})}
				proxy.reset(points)
				result := r.run(json.RawMessage(job), fmt.Sprintf("r%d", points))
				struck = proxy.at.Load() < 0 || proxy.struck.Load()
				require.EqualValues(t, len(want), result.Written, "packet %d", points)
				require.ElementsMatch(t, want, testenv.Referee(t).Read(t, warehouse, "ods.d", 0), "packet %d", points)
			}
			require.Greater(t, points, int64(500))
			t.Logf("%d packets", points)
		})
	}
}
