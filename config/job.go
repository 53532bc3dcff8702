package config

import (
	"strings"
	"time"
)

// Job is a job file: where rows come from, which logical tables they make, where they go and how.
type Job struct {
	Name     string   `key:"job" required:"true" rule:"job" doc:"The job's name. It names runs, folders and the Paimon commit user."`
	Temporal Temporal `key:"temporal" doc:"Where Temporal is."`
	Source   Source   `key:"source" required:"true" doc:"Where rows come from."`
	Tables   []Table  `key:"tables" required:"true" doc:"The logical tables. Each merges the shards that it matches and is committed by itself."`
	Target   Target   `key:"target" required:"true" doc:"Where rows go."`
	Run      Run      `key:"run" doc:"How a run is carried out."`
}

// Temporal says where Temporal is.
type Temporal struct {
	Address   string      `key:"address" default:"127.0.0.1:7233" rule:"address" doc:"Host and port of the Temporal frontend."`
	Namespace string      `key:"namespace" default:"default" rule:"text" doc:"The Temporal namespace."`
	TaskQueue string      `key:"task_queue" default:"tributary" rule:"text" doc:"The task queue that workers poll."`
	TLS       TemporalTLS `key:"tls" doc:"Encryption of the connection. The server's certificate is always checked."`
}

// TemporalTLS says how the connection to Temporal is encrypted. As with Temporal's own command line, any key but enabled asks for it too.
type TemporalTLS struct {
	Enabled    bool   `key:"enabled" default:"false" doc:"Whether the connection is encrypted. Any other key of tls asks for it too."`
	CA         string `key:"ca" rule:"text" doc:"PEM file of the certificate authorities, read by the process that connects. Without it the system's are used."`
	Cert       string `key:"cert" rule:"text" doc:"PEM file of the client's certificate."`
	Key        string `key:"key" rule:"text" doc:"PEM file of the client's private key."`
	ServerName string `key:"server_name" rule:"text" doc:"The name that the server's certificate must have, where it is not the address's host."`
}

// Source is the MySQL side of a job.
type Source struct {
	Type      SourceType `key:"type" default:"mysql" doc:"The kind of source."`
	Instances []Instance `key:"instances" required:"true" doc:"The MySQL servers."`
	Limits    Limits     `key:"limits" doc:"What may be asked of each instance, by all workers and runs together."`
}

// SourceType is a kind of source.
type SourceType string

// MySQL is the only kind of source. MariaDB is read as MySQL.
const MySQL SourceType = "mysql"

func (SourceType) allowed() []string { return []string{string(MySQL)} }

// Instance is one MySQL server.
type Instance struct {
	Name      string  `key:"name" required:"true" rule:"name" doc:"The instance's name in this job, in provenance columns and in reports."`
	Host      string  `key:"host" required:"true" rule:"host" doc:"Host name or address."`
	Port      int     `key:"port" default:"3306" min:"1" max:"65535" doc:"TCP port."`
	User      string  `key:"user" required:"true" rule:"text" doc:"MySQL user."`
	Password  Secret  `key:"password" doc:"Reference to the password: ${env:NAME} or ${file:/path}. Without it there is no password."`
	Databases Pattern `key:"databases" required:"true" doc:"The databases to look in: a glob, a /regular expression/, or a list of those."`
	TLS       TLS     `key:"tls" doc:"Encryption of the connection."`
	Replica   Replica `key:"replica" empty:"none" doc:"A replica of the instance to read from, or only to spare."`
}

// Replica is a replica of an instance, with the same users and the same encryption.
type Replica struct {
	Host string `key:"host" required:"true" rule:"host" doc:"Host name or address."`
	Port int    `key:"port" default:"3306" min:"1" max:"65535" doc:"TCP port."`
	Read bool   `key:"read" default:"true" doc:"true: rows are read from the replica, and nothing is asked of the instance's own host; false: they are read from there. Either way reading pauses while the replica lags more than limits.max_replica_lag or has stopped, so the user needs REPLICATION CLIENT on it, on MariaDB from 10.5 REPLICA MONITOR."`
}

// Server is where rows are read: the host and port, or the replica's.
func (i *Instance) Server() (host string, port int) {
	if i.Replica.Host != "" && i.Replica.Read {
		return i.Replica.Host, i.Replica.Port
	}
	return i.Host, i.Port
}

// TLS says how a connection is encrypted. The modes are those of MySQL's own --ssl-mode.
type TLS struct {
	Mode TLSMode `key:"mode" default:"preferred" doc:"disabled; preferred: if the server can; required: without checking the server; verify-ca: its certificate; verify-identity: also its host name."`
	CA   string  `key:"ca" rule:"text" doc:"PEM file of the certificate authorities, read by the worker. Without it the system's are used."`
	Cert string  `key:"cert" rule:"text" doc:"PEM file of the client's certificate, read by the worker."`
	Key  string  `key:"key" rule:"text" doc:"PEM file of the client's private key, read by the worker."`
}

// TLSMode is how far the server is trusted.
type TLSMode string

// The modes, from none to full trust.
const (
	TLSDisabled       TLSMode = "disabled"
	TLSPreferred      TLSMode = "preferred"
	TLSRequired       TLSMode = "required"
	TLSVerifyCA       TLSMode = "verify-ca"
	TLSVerifyIdentity TLSMode = "verify-identity"
)

func (TLSMode) allowed() []string {
	return []string{string(TLSPreferred), string(TLSDisabled), string(TLSRequired), string(TLSVerifyCA), string(TLSVerifyIdentity)}
}

// Limits is what may be asked of each instance, by all workers and runs together.
type Limits struct {
	Connections       int           `key:"connections" default:"8" min:"1" max:"1000" doc:"Connections that plan and read at a time. The server keeps count of them by GET_LOCK. A worker has one more while it waits for one, and up to two more for the limits below. Where jobs differ, the most of any holds."`
	RowsPerSecond     int64         `key:"rows_per_second" default:"0" min:"0" doc:"Rows read in a second; 0 is no limit. Jobs with different limits share the time."`
	BytesPerSecond    Bytes         `key:"bytes_per_second" default:"0" min:"0" doc:"Bytes of rows read in a second, as the server sends them; 0 is no limit."`
	MaxReplicaLag     time.Duration `key:"max_replica_lag" default:"30s" doc:"Reading pauses while the replica that the instance names lags more than this."`
	MaxThreadsRunning int           `key:"max_threads_running" default:"0" min:"0" doc:"Reading pauses while the server that is read runs more threads than this for other users (Threads_running); 0 is no limit."`
}

// Target is where rows go.
type Target struct {
	Type              TargetType        `key:"type" default:"paimon" doc:"The kind of target."`
	Warehouse         string            `key:"warehouse" rule:"store" doc:"The Paimon warehouse: file:///path, s3://bucket/path, hdfs://host/path, or an absolute path on a file system that all workers share. A Paimon target needs it."`
	Staging           string            `key:"staging" rule:"store" doc:"Where runs keep their ledgers, on any storage that all workers share. Empty is <warehouse>/_tributary."`
	S3                S3                `key:"s3" doc:"How a warehouse and a staging root under s3:// are reached."`
	HDFS              HDFS              `key:"hdfs" doc:"How a warehouse and a staging root under hdfs:// are reached."`
	Catalog           Catalog           `key:"catalog" doc:"The catalog that knows the tables."`
	OtherWriters      bool              `key:"other_writers" default:"false" doc:"Whether another engine, such as Flink or Spark, may commit to these tables too."`
	SerializerVersion SerializerVersion `key:"serializer_version" default:"11" doc:"Version of Paimon's commit messages, so the release that must be able to commit them: 6 is Paimon 1.0, 7 is 1.1 and 1.2, 10 is 1.3, 11 is 1.4, 12 is 2.0."`
}

// StagingRoot is where runs keep their ledgers: staging, or _tributary in the warehouse.
func (t Target) StagingRoot() string {
	if t.Staging != "" {
		return t.Staging
	}
	return strings.TrimRight(t.Warehouse, "/") + "/_tributary"
}

// TargetType is a kind of target.
type TargetType string

// The kinds of target.
const (
	Paimon    TargetType = "paimon"
	StarRocks TargetType = "starrocks"
)

func (TargetType) allowed() []string { return []string{string(Paimon), string(StarRocks)} }

// SerializerVersion is a version of Paimon's CommitMessageSerializer.
type SerializerVersion int

func (SerializerVersion) allowed() []string { return []string{"6", "7", "10", "11", "12"} }

// Catalog says which catalog knows the tables.
type Catalog struct {
	Type CatalogType `key:"type" default:"filesystem" doc:"filesystem: the warehouse's folders are the catalog. hive: a Hive metastore."`
	URI  string      `key:"uri" rule:"thrift" doc:"The Hive metastore, thrift://host:9083."`
}

// CatalogType is a kind of catalog.
type CatalogType string

// The kinds of catalog.
const (
	FilesystemCatalog CatalogType = "filesystem"
	HiveCatalog       CatalogType = "hive"
)

func (CatalogType) allowed() []string {
	return []string{string(FilesystemCatalog), string(HiveCatalog)}
}

// Run says how a run is carried out.
type Run struct {
	Parallelism int           `key:"parallelism" default:"4" min:"1" max:"200" doc:"Units of work in flight at once, over all workers and all tables of the run."`
	Memory      Bytes         `key:"memory" default:"1GiB" min:"67108864" doc:"Memory that one worker may use for this job."`
	Consistency Consistency   `key:"consistency" default:"split" doc:"What is read at one moment. split: each split by itself; shard: a shard; instance: all shards of an instance; exact: as instance, by way of the binlog. With shard and instance one activity reads it by several connections, all of it again if one is lost, and the snapshot has the binary log's positions."`
	Moment      Moment        `key:"moment" default:"auto" doc:"How connections open at one moment. flush: FLUSH TABLES WITH READ LOCK, which needs RELOAD, on MySQL PROCESS too; lock_tables: LOCK TABLES … READ of the shards, which needs LOCK TABLES; position: without a lock, again until no commit lies in between, which needs REPLICATION CLIENT to see that the binary log leaves out nothing; auto: the first of these that the account may use."`
	Verify      Verify        `key:"verify" default:"counts" doc:"What is checked before the commit, beside that every unit was written once. none and counts: rows read, written and in messages agree, which is always checked; checksums: every written file is read again and the checksum of its rows compared with that of the rows read; source: checksums, and MySQL itself counts and sums each split in the snapshot that is read, so that it reads each twice; the tables need an engine with snapshots."`
	Retention   time.Duration `key:"retention" default:"72h" doc:"How long a finished run's ledger is kept."`
}

// Consistency is what is read at one moment.
type Consistency string

// The consistencies, the weakest first.
const (
	SplitConsistency    Consistency = "split"
	ShardConsistency    Consistency = "shard"
	InstanceConsistency Consistency = "instance"
	ExactConsistency    Consistency = "exact"
)

func (Consistency) allowed() []string {
	return []string{string(SplitConsistency), string(ShardConsistency), string(InstanceConsistency), string(ExactConsistency)}
}

// TableConsistency is a table's own consistency, or RunConsistency.
type TableConsistency string

// RunConsistency stands for run.consistency.
const RunConsistency TableConsistency = "run"

func (TableConsistency) allowed() []string {
	return append([]string{string(RunConsistency)}, Consistency("").allowed()...)
}

// ConsistencyOf is what of a table is read at one moment.
func (j *Job) ConsistencyOf(t *Table) Consistency {
	if t.Consistency == RunConsistency {
		return j.Run.Consistency
	}
	return Consistency(t.Consistency)
}

// Moment is how connections open at one moment.
type Moment string

// The ways, in the order of preference.
const (
	AutoMoment       Moment = "auto"
	FlushMoment      Moment = "flush"
	LockTablesMoment Moment = "lock_tables"
	PositionMoment   Moment = "position"
)

func (Moment) allowed() []string {
	return []string{string(AutoMoment), string(FlushMoment), string(LockTablesMoment), string(PositionMoment)}
}

// Verify is what is checked before the commit.
type Verify string

// The checks, the least first.
const (
	VerifyNone      Verify = "none"
	VerifyCounts    Verify = "counts"
	VerifyChecksums Verify = "checksums"
	VerifySource    Verify = "source"
)

func (Verify) allowed() []string {
	return []string{string(VerifyNone), string(VerifyCounts), string(VerifyChecksums), string(VerifySource)}
}
