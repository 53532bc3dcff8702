package mapping_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
	"github.com/tributary-lake/tributary/source/mysql/mapping"
)

func column(text string) definition.Column {
	return definition.Column{Name: "C", Type: text, Charset: map[bool]string{true: "utf8mb4"}[text == "text" || text[0] == 'v']}
}

// TestExplicit has the types that columns may be given and those that would change values. MySQL's manual says how long
// TINYTEXT, TEXT and their kin are.
func TestExplicit(t *testing.T) {
	for _, c := range []struct {
		definition, asked string
		ok                bool
	}{
		{"int(11)", "BIGINT", true},
		{"int(11)", "SMALLINT", true}, // each value is looked at
		{"bigint(20) unsigned", "BIGINT", true},
		{"bigint(20) unsigned", "DECIMAL(38, 2)", true},
		{"bigint(20) unsigned", "DECIMAL(19, 0)", false},
		{"int(11)", "DECIMAL(9, 0)", false},
		{"int(11)", "STRING", true},
		{"int(11)", "VARCHAR(3)", false},
		{"int(11)", "DOUBLE", false},
		{"int(11)", "TIMESTAMP(3)", false},
		{"year(4)", "SMALLINT", true},
		{"tinyint(1)", "BOOLEAN", true},
		{"tinyint(3) unsigned", "BOOLEAN", false},
		{"int(11)", "BOOLEAN", false},
		{"decimal(65,30)", "DECIMAL(38, 18)", true},
		{"decimal(65,30)", "STRING", true},
		{"decimal(10,2)", "DECIMAL(12, 4)", true},
		{"decimal(10,2)", "DOUBLE", false},
		{"decimal(10,0)", "BIGINT", false},
		{"float", "DOUBLE", true},
		{"double", "FLOAT", false},
		{"varchar(10)", "VARCHAR(10)", true},
		{"varchar(11)", "VARCHAR(10)", false},
		{"varchar(10)", "CHAR(10)", false},
		{"char(10)", "CHAR(10)", true},
		{"char(10)", "VARCHAR(20)", true},
		{"tinytext", "VARCHAR(255)", true},
		{"tinytext", "VARCHAR(254)", false},
		{"longtext", "VARCHAR(65535)", false},
		{"text", "VARCHAR(65535)", true},
		{"text", "BYTES", false},
		{"binary(16)", "BINARY(16)", true},
		{"binary(16)", "BINARY(17)", false},
		{"varbinary(16)", "BINARY(16)", false},
		{"varbinary(16)", "VARBINARY(16)", true},
		{"blob", "VARBINARY(65535)", true},
		{"bit(9)", "BINARY(2)", true},
		{"bit(9)", "BINARY(1)", false},
		{"bit(1)", "VARBINARY(1)", false},
		{"time(6)", "TIME(6)", true},
		{"time(6)", "TIME(3)", true},
		{"time(3)", "TIME(6)", true},
		{"date", "TIMESTAMP(3)", false},
		{"datetime(3)", "TIMESTAMP(6)", true},
		{"datetime(6)", "TIMESTAMP(3)", false},
		{"datetime", "TIMESTAMP(0) WITH LOCAL TIME ZONE", false},
		{"timestamp", "TIMESTAMP(3) WITH LOCAL TIME ZONE", true},
		{"json", "VARCHAR(10)", false},
		{"enum('a')", "STRING", true},
		{"int(11)", "INT NOT NULL", false}, // it may be NULL
		{"spatial", "STRING", false},       // no such type
	} {
		asked, err := schema.ParseType(c.asked)
		require.NoError(t, err)
		def := column(c.definition)
		if c.definition == "enum('a')" {
			def.Charset = "utf8mb4"
		}
		got, loss := mapping.Policy{Types: map[string]schema.Type{"c": asked}}.Column(def)
		if !c.ok {
			require.True(t, loss != nil && loss.Refused, "%s as %s", c.definition, c.asked)
			require.Equal(t, "C", loss.Column)
			continue
		}
		require.Nil(t, loss, "%s as %s", c.definition, c.asked)
		require.Equal(t, asked.String(), got.Type.String())
	}
	notNull := column("int")
	notNull.NotNull = true
	got, loss := mapping.Policy{Types: map[string]schema.Type{"c": schema.Of(schema.BigInt).WithNotNull(true)}}.Column(notNull)
	require.Nil(t, loss)
	require.Equal(t, "BIGINT NOT NULL", got.Type.String())
}

// TestForms: bytes that are to be understood in different ways say so, and an explicit type of numbers is their own.
func TestForms(t *testing.T) {
	form := func(p mapping.Policy, text string) string {
		c, _ := p.Column(column(text))
		return c.Form
	}
	require.Equal(t, "WKB", form(mapping.Policy{}, "point"))
	require.Equal(t, form(mapping.Policy{}, "bit(9)"), form(mapping.Policy{}, "bit(16)"))
	require.NotEqual(t, form(mapping.Policy{}, "bit(8)"), form(mapping.Policy{}, "bit(9)"))
	require.Empty(t, form(mapping.Policy{}, "bit(1)"))
	require.Empty(t, form(mapping.Policy{}, "blob"))
	text := mapping.Policy{DecimalOverflow: mapping.DecimalString}
	require.Equal(t, source.FormDecimal, form(text, "decimal(65,30)"))
	require.Empty(t, form(text, "decimal(38,30)"))
	text.Types = map[string]schema.Type{"c": schema.StringType()}
	require.Equal(t, form(text, "decimal(65,30)"), form(text, "decimal(38,30)"))
}

func TestTimePolicy(t *testing.T) {
	c, loss := mapping.Policy{Time: mapping.TimeOfDay}.Column(column("time(3)"))
	require.Nil(t, loss)
	require.Equal(t, "TIME(3)", c.Type.String())
	c, _ = mapping.Policy{}.Column(column("time(3)"))
	require.Equal(t, "STRING", c.Type.String())
	require.NoError(t, mapping.Policy{Time: mapping.TimeOfDay}.Validate())
	require.ErrorIs(t, mapping.Policy{Time: "clock"}.Validate(), source.ErrDenied)
}
