package definition

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParse takes apart column types as servers print them.
func TestParse(t *testing.T) {
	for text, want := range map[string]Type{
		"int":                             {Base: "int"},
		"int(10) unsigned":                {Base: "int", Args: []int{10}, Unsigned: true},
		"bigint(20) unsigned zerofill":    {Base: "bigint", Args: []int{20}, Unsigned: true},
		"decimal(12,2) unsigned not null": {Base: "decimal", Args: []int{12, 2}, Unsigned: true},
		"datetime(6)":                     {Base: "datetime", Args: []int{6}},
		"varchar(10) character set utf8":  {Base: "varchar", Args: []int{10}},
		"enum('unsigned','a(1)')":         {Base: "enum", Binary: true},
		"enum(' character set x')":        {Base: "enum", Binary: true},
		"set('a','b') character set utf8": {Base: "set"},
		"POINT":                           {Base: "point"},
	} {
		require.Equal(t, want, Parse(text), text)
	}
	d := Parse("decimal(12,2)")
	require.Equal(t, []int{12, 2, 7}, []int{d.Arg(0, 10), d.Arg(1, 0), d.Arg(2, 7)})
	require.True(t, Parse("mediumint(9)").Integer())
	require.False(t, Parse("year(4)").Integer())
}

// TestDefinition writes what decides how values are read, and no more.
func TestDefinition(t *testing.T) {
	for want, c := range map[string]Column{
		"int(11)": {Name: "a", Type: "int(11)", Extra: "auto_increment", Comment: "text"},
		"varchar(9) character set latin1 not null": {Type: "varchar(9)", Charset: "latin1", NotNull: true},
		"enum('a')":           {Type: "enum('a')", Charset: "binary"},
		"int virtual":         {Type: "int", Extra: "VIRTUAL GENERATED"},
		"int not null stored": {Type: "int", Extra: "STORED GENERATED", NotNull: true},
		"bigint(20) stored":   {Type: "bigint(20)", Extra: "PERSISTENT"},
		"timestamp":           {Type: "timestamp", Extra: "DEFAULT_GENERATED on update CURRENT_TIMESTAMP"},
	} {
		require.Equal(t, want, c.Definition())
	}
}
