package flink

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// flinkMakes has Flink create a key table with these options.
func (b bed) flinkMakes(t *testing.T, name, options string) *table {
	t.Helper()
	definition := ""
	for _, c := range columns() {
		definition += fmt.Sprintf("`%s` %s, ", c[0], c[1])
	}
	b.flink.run(t, "CREATE DATABASE IF NOT EXISTS f")
	b.flink.run(t, fmt.Sprintf("CREATE TABLE f.%s (%sPRIMARY KEY (id) NOT ENFORCED) WITH (%s)", name, definition, options))
	return openTable(t, b.store, name)
}

// Flink makes a table, and alters it while lake writes to it.
func (b bed) flinkMakesAndAlters(t *testing.T) {
	table := b.flinkMakes(t, "altered", "'bucket' = '2'")
	table.write(t, inserts(0, 10, "of schema 0")...)
	table.flinkReads(t, b.flink)

	b.flink.run(t, "ALTER TABLE f.altered RENAME `text` TO note")
	b.flink.run(t, "ALTER TABLE f.altered ADD extra INT AFTER id")
	b.flink.run(t, "ALTER TABLE f.altered MODIFY weight DECIMAL(12, 3)")
	for _, r := range table.rows {
		r["note"], r["extra"] = r["text"], nil
		delete(r, "text")
	}
	table.reload(t)
	require.EqualValues(t, 3, table.Schema().ID)
	table.weRead(t)
	table.flinkReads(t, b.flink)

	added := inserts(8, 6, "")
	for i, c := range added {
		c.record["note"], c.record["extra"], c.record["weight"] = "of schema 3", strconv.Itoa(i), "123456789.125"
		delete(c.record, "text")
	}
	table.write(t, added...)
	b.flink.run(t, "UPDATE f.altered SET note = 'updated' WHERE extra = 1")
	added[1].record["note"] = "updated"
	b.flink.run(t, "DELETE FROM f.altered WHERE id IN (3, 12)")
	delete(table.rows, "3")
	delete(table.rows, "12")
	table.weRead(t)
	table.flinkReads(t, b.flink)
}

// flinksOwn are options of key tables that lake reads and maintains and does not write, by a name for the table.
func flinksOwn() map[string]string {
	return map[string]string{
		"deletion_vectors": "'bucket' = '2', 'deletion-vectors.enabled' = 'true'",
		"dynamic_bucket":   "'bucket' = '-1'",
		"changelog":        "'bucket' = '2', 'changelog-producer' = 'lookup'",
	}
}

// lakeCleansFlinksOwn has lake read what Flink alone writes, and take no file away that Flink still needs.
func (b bed) lakeCleansFlinksOwn(t *testing.T, name, options string) {
	source := createTable(t, b.store, "source_of_"+name, schema.Spec{})
	source.write(t, inserts(0, 30, "")...)
	table := b.flinkMakes(t, name, options)
	var names []string
	for _, c := range columns()[3:] {
		names = append(names, "`"+c[0]+"`")
	}
	rest := strings.Join(names, ", ")
	insert := func(from, to int, text string) {
		b.flink.run(t, fmt.Sprintf("INSERT INTO %s SELECT id, `day`, '%s', %s FROM %s WHERE id BETWEEN %d AND %d",
			table.name, text, rest, source.name, from, to))
		for id := from; id <= to; id++ {
			r := recordOf(id, "")
			r["text"] = text
			table.expect(change{row.Insert, r})
		}
		table.weRead(t)
	}
	insert(0, 19, "first")
	insert(10, 29, "second")
	b.flink.run(t, "DELETE FROM "+table.name+" WHERE id IN (5, 15)")
	delete(table.rows, "5")
	delete(table.rows, "15")
	table.weRead(t)

	// Deletion vectors and dynamic buckets have index files, which must stay too.
	require.Equal(t, name != "changelog", table.latest(t).IndexManifest != "")
	b.lakeCleans(t, table)
	insert(12, 22, "third")
	b.flink.run(t, "CALL sys.compact(`table` => '"+table.name+"', compact_strategy => 'full')")
	table.weRead(t)
	b.lakeCleans(t, table)
	before := b.onDisk(t, table)
	b.flinkCleans(t, table)
	require.Equal(t, before, b.onDisk(t, table))
}
