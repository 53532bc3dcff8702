package demoshards

import (
	"context"
	"errors"
	"fmt"
	"io"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
)

// session speaks SQL to an engine from inside, with all rights, before its server listens.
type session struct {
	engine *sqle.Engine
	ctx    *sql.Context
}

func (s *session) exec(statement string) error {
	_, rows, _, err := s.engine.Query(s.ctx, statement)
	if err != nil {
		return fmt.Errorf("%.60s: %w", statement, err)
	}
	for {
		if _, err = rows.Next(s.ctx); err != nil {
			break
		}
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("%.60s: %w", statement, errors.Join(err, rows.Close(s.ctx)))
	}
	if err := rows.Close(s.ctx); err != nil {
		return fmt.Errorf("%.60s: %w", statement, err)
	}
	return nil
}

// fillTable makes the shard with that number and returns what it holds, computed from the generated rows.
func (s *session) fillTable(database, name string, shard int) (Table, error) {
	orders := makeOrders(shard, baseRows+shard*moreRows)
	s.ctx.SetCurrentDatabase(database)
	if err := s.exec(fmt.Sprintf(createTable, name)); err != nil {
		return Table{}, err
	}
	// One statement: the engine's cost of a statement grows with the square of the table.
	if err := s.exec(insertStatement(name, orders)); err != nil {
		return Table{}, err
	}
	t := Table{Database: database, Name: name, Rows: int64(len(orders)), MinID: orders[0].id, MaxID: orders[len(orders)-1].id}
	for i := range orders {
		t.AmountCents += orders[i].amount
	}
	return t, nil
}

// setupUser is whom the inner session acts as. Nobody can log in as this account, since it is locked.
const setupUser = "setup"

func newSession(ctx context.Context, engine *sqle.Engine, provider *memory.DbProvider) *session {
	client := sql.Client{User: setupUser, Address: "localhost"}
	base := sql.NewBaseSessionWithClientServer("", client, 0)
	return &session{engine: engine, ctx: sql.NewContext(ctx, sql.WithSession(memory.NewSession(base, provider)))}
}

// createAccount makes the reading account, which is then the only one that can log in. It comes last: an engine
// without accounts does not ask who is there.
func (s *session) createAccount(databases []string) error {
	accounts := s.engine.Analyzer.Catalog.MySQLDb
	accounts.SetPersister(&mysql_db.NoopPersister{})
	editor := accounts.Editor()
	accounts.AddLockedSuperUser(editor, setupUser, "localhost", "")
	editor.Close()
	statements := []string{fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", User, Password)}
	for _, db := range databases {
		statements = append(statements, fmt.Sprintf("GRANT SELECT ON %s.* TO '%s'@'%%'", db, User))
	}
	for _, statement := range statements {
		if err := s.exec(statement); err != nil {
			return err
		}
	}
	return nil
}
