package demoshards

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
)

const (
	// User is the account of every instance; it may read and nothing else.
	User = "demo"
	// Password is the password of User.
	Password = "demo"

	host = "127.0.0.1"
	// Rows of the first shard, and how many more every following one has: shards are never equally large.
	baseRows, moreRows = 600, 50
)

// Options says where to listen. The zero value takes free ports.
type Options struct {
	// BasePort is the port of the first instance; the second takes the next. 0 takes free ones.
	BasePort int
}

// Table is one shard with what a reader must find in it.
type Table struct {
	// Database and Name address the table on its instance.
	Database, Name string
	// Rows is the number of rows, MinID and MaxID the range of the primary key.
	Rows, MinID, MaxID int64
	// AmountCents is the sum of the column amount, in hundredths.
	AmountCents int64
}

// Instance is one running MySQL server.
type Instance struct {
	// Name is "a" or "b".
	Name string
	// Host and Port are where it listens.
	Host string
	Port int
	// Tables are its shards, by database and name.
	Tables []Table
}

// Rows is the number of rows on the instance.
func (i Instance) Rows() int64 {
	var n int64
	for _, t := range i.Tables {
		n += t.Rows
	}
	return n
}

// AmountCents is the sum of the column amount over the instance, in hundredths.
func (i Instance) AmountCents() int64 {
	var n int64
	for _, t := range i.Tables {
		n += t.AmountCents
	}
	return n
}

// Address is host:port.
func (i Instance) Address() string { return net.JoinHostPort(i.Host, strconv.Itoa(i.Port)) }

// Description is an instance as the programs of the dev stack print it. Its JSON names are a contract with whoever
// starts them.
type Description struct {
	Name     string `json:"name"`
	Host     string `json:"host"`
	Port     int    `json:"port"`
	User     string `json:"user"`
	Password string `json:"password"`
	// Every one of Databases holds every one of Tables.
	Databases []string `json:"databases"`
	Tables    []string `json:"tables"`
	// Rows and Amount, the sum of the column amount as a decimal, are those of the whole instance.
	Rows   int64  `json:"rows"`
	Amount string `json:"amount"`
}

// Describe gives what a client needs to read the instance and to check what it read.
func (i Instance) Describe() Description {
	d := Description{
		Name: i.Name, Host: i.Host, Port: i.Port, User: User, Password: Password,
		Rows: i.Rows(), Amount: cents(i.AmountCents()),
	}
	for _, t := range i.Tables {
		if !slices.Contains(d.Databases, t.Database) {
			d.Databases = append(d.Databases, t.Database)
		}
		if !slices.Contains(d.Tables, t.Name) {
			d.Tables = append(d.Tables, t.Name)
		}
	}
	return d
}

// PortInUseError says that an instance cannot listen where it was told to.
type PortInUseError struct {
	// Port is the number of the port.
	Port int
	// Err is the answer of the operating system.
	Err error
}

// Error names the port.
func (e *PortInUseError) Error() string {
	return fmt.Sprintf("port %d of the demo shards cannot be used: %v", e.Port, e.Err)
}

// Unwrap gives the answer of the operating system.
func (e *PortInUseError) Unwrap() error { return e.Err }

// Shards is the running demo. Make one with Start.
type Shards struct {
	instances []Instance
	servers   []*server.Server
	accepting sync.WaitGroup
}

// layout is the fixed content: which databases an instance holds.
func layout() []struct {
	name      string
	databases []string
} {
	return []struct {
		name      string
		databases []string
	}{
		{"a", []string{"shop_0", "shop_1"}},
		{"b", []string{"shop_2", "shop_3"}},
	}
}

func tableNames() []string { return []string{"orders_0", "orders_1"} }

// Start fills the instances and listens; clients can connect when it returns. A port that is taken is reported as a
// *PortInUseError. Ending ctx ends the filling, not shards that Start has returned.
func Start(ctx context.Context, opts Options) (*Shards, error) {
	s := &Shards{}
	shard := 0
	for i, l := range layout() {
		inst := Instance{Name: l.name, Host: host}
		if opts.BasePort != 0 {
			inst.Port = opts.BasePort + i
		}
		if err := s.startInstance(ctx, &inst, l.databases, shard); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		shard += len(inst.Tables)
	}
	return s, nil
}

func (s *Shards) startInstance(ctx context.Context, inst *Instance, databases []string, firstShard int) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp4", inst.Address())
	if err != nil {
		return &PortInUseError{Port: inst.Port, Err: err}
	}
	inst.Port = listener.Addr().(*net.TCPAddr).Port
	srv, err := fill(ctx, inst, listener, databases, firstShard)
	if err != nil {
		return errors.Join(fmt.Errorf("demo shards, instance %s: %w", inst.Name, err), listener.Close())
	}
	s.instances = append(s.instances, *inst)
	s.servers = append(s.servers, srv)
	s.accepting.Go(srv.Listener.Accept)
	return nil
}

// fill makes the databases and accounts of an instance and the server that will serve them on the listener.
func fill(ctx context.Context, inst *Instance, l net.Listener, databases []string, firstShard int) (*server.Server, error) {
	all := make([]sql.Database, 0, len(databases))
	for _, name := range databases {
		db := memory.NewDatabase(name)
		db.EnablePrimaryKeyIndexes()
		all = append(all, db)
	}
	provider := memory.NewDBProvider(all...)
	engine := sqle.NewDefault(provider)
	admin := newSession(ctx, engine, provider)

	for i, db := range databases {
		for j, table := range tableNames() {
			shard := firstShard + i*len(tableNames()) + j
			t, err := admin.fillTable(db, table, shard)
			if err != nil {
				return nil, err
			}
			inst.Tables = append(inst.Tables, t)
		}
	}
	if err := admin.createAccount(databases); err != nil {
		return nil, err
	}
	srv, err := server.NewServer(server.Config{Protocol: "tcp", Listener: l}, engine, sql.NewContext,
		memory.NewSessionBuilder(provider), nil)
	if err != nil {
		return nil, fmt.Errorf("make the server: %w", err)
	}
	return srv, nil
}

// Instances are the running servers with their content.
func (s *Shards) Instances() []Instance { return s.instances }

// Stop ends all instances. Clients that are still connected see their connections die with the process only.
func (s *Shards) Stop() error {
	var errs []error
	for _, srv := range s.servers {
		errs = append(errs, srv.Close())
	}
	s.accepting.Wait()
	for _, srv := range s.servers {
		// The engine reports that its background threads were told to end.
		if err := srv.Engine.Close(); !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	s.servers = nil
	return errors.Join(errs...)
}
