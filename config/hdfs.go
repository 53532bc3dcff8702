package config

import "reflect"

// HDFS says how stores under hdfs:// are spoken to. Where it is empty, Hadoop's own configuration and the environment decide, as
// with Hadoop's own tools.
type HDFS struct {
	ConfDir         string `key:"conf_dir" rule:"text" doc:"Folder of Hadoop's core-site.xml and hdfs-site.xml, read by the worker. Without it HADOOP_CONF_DIR where the worker runs, else etc/hadoop below HADOOP_HOME; without those Hadoop's defaults hold."`
	User            string `key:"user" rule:"text" doc:"Who acts where the cluster has no Kerberos. Without it HADOOP_USER_NAME where the worker runs, else the worker's user."`
	Principal       string `key:"principal" rule:"text" doc:"Who acts where the cluster has Kerberos, such as etl@EXAMPLE.COM. Without it whoever the credential cache belongs to."`
	Keytab          string `key:"keytab" rule:"text" doc:"File with the principal's keys, read by the worker."`
	CredentialCache string `key:"credential_cache" rule:"text" doc:"File of tickets as kinit leaves it, read by the worker. Without it KRB5CCNAME, else /tmp/krb5cc_<uid>."`
	Krb5            string `key:"krb5" rule:"text" doc:"Kerberos's configuration file where the worker runs. Without it KRB5_CONFIG, else /etc/krb5.conf."`
	Replication     int    `key:"replication" default:"0" min:"0" max:"512" doc:"Replicas of new files. 0 is what Hadoop's configuration says."`
}

// checkHDFS refuses settings that do not go together.
func (b *binder) checkHDFS(h HDFS) {
	const path = "target.hdfs"
	switch {
	case h.Principal != "" && h.Keytab == "":
		b.fault(path+".principal", "a principal needs its keys", "add keytab, or use a credential cache without principal")
	case h.Principal == "" && h.Keytab != "":
		b.fault(path+".keytab", "keys belong to a principal", "add principal")
	}
	if h.Principal != "" && h.CredentialCache != "" {
		b.fault(path+".credential_cache", "there is a principal with its keys already", "keep the keys or the cache")
	}
	if h.User != "" && (h.Principal != "" || h.CredentialCache != "") {
		b.fault(path+".user", "with Kerberos the principal acts", "remove user")
	}
}

// MarshalJSON writes all settings.
func (h HDFS) MarshalJSON() ([]byte, error) { return appendValue(nil, reflect.ValueOf(h)), nil }

// ParseHDFS reads what MarshalJSON wrote. The error is Problems.
func ParseHDFS(data []byte) (HDFS, error) { return parsePart[HDFS](data) }
