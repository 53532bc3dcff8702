package hdfs

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/colinmarc/hdfs/v2"
	"github.com/colinmarc/hdfs/v2/hadoopconf"
)

// Config says how clusters are spoken to. The zero Config is what Hadoop's own configuration and the environment say.
type Config struct {
	// ConfDir is the folder of core-site.xml and hdfs-site.xml. Empty is HADOOP_CONF_DIR, else etc/hadoop below HADOOP_HOME; where
	// neither is set there is no configuration, and Hadoop's defaults hold.
	ConfDir string
	// User is who acts where the cluster has no Kerberos. Empty is HADOOP_USER_NAME, else the user of the process.
	User string
	// Principal is who acts where the cluster has Kerberos, such as etl@EXAMPLE.COM or etl/host@EXAMPLE.COM, with the keys in
	// the file Keytab. Empty is whoever the credential cache belongs to.
	Principal, Keytab string
	// CredentialCache is a file of tickets, as kinit leaves it. Empty is KRB5CCNAME, else /tmp/krb5cc_<uid>.
	CredentialCache string
	// Krb5 is the configuration file of Kerberos. Empty is KRB5_CONFIG, else /etc/krb5.conf.
	Krb5 string
	// Replication is the number of replicas of new files. 0 is what the configuration says, else what the name node does.
	Replication int
}

// namePort is the port of name nodes where none is said.
const namePort = "8020"

// site is a cluster's configuration.
type site struct {
	conf hadoopconf.HadoopConf
	dir  string // for people
	// umask takes bits from the modes of new files and folders.
	umask       fs.FileMode
	replication int
	blockSize   int64 // 0 is the name node's
}

// load reads Hadoop's configuration files.
func load(c Config) (*site, error) {
	s := &site{dir: c.ConfDir, umask: 0o022, replication: c.Replication}
	if s.dir == "" {
		s.dir = os.Getenv("HADOOP_CONF_DIR")
	}
	if home := os.Getenv("HADOOP_HOME"); s.dir == "" && home != "" {
		s.dir = filepath.Join(home, "etc", "hadoop")
	}
	if s.dir != "" {
		conf, err := hadoopconf.Load(s.dir)
		if err != nil {
			return nil, fmt.Errorf("configuration of Hadoop in %s: %w", s.dir, err)
		}
		if conf == nil {
			return nil, fmt.Errorf("configuration of Hadoop: %s holds neither core-site.xml nor hdfs-site.xml: set target.hdfs.conf_dir or HADOOP_CONF_DIR to the folder that does", s.dir)
		}
		s.conf = conf
	}
	return s, s.files()
}

// files reads the settings of new files.
func (s *site) files() error {
	if text := s.conf["fs.permissions.umask-mode"]; text != "" {
		bits, err := strconv.ParseUint(text, 8, 12)
		if err != nil || bits > 0o777 {
			return fmt.Errorf("fs.permissions.umask-mode in %s: %q is no octal umask such as 022", s.dir, text)
		}
		s.umask = fs.FileMode(bits)
	}
	if text := s.conf["dfs.replication"]; text != "" && s.replication == 0 {
		n, err := strconv.ParseUint(text, 10, 15)
		if err != nil || n == 0 {
			return fmt.Errorf("dfs.replication in %s: %q is no number of replicas", s.dir, text)
		}
		s.replication = int(n)
	}
	if text := s.conf["dfs.blocksize"]; text != "" {
		n, err := size(text)
		if err != nil {
			return fmt.Errorf("dfs.blocksize in %s: %w", s.dir, err)
		}
		s.blockSize = n
	}
	return nil
}

// size reads a size as Hadoop writes it: 134217728, 128m. Units are powers of 1024.
func size(text string) (int64, error) {
	digits, shift := text, 0
	if n := len(text) - 1; n > 0 {
		if unit := strings.IndexByte("kmgt", text[n]|0x20); unit >= 0 {
			digits, shift = text[:n], 10*(unit+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 63)
	if err != nil || n <= 0 || n > 1<<40>>shift {
		return 0, fmt.Errorf("%q is no size such as 134217728 or 128m", text)
	}
	return n << shift, nil
}

// nameNodes are the addresses of the name nodes of a URI's authority: a name service of the configuration, a host, or both
// with a port.
func (s *site) nameNodes(authority string) ([]string, error) {
	if _, _, err := net.SplitHostPort(authority); err == nil {
		return []string{authority}, nil
	}
	nodes := s.conf["dfs.ha.namenodes."+authority]
	if nodes == "" {
		if a := s.conf["dfs.namenode.rpc-address."+authority]; a != "" {
			return s.plain([]string{a})
		}
		return []string{net.JoinHostPort(strings.Trim(authority, "[]"), namePort)}, nil
	}
	var addresses []string
	for node := range strings.SplitSeq(nodes, ",") {
		key := "dfs.namenode.rpc-address." + authority + "." + strings.TrimSpace(node)
		if s.conf[key] == "" {
			return nil, fmt.Errorf("hdfs name service %s: %s has no %s", authority, s.dir, key)
		}
		addresses = append(addresses, s.conf[key])
	}
	return s.plain(addresses)
}

// plain refuses addresses that hold variables, which the library does not fill in.
func (s *site) plain(addresses []string) ([]string, error) {
	for _, a := range addresses {
		if _, _, err := net.SplitHostPort(a); err != nil || strings.Contains(a, "${") {
			return nil, fmt.Errorf("address of a name node in %s: %q is no host:port", s.dir, a)
		}
	}
	return addresses, nil
}

// options are the library's settings for a cluster, complete but for the credentials of Kerberos.
func (s *site) options(c Config, authority string) (hdfs.ClientOptions, error) {
	nodes, err := s.nameNodes(authority)
	if err != nil {
		return hdfs.ClientOptions{}, err
	}
	o := hdfs.ClientOptionsFromConf(s.conf)
	o.Addresses = nodes
	o.NamenodeDialFunc, o.DatanodeDialFunc = dial, dial
	if o.KerberosClient != nil {
		if o.KerberosServicePrincipleName == "" {
			return hdfs.ClientOptions{}, fmt.Errorf("%s asks for Kerberos (hadoop.security.authentication) and has no dfs.namenode.kerberos.principal", s.dir)
		}
		return o, nil
	}
	if c.Principal != "" {
		return hdfs.ClientOptions{}, fmt.Errorf("there is a principal, %s, and no configuration that asks for Kerberos: set target.hdfs.conf_dir or HADOOP_CONF_DIR to the folder of a core-site.xml with hadoop.security.authentication=kerberos", c.Principal)
	}
	o.User, err = c.user()
	return o, err
}

func (c Config) user() (string, error) {
	if c.User != "" {
		return c.User, nil
	}
	if name := os.Getenv("HADOOP_USER_NAME"); name != "" {
		return name, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", errors.Join(errors.New("this process has no user name: set target.hdfs.user or HADOOP_USER_NAME"), err)
	}
	return u.Username, nil
}
