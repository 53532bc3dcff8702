package moment

import (
	"context"
	"fmt"
	"strings"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/key"
)

// CheckEngines refuses shards that no transaction isolates: their rows change under a snapshot. otherwise is a setting without.
func CheckEngines(ctx context.Context, s Session, instance string, shards []source.Shard, otherwise string) error {
	const shown = 5
	wanted, databases := map[[2]string]bool{}, map[string]bool{}
	var names []string
	for _, shard := range shards {
		wanted[[2]string{shard.Database, shard.Table}] = true
		if !databases[shard.Database] {
			databases[shard.Database] = true
			names = append(names, key.QuoteText(shard.Database))
		}
	}
	rows, err := s.Query(ctx, "SELECT table_schema AS db, table_name AS name, engine AS engine FROM information_schema.tables WHERE table_schema IN ("+
		strings.Join(names, ", ")+") AND engine <> 'InnoDB'")
	if err != nil {
		return fmt.Errorf("look for the shards' engines: %w", err)
	}
	var wrong []string
	for _, r := range rows {
		if wanted[[2]string{r["db"], r["name"]}] {
			wrong = append(wrong, fmt.Sprintf("%s.%s (%s)", r["db"], r["name"], r["engine"]))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	more := ""
	if n := len(wrong) - shown; n > 0 {
		wrong, more = wrong[:shown], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%w: instance %q: %s%s: no snapshot holds their rows still: ALTER TABLE … ENGINE=InnoDB, exclude them, or set %s",
		source.ErrDenied, instance, strings.Join(wrong, ", "), more, otherwise)
}
