package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/config/document"
)

// fault reports a problem of a value that was bound, at its own place or its nearest parent's.
func (b *binder) fault(path, message, hint string) {
	at := document.Place{Path: path}
	for where := path; ; {
		if n, ok := b.at[where]; ok {
			b.problem(n, at, message, hint)
			return
		}
		cut := strings.LastIndexAny(where, ".[")
		if cut < 0 {
			b.problem(&document.Node{Line: 1, Column: 1}, at, message, hint)
			return
		}
		where = where[:cut]
	}
}

// unique reports a value that an earlier one already has. Empty values were reported before.
func (b *binder) unique(seen map[string]string, value, path, what string) {
	if value == "" {
		return
	}
	if first, twice := seen[value]; twice {
		b.fault(path, fmt.Sprintf("%s %q is already at %s", what, value, first), "")
		return
	}
	seen[value] = path
}

// checkJob makes the checks that need more than one value.
func (b *binder) checkJob(job *Job) {
	b.checkInstances(job.Source.Instances)
	names, targets := map[string]string{}, map[string]string{}
	for i := range job.Tables {
		table, path := &job.Tables[i], fmt.Sprintf("tables[%d]", i)
		b.unique(names, table.Name, path+".name", "the table name")
		if table.Name == "job.json" {
			b.fault(path+".name", "the name job.json is taken by the run's own file", "choose another")
		}
		if table.Target.Database != "" && table.Target.Table != "" {
			b.unique(targets, table.Target.Database+"."+table.Target.Table, path+".target", "the target")
		}
		b.checkColumns(table, path)
		if incremental := table.Mode == Incremental; incremental != (table.Watermark.Column != "") {
			b.fault(path+".watermark", fmt.Sprintf("mode %s and watermark do not belong together", table.Mode), "give mode: incremental a watermark: {column}, and no other mode one")
		}
	}
	b.checkTarget(job.Target)
}

func (b *binder) checkInstances(instances []Instance) {
	names, addresses := map[string]string{}, map[string]string{}
	for i := range instances {
		instance, path := &instances[i], fmt.Sprintf("source.instances[%d]", i)
		b.unique(names, instance.Name, path+".name", "the instance name")
		if host, port := instance.Server(); host != "" && port != 0 {
			address, at := fmt.Sprintf("%s:%d", strings.ToLower(host), port), path+".host"
			if host == instance.Replica.Host && instance.Replica.Read {
				at = path + ".replica.host"
			}
			if first, twice := addresses[address]; twice {
				b.fault(at, fmt.Sprintf("the server %s is already at %s", address, first),
					"an instance is one server: list all its databases there, else rows could be read twice")
			} else {
				addresses[address] = path
			}
		}
		b.checkTLS(instance.TLS, path+".tls")
	}
}

func (b *binder) checkTLS(tls TLS, path string) {
	verifies := tls.Mode == TLSVerifyCA || tls.Mode == TLSVerifyIdentity
	if tls.CA != "" && !verifies {
		b.fault(path+".ca", fmt.Sprintf("mode %s does not check the server's certificate", tls.Mode), "use verify-ca or verify-identity, or remove ca")
	}
	if tls.Mode == TLSDisabled && (tls.Cert != "" || tls.Key != "") {
		b.fault(path+".mode", "the connection is not encrypted, but there is a client certificate", "choose another mode, or remove cert and key")
	}
	switch {
	case tls.Cert != "" && tls.Key == "":
		b.fault(path+".cert", "a client certificate needs its key", "add key")
	case tls.Key != "" && tls.Cert == "":
		b.fault(path+".key", "a key needs its client certificate", "add cert")
	}
}

// checkColumns refuses two columns with one name in the target, and partition columns that are not read. Which columns
// a shard has is known only to the plan.
func (b *binder) checkColumns(table *Table, path string) {
	seen := map[string]string{}
	for i := range table.Columns {
		b.unique(seen, table.Columns[i].Target(), fmt.Sprintf("%s.columns[%d]", path, i), "the column")
	}
	for _, name := range []struct{ key, value string }{
		{"instance", table.Provenance.Instance}, {"database", table.Provenance.Database}, {"table", table.Provenance.Table},
	} {
		b.unique(seen, name.value, path+".provenance."+name.key, "the column")
	}
	for i, c := range table.Provenance.Columns {
		at := fmt.Sprintf("%s.provenance.columns[%d]", path, i)
		b.unique(seen, c.Name, at+".name", "the column")
		if message, hint := c.fault(); c.Pattern != "" && message != "" {
			b.fault(at+".pattern", message, hint)
		}
	}
	partitions := map[string]string{}
	for i, name := range table.Target.Partition {
		at := fmt.Sprintf("%s.target.partition[%d]", path, i)
		b.unique(partitions, name, at, "the partition column")
		if _, read := seen[name]; !read && len(table.Columns) > 0 && name != "" {
			b.fault(at, fmt.Sprintf("%q is not among the columns", name), "add it to columns")
		}
	}
	if text, set := table.Target.Options["bucket"]; set && text != strconv.Itoa(table.Target.Bucket) {
		b.fault(path+".target.options.bucket", fmt.Sprintf("%q is not target.bucket, which is %d", text, table.Target.Bucket), "set target.bucket and remove the option")
	}
	b.checkKey(table, path, seen)
}

// checkKey refuses keys whose columns are not read and partitions that are no part of the key.
func (b *binder) checkKey(table *Table, path string, columns map[string]string) {
	keys := map[string]string{}
	for i, name := range table.PrimaryKey {
		at := fmt.Sprintf("%s.primary_key[%d]", path, i)
		b.unique(keys, name, at, "the key column")
		if _, read := columns[name]; !read && len(table.Columns) > 0 && name != "" {
			b.fault(at, fmt.Sprintf("%q is not among the columns", name), "add it to columns")
		}
	}
	if len(keys) == 0 {
		return
	}
	if _, set := table.Target.Options["primary-key"]; set {
		b.fault(path+".target.options.primary-key", "the key is at primary_key already", "remove the option")
	}
	for i, name := range table.Target.Partition {
		if _, in := keys[name]; !in && name != "" {
			b.fault(fmt.Sprintf("%s.target.partition[%d]", path, i), fmt.Sprintf("%q is not in primary_key", name),
				"add it there: rows of one key must not lie in two partitions")
		}
	}
}

func (b *binder) checkTarget(target Target) {
	if n := b.at["target"]; n == nil || n.Kind != document.Map {
		return
	}
	if target.Type == Paimon && target.Warehouse == "" {
		if _, bad := b.at["target.warehouse"]; !bad || b.at["target.warehouse"].Text == "" {
			b.fault("target.warehouse", "is missing", "a Paimon target needs a warehouse, such as file:///var/lib/tributary/lake")
		}
	}
	b.checkS3(target.S3)
	b.checkHDFS(target.HDFS)
	switch {
	case target.Catalog.Type == HiveCatalog && target.Catalog.URI == "" && b.at["target.catalog.uri"] == nil:
		b.fault("target.catalog.uri", "is missing", "a hive catalog needs its metastore, thrift://host:9083")
	case target.Catalog.Type == FilesystemCatalog && target.Catalog.URI != "":
		b.fault("target.catalog.uri", "a filesystem catalog has no address", "remove uri, or use type hive")
	}
}
