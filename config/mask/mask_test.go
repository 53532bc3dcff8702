package mask

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShortSecretsDoNotGarble hides what stands as a value and leaves words as they are: a message full of stars would tell the
// secret.
func TestShortSecretsDoNotGarble(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{"a", `access denied for user 'sync'@'10.0.0.1': a lock was taken`, `access denied for user 'sync'@'10.0.0.1': a lock was taken`},
		{"a", `dial sync:a@tcp(db:3306)/`, `dial sync:***@tcp(db:3306)/`},
		{"a", `password=a`, `password=***`},
		{"a", `password=a user=a`, `password=*** user=***`},
		{"a", `{"password":"a"}`, `{"password":"***"}`},
		{"a", `password='a', more`, `password='***', more`},
		{"1", `table shop_1.orders_1 has 1 row: column "v1" is int(11)`, `table shop_1.orders_1 has 1 row: column "v1" is int(11)`},
		{"é", `password=é`, `password=***`},
		{"root", `access denied for root with root: rooted, uproot, root_1, root-1`, `access denied for *** with ***: rooted, uproot, root_1, ***-1`},
		{"pa/ss", `https://x:pa%2Fss@h`, `https://x:***@h`},
		{"!x!", `password=!x!`, `password=***`},
		{"secret12", `mysecret12x`, `my***x`},
		{"", `nothing`, `nothing`},
	} {
		require.Equal(t, c.want, Of([]string{c.secret}).Hide(c.text), "%q in %q", c.secret, c.text)
	}
	require.Equal(t, "*** ***", Of([]string{"secret-one", "secret-one-and-more"}).Hide("secret-one-and-more secret-one"))
	require.Equal(t, "text", (*Set)(nil).Hide("text"))
}
