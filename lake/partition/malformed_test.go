package partition

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// The folder of a value that is no UTF-8 has the name that Java gives it. What is expected is what
// new String(bytes, UTF_8).getBytes(UTF_8) gives in JDK 17.
func TestMalformedText(t *testing.T) {
	const bad = "efbfbd"
	for text, want := range map[string]string{
		"fffe": bad + bad, "61fffe62": "61" + bad + bad + "62", "e282": bad, "e28241": bad + "41", "eda080": bad, "eda041": bad + "41",
		"eda0": bad, "f09080": bad, "f0908041": bad + "41", "f08080": bad + bad + bad, "c080": bad + bad, "f4908080": bad + bad + bad + bad,
		"e08080": bad + bad + bad, "ef41": bad + "41", "c3bc": "c3bc", "efbfbd": bad,
	} {
		b, err := hex.DecodeString(text)
		require.NoError(t, err)
		name, err := hex.DecodeString(want)
		require.NoError(t, err)
		for _, n := range []Naming{{Legacy: true}, {}} {
			path := Path([]string{"p"}, []schema.Type{schema.StringType()}, []row.Value{{B: b}}, n)
			require.Equal(t, "p="+string(name), path, text)
		}
		path := Path([]string{"p"}, []schema.Type{schema.BytesType()}, []row.Value{{B: b}}, Naming{})
		require.Equal(t, "p="+string(name), path, text)
	}
}
