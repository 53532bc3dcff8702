package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestColumnsAsTheToolsSeeThem(t *testing.T) {
	columns := []Column{
		{"id", "bigint(20)"},
		{"big", "bigint(20) unsigned"},
		{"flag", "tinyint(1)"},
		{"money", "decimal(12,2)"},
		{"at", "datetime(6)"},
		{"day", "date"},
		{"long", "time(6)"},
		{"bits", "bit(8)"},
		{"set", "set('a,)','b')"},
		{"hash", "binary(16)"},
	}
	var types []string
	for _, c := range columns {
		flink, err := c.flinkType()
		require.NoError(t, err)
		types = append(types, flink)
	}
	require.Equal(t, []string{
		"BIGINT", "DECIMAL(20, 0)", "BOOLEAN", "DECIMAL(12,2)", "TIMESTAMP(6)", "DATE", "STRING", "BIGINT", "STRING", "BYTES",
	}, types)
	require.Equal(t, "CREATE OR REPLACE VIEW peers_t AS SELECT `id`, CAST(`long` AS CHAR(20)) AS `long`, `bits`+0 AS `bits` FROM t",
		View("t", []Column{columns[0], columns[6], columns[7]}))

	_, err := Column{"where", "geometry"}.flinkType()
	require.ErrorContains(t, err, "column where: no type of Flink is known for geometry")
}
