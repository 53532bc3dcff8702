package mysql_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/bucket"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source/mysql"
)

// bucketed are columns of MySQL for the types whose buckets are known, and how a value is written for them.
func bucketed() map[string][2]string {
	const text, number = "'%s'", "%s"
	return map[string][2]string{
		"BOOLEAN": {"BIT(1)", number}, "TINYINT": {"TINYINT", number}, "SMALLINT": {"SMALLINT", number}, "INT": {"INT", number}, "BIGINT": {"BIGINT", number},
		"DECIMAL(9, 2)": {"DECIMAL(9,2)", number}, "DECIMAL(18, 4)": {"DECIMAL(18,4)", number}, "DECIMAL(19, 0)": {"DECIMAL(19,0)", number},
		"DECIMAL(38, 10)": {"DECIMAL(38,10)", number}, "VARCHAR(20)": {"VARCHAR(20) CHARACTER SET utf8mb4", text}, "STRING": {"VARCHAR(50) CHARACTER SET utf8mb4", text},
		"BYTES": {"VARBINARY(50)", "x'%s'"}, "DATE": {"DATE", text}, "TIMESTAMP(0)": {"DATETIME", text}, "TIMESTAMP(3)": {"DATETIME(3)", text}, "TIMESTAMP(6)": {"DATETIME(6)", text},
		"TIMESTAMP(3) WITH LOCAL TIME ZONE": {"TIMESTAMP(3) NULL", text}, "TIMESTAMP(6) WITH LOCAL TIME ZONE": {"TIMESTAMP(6) NULL", text},
	}
}

// TestBucketsOfServersValues: a value that was read from a server is in the bucket in which Paimon's own library puts it.
func TestBucketsOfServersValues(t *testing.T) {
	data, err := os.ReadFile("../../lake/bucket/testdata/bucket_hash.json")
	require.NoError(t, err)
	var vectors []struct {
		Types   []string       `json:"types"`
		Values  []*string      `json:"values"`
		Buckets map[string]int `json:"buckets"`
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	onAll(t, func(t *testing.T, s *shop) {
		seen := map[string]bool{}
		for _, v := range vectors {
			column, known := bucketed()[v.Types[0]]
			if len(v.Types) > 1 || !known {
				continue
			}
			value := "NULL"
			if v.Values[0] != nil {
				value = fmt.Sprintf(column[1], strings.TrimSuffix(strings.Replace(*v.Values[0], "T", " ", 1), "Z"))
			}
			if strings.HasPrefix(column[0], "TIMESTAMP") && (strings.HasPrefix(value, "'1969") || strings.HasPrefix(value, "'1970")) {
				continue // MySQL's begins a second later
			}
			kind, err := schema.ParseType(v.Types[0])
			require.NoError(t, err)
			s.exec(t, "DROP TABLE IF EXISTS h", "CREATE TABLE h (v "+column[0]+")", "SET time_zone = '+00:00'", "INSERT INTO h VALUES ("+value+")")
			r := readOf(t, s.table(t, "h", mysql.Policy{Types: map[string]schema.Type{"v": kind}}))
			require.Equal(t, v.Types[0], r.Outputs[0].Type.String())
			_, err = s.source.Read(t.Context(), r, each(func(b *row.Batch) error {
				for text, want := range v.Buckets {
					n, err := strconv.Atoi(text)
					require.NoError(t, err)
					require.Equal(t, want, bucket.Of([]schema.Type{kind}, []row.Value{b.Columns[0].Value(0)}, n), "%s %s among %d", v.Types[0], value, n)
				}
				seen[v.Types[0]] = true
				return nil
			}))
			require.NoError(t, err)
		}
		require.Len(t, seen, len(bucketed()))
	})
}
