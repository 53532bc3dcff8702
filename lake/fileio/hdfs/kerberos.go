package hdfs

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

// logIn gets credentials of Kerberos: by a principal's keys, or from a cache of tickets.
func logIn(c Config) (*krb.Client, error) {
	path := firstOf(c.Krb5, os.Getenv("KRB5_CONFIG"), "/etc/krb5.conf")
	conf, err := config.Load(path)
	if err != nil {
		return nil, fmt.Errorf("kerberos: %s (target.hdfs.krb5, KRB5_CONFIG): %w", path, err)
	}
	if c.Principal == "" {
		return fromCache(c, conf)
	}
	name, realm, ok := strings.Cut(c.Principal, "@")
	if !ok {
		realm = conf.LibDefaults.DefaultRealm
	}
	if realm == "" {
		return nil, fmt.Errorf("kerberos: the principal %s has no realm, and %s no default_realm", c.Principal, path)
	}
	keys, err := keytab.Load(c.Keytab)
	if err != nil {
		return nil, fmt.Errorf("kerberos: keytab %s: %w", c.Keytab, err)
	}
	client := krb.NewWithKeytab(name, realm, keys, conf, krb.DisablePAFXFAST(true))
	if err := client.Login(); err != nil {
		return nil, fmt.Errorf("kerberos: log in as %s@%s with %s: %w: %w", name, realm, c.Keytab, fs.ErrPermission, err)
	}
	return client, nil
}

// fromCache takes the tickets that kinit left.
func fromCache(c Config, conf *config.Config) (*krb.Client, error) {
	path := firstOf(c.CredentialCache, os.Getenv("KRB5CCNAME"), "/tmp/krb5cc_"+strconv.Itoa(os.Getuid()))
	path = strings.TrimPrefix(path, "FILE:")
	if kind, _, ok := strings.Cut(path, ":"); ok && !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("kerberos: credential cache %s: only files can be read, not %s: run kinit -c /path, or set target.hdfs.principal and keytab", path, kind)
	}
	cache, err := credentials.LoadCCache(path)
	if err != nil {
		return nil, fmt.Errorf("kerberos: credential cache %s: %w: run kinit, or set target.hdfs.principal and keytab: %w", path, fs.ErrPermission, err)
	}
	client, err := krb.NewFromCCache(cache, conf, krb.DisablePAFXFAST(true))
	if err != nil {
		return nil, fmt.Errorf("kerberos: credential cache %s: %w: run kinit again: %w", path, fs.ErrPermission, err)
	}
	return client, nil
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
