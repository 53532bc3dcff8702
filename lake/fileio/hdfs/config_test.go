package hdfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// confDir writes Hadoop's two files, with these properties in hdfs-site.xml.
func confDir(t *testing.T, properties ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := "<?xml version=\"1.0\"?>\n<configuration>\n"
	for i := 0; i < len(properties); i += 2 {
		text += "<property><name>" + properties[i] + "</name><value>" + properties[i+1] + "</value></property>\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte("<configuration/>"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hdfs-site.xml"), []byte(text+"</configuration>\n"), 0o600))
	return dir
}

func TestHadoopsConfiguration(t *testing.T) {
	t.Setenv("HADOOP_USER_NAME", "somebody")
	c, err := NewClient(Config{ConfDir: confDir(t, "dfs.ha.namenodes.lake", "a, b", "dfs.namenode.rpc-address.lake.a", "h1:9000",
		"dfs.namenode.rpc-address.lake.b", "h2:9000", "dfs.namenode.rpc-address.other", "h3:9000", "dfs.replication", "2",
		"dfs.blocksize", "64m", "fs.permissions.umask-mode", "027", "dfs.client.use.datanode.hostname", "true")})
	require.NoError(t, err)
	for uri, want := range map[string][]string{
		"hdfs://lake/w":      {"h1:9000", "h2:9000"},
		"hdfs://other":       {"h3:9000"},
		"hdfs://host/w":      {"host:8020"},
		"hdfs://host:1234/w": {"host:1234"},
		"hdfs://[::1]/w":     {"[::1]:8020"},
	} {
		s, err := c.Store(uri)
		require.NoError(t, err, uri)
		require.Equal(t, want, s.cluster.options.Addresses, uri)
		require.Equal(t, "somebody", s.cluster.options.User)
		require.True(t, s.cluster.options.UseDatanodeHostname)
	}
	require.Equal(t, site{conf: c.site.conf, dir: c.site.dir, umask: 0o027, replication: 2, blockSize: 64 << 20}, *c.site)
	for _, uri := range []string{"hdfs:///w", "hdfs://u@h/w", "s3://b/w", "hdfs://h/../w"} {
		_, err := c.Store(uri)
		require.Error(t, err, uri)
	}
}

func TestWrongConfiguration(t *testing.T) {
	empty := t.TempDir()
	for want, c := range map[string]Config{
		"holds neither core-site.xml nor hdfs-site.xml":                     {ConfDir: empty},
		`dfs.blocksize in `:                                                 {ConfDir: confDir(t, "dfs.blocksize", "much")},
		`"u=rwx,g=rx,o=" is no octal umask`:                                 {ConfDir: confDir(t, "fs.permissions.umask-mode", "u=rwx,g=rx,o=")},
		`dfs.replication in `:                                               {ConfDir: confDir(t, "dfs.replication", "-1")},
		"has no dfs.namenode.rpc-address.lake.a":                            {ConfDir: confDir(t, "dfs.ha.namenodes.lake", "a,b")},
		`"${host}:1" is no host:port`:                                       {ConfDir: confDir(t, "dfs.ha.namenodes.lake", "a", "dfs.namenode.rpc-address.lake.a", "${host}:1")},
		"has no dfs.namenode.kerberos.principal":                            {ConfDir: confDir(t, "hadoop.security.authentication", "kerberos")},
		"there is a principal, p@R, and no configuration that asks for Ker": {Principal: "p@R", Keytab: "k"},
	} {
		client, err := NewClient(c)
		if err == nil {
			_, err = client.Store("hdfs://lake/w")
		}
		require.ErrorContains(t, err, want)
	}
}

// Without a key distribution centre a log-in fails with the file that is wrong, before anything is sent.
func TestKerberosSaysWhatIsMissing(t *testing.T) {
	t.Setenv("KRB5CCNAME", "")
	dir := t.TempDir()
	krb5 := filepath.Join(dir, "krb5.conf")
	require.NoError(t, os.WriteFile(krb5, []byte("[libdefaults]\n default_realm = EXAMPLE.COM\n[realms]\n EXAMPLE.COM = {\n  kdc = 127.0.0.1:1\n }\n"), 0o600))
	for want, c := range map[string]Config{
		"kerberos: " + dir + "/none (target.hdfs.krb5": {Krb5: dir + "/none"},
		"kerberos: keytab " + dir + "/none":            {Krb5: krb5, Principal: "etl", Keytab: dir + "/none"},
		"kerberos: credential cache " + dir + "/none":  {Krb5: krb5, CredentialCache: dir + "/none"},
		"only files can be read, not KEYRING":          {Krb5: krb5, CredentialCache: "KEYRING:persistent:0"},
	} {
		_, err := logIn(c)
		require.ErrorContains(t, err, want)
	}
}

// The way to the name node that the library keeps to itself is where it was in the release that go.mod pins, and a library of
// another inside is refused.
func TestLibraryIsTheOneThatIsKnown(t *testing.T) {
	for _, f := range []func() error{
		func() error { _, err := renameRequest("/a", "/b", false); return err },
		func() error { _, err := listRequest("/", nil); return err },
		func() error { _, err := statRequest("/"); return err },
	} {
		require.NoError(t, f())
	}
	_, err := message("hadoop.hdfs.Rename3RequestProto", nil)
	require.ErrorIs(t, err, errLibrary)
	require.False(t, transient(err))
	require.True(t, transient(errors.New("connection reset")))
}
