package definition

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Servers of other versions print the same column in other words; everything else is another column.
func TestAlike(t *testing.T) {
	for _, c := range [][2]string{
		{"int(11)", "int"},
		{"bigint(20) unsigned not null", "bigint unsigned not null"},
		{"year(4)", "year"},
		{"int(5) unsigned zerofill", "int(10) unsigned zerofill"},
		{"varchar(9) character set utf8", "varchar(9) character set utf8mb3"},
		{"text character set utf8 not null", "text character set utf8mb3 not null"},
	} {
		require.True(t, Alike(c[0], c[1]), c)
	}
	for _, c := range [][2]string{
		{"varchar(20)", "varchar(30)"},
		{"char(3)", "varchar(3)"},
		{"int(11)", "int unsigned"},
		{"int", "int not null"},
		{"tinyint(1)", "tinyint(4)"},
		{"decimal(10,2)", "decimal(10,3)"},
		{"varchar(9) character set utf8", "varchar(9) character set utf8mb4"},
		{"varchar(9) character set latin1", "varchar(9) character set utf8"},
		{"enum('a','b') character set utf8", "enum('b','a') character set utf8"},
		{"enum(' character set utf8 ')", "enum(' character set utf8mb3 ')"},
		{"int virtual", "int"},
		{"datetime", "datetime(3)"},
		{"text", "mediumtext"},
	} {
		require.False(t, Alike(c[0], c[1]), c)
	}
}
