package app

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// Columns that hold parts of names, one of them the partition, and zero dates by column, on every server: as Paimon's own
// library reads them, also when the shards differ and when the target has a wider type by then.
func TestPartsOfNamesAndZeroDatesByColumn(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			m := testenv.Shared(t, f)
			database, warehouse := m.NewDatabase(t), t.TempDir()
			m.Exec(t, "USE "+database, "SET sql_mode=''",
				"CREATE TABLE d_eu_07 (id INT PRIMARY KEY, born DATE NOT NULL, paid DATETIME(3), seen DATE)",
				"INSERT INTO d_eu_07 VALUES (1, '0000-00-00', '0000-00-00', '2024-02-29'), (2, '2001-02-03', '2001-02-03 04:05:06.007', NULL)",
				"CREATE TABLE d_us_12 (seen DATE, paid DATETIME(3), born DATE NOT NULL, id BIGINT PRIMARY KEY, more INT)",
				"INSERT INTO d_us_12 VALUES ('1970-01-01', '2024-00-10', '2023-02-31', 5000000000, 9)")
			table := func(number, more string) string {
				return fmt.Sprintf(`"types": {"zero_date_columns": {"BORN": "epoch", "paid": null}},
					"provenance": {"columns": [{"name": "region", "pattern": "d_(?P<region>[a-z]+)_([0-9]+)"}, {"name": "number", "pattern": "d_[a-z]+_([0-9]+)", "type": %q}%s]},
					"target": {"database": "ods", "partition": ["region"]}`, number, more)
			}
			_, err := runJob(t, driftJob(m, database, warehouse, table("TINYINT", "")), "r1")
			require.NoError(t, err)
			referee := testenv.Referee(t)
			want := []string{
				`{"id":"1","born":"1970-01-01","paid":null,"seen":"2024-02-29","more":null,"region":"eu","number":"7"}`,
				`{"id":"2","born":"2001-02-03","paid":"2001-02-03T04:05:06.007","seen":null,"more":null,"region":"eu","number":"7"}`,
				`{"id":"5000000000","born":"1970-01-01","paid":null,"seen":"1970-01-01","more":"9","region":"us","number":"12"}`,
			}
			require.ElementsMatch(t, want, referee.Read(t, warehouse, "ods.d", 0))
			if f == testenv.FlavorMariaDB {
				// The target has the widest type by then, and the shards give a narrower one.
				for i, number := range []string{"BIGINT", "SMALLINT"} {
					_, err = runJob(t, driftJob(m, database, warehouse, table(number, "")), fmt.Sprintf("r%d", 2+i))
					require.NoError(t, err)
					require.ElementsMatch(t, want, referee.Read(t, warehouse, "ods.d", 0))
				}
			}
			for columns, says := range map[string]string{
				table("TINYINT", `, {"name": "x", "from": "table", "pattern": "(d)_eu_.*"}`): `a/` + database + `/d_us_12: table "d_us_12" does not match`,
				`"types": {"zero_date_columns": {"more": "epoch"}}`:                          `types.zero_date_columns names "more", which is no DATE`,
				`"types": {"zero_date_columns": {"bron": "epoch"}}`:                          `types.zero_date_columns names "bron", which is no DATE`,
			} {
				_, err = runJob(t, driftJob(m, database, t.TempDir(), columns), "refused")
				require.ErrorIs(t, err, activities.ErrPlanRefused)
				require.ErrorContains(t, err, says)
			}
		})
	}
}
