package starrocks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/sink"
	"github.com/tributary-lake/tributary/sink/starrocks/ddl"
	"github.com/tributary-lake/tributary/sink/swap"
)

// Refresh replaces a table as a whole: the run's rows go into a stage, a table of its own, which takes the target's place in one
// SWAP. It speaks to the query port. Nobody else may refresh the same table at the same time.
//
// Rights and materialized views belong to the table and not to its name: they go with the old one.
type Refresh struct {
	// DB is the query port.
	DB     *sql.DB
	Target sink.Table
	// Run is the run's id.
	Run string
	// Client lends its patience and pauses.
	Client *Client
}

// Stage is the table that the rows go into until [Refresh.Finish].
func (r *Refresh) Stage() sink.Table { return r.name(stageName, 0) }

const (
	stageName   = "s"
	retiredName = "o"
)

// prefix begins the names of the run's tables, in the target's database, as SWAP needs it.
func (r *Refresh) prefix() string {
	label := Label(r.Target.String(), r.Run)
	return "_tributary_" + label[len(label)-20:] + "_"
}

func (r *Refresh) name(kind string, generation int) sink.Table {
	return sink.Table{Database: r.Target.Database, Name: r.prefix() + kind + strconv.Itoa(generation)}
}

// mark is what the stage's comment ends with, wherever it is named.
func (r *Refresh) mark() string { return "[tributary " + r.Run + "]" }

// Begin makes the target, empty, unless it is there, and the stage beside it. The definition's name is not used.
func (r *Refresh) Begin(ctx context.Context, definition ddl.Table) error {
	definition.Table = r.Target
	if err := r.create(ctx, definition); err != nil {
		return err
	}
	definition.Table = r.Stage()
	definition.Comment = strings.TrimSpace(definition.Comment + " " + r.mark())
	return r.create(ctx, definition)
}

func (r *Refresh) create(ctx context.Context, t ddl.Table) error {
	text, err := t.Create()
	if err != nil {
		return fmt.Errorf("%w: %w", sink.ErrRefused, err)
	}
	if _, err := r.DB.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("create table %s: %w", t.Table, err)
	}
	return nil
}

// Finish puts the stage in the target's place. The run must be decided to commit, and every row be in the stage. It may be called
// again and by anybody: after every statement, answered or not, it looks at what is there.
func (r *Refresh) Finish(ctx context.Context) error {
	var last error
	for w := r.Client.waits(); ; {
		sight, err := r.look(ctx)
		if err == nil {
			step := swap.Next(sight)
			switch step {
			case swap.Done:
				return nil
			case swap.Lost:
				// A listing while names are exchanged may miss a table.
				err = fmt.Errorf("%w: neither %s nor a table %s… has the run's rows: somebody else has replaced or dropped them", sink.ErrUnknown, r.Target, r.prefix())
			default:
				if _, err = r.DB.ExecContext(ctx, r.statement(step, sight)); err == nil {
					continue
				}
			}
		}
		last = err
		if !w.pause(ctx) {
			return fmt.Errorf("put the rows in the place of %s: %w", r.Target, errors.Join(last, ctx.Err()))
		}
	}
}

// statement is the SQL of a step.
func (r *Refresh) statement(step swap.Step, s swap.Sight) string {
	stage, retired := r.name(stageName, s.Stage.Generation), r.name(retiredName, s.Retired.Generation)
	switch step {
	case swap.Swap:
		return fmt.Sprintf("ALTER TABLE %s SWAP WITH %s", quote(r.Target), ddl.Name(stage.Name))
	case swap.Retire:
		return fmt.Sprintf("ALTER TABLE %s RENAME %s", quote(stage), ddl.Name(r.name(retiredName, s.Stage.Generation).Name))
	case swap.Restage:
		return fmt.Sprintf("ALTER TABLE %s RENAME %s", quote(retired), ddl.Name(r.name(stageName, s.Retired.Generation+1).Name))
	case swap.Drop:
		return fmt.Sprintf("DROP TABLE IF EXISTS %s FORCE", quote(retired))
	case swap.Done, swap.Lost:
	}
	panic(fmt.Sprintf("starrocks: step %d is no statement", step))
}

func quote(t sink.Table) string { return ddl.Name(t.Database) + "." + ddl.Name(t.Name) }

// look lists the target and the run's tables.
func (r *Refresh) look(ctx context.Context) (swap.Sight, error) {
	var s swap.Sight
	err := r.tables(ctx, func(name string, marked bool) {
		if name == r.Target.Name {
			s.Target = marked
			return
		}
		kind, generation, ok := r.own(name)
		if !ok {
			return
		}
		found := swap.Found{There: true, Generation: generation, Marked: marked}
		switch {
		case kind == stageName && (!s.Stage.There || generation > s.Stage.Generation):
			s.Stage = found
		case kind == retiredName && (!s.Retired.There || generation > s.Retired.Generation):
			s.Retired = found
		}
	})
	return s, err
}

// own takes the name of one of the run's tables apart.
func (r *Refresh) own(name string) (kind string, generation int, ok bool) {
	rest, ok := strings.CutPrefix(name, r.prefix())
	if !ok || len(rest) < 2 {
		return "", 0, false
	}
	n, err := strconv.Atoi(rest[1:])
	return rest[:1], n, err == nil && n >= 0 && (rest[:1] == stageName || rest[:1] == retiredName)
}

func (r *Refresh) tables(ctx context.Context, each func(name string, marked bool)) error {
	rows, err := r.DB.QueryContext(ctx, "SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.tables WHERE TABLE_SCHEMA = "+ddl.Text(r.Target.Database))
	if err != nil {
		return fmt.Errorf("list the tables of %s: %w", r.Target.Database, err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var comment sql.NullString
		if err := rows.Scan(&name, &comment); err != nil {
			return fmt.Errorf("list the tables of %s: %w", r.Target.Database, err)
		}
		each(name, strings.HasSuffix(comment.String, r.mark()))
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list the tables of %s: %w", r.Target.Database, err)
	}
	return nil
}

// Discard drops the stage of a run that is decided to be rolled back, and with it what is open or prepared for it.
func (r *Refresh) Discard(ctx context.Context) error {
	var names []string
	err := r.tables(ctx, func(name string, _ bool) {
		if _, _, ok := r.own(name); ok {
			names = append(names, name)
		}
	})
	if err != nil {
		return err
	}
	for _, n := range names {
		t := sink.Table{Database: r.Target.Database, Name: n}
		if _, err := r.DB.ExecContext(ctx, "DROP TABLE IF EXISTS "+quote(t)+" FORCE"); err != nil {
			return fmt.Errorf("drop %s: %w", t, err)
		}
	}
	return nil
}

// Rows counts the rows of the stage: what every reader will see once [Refresh.Finish] is through.
func (r *Refresh) Rows(ctx context.Context) (int64, error) {
	var n int64
	if err := r.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+quote(r.Stage())).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the rows of %s: %w", r.Stage(), err)
	}
	return n, nil
}
