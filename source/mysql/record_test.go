package mysql

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/wire"
)

var update = flag.Bool("update", false, "record wire/testdata/*.gz anew from a MariaDB server")

// tape is what a server sent for a whole read of one table, from the answer to prepare to the last packet.
type tape struct {
	Read          source.Read
	DeprecateEOF  bool
	CacheMetadata bool
	Rows          int
	Packets       []byte
}

// recorder keeps what it reads.
type recorder struct {
	io.ReadWriter
	read bytes.Buffer
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.ReadWriter.Read(b)
	r.read.Write(b[:n])
	return n, err
}

// record reads a table and keeps what the server sent.
func record(t *testing.T, src *Source, table source.Table) *tape {
	t.Helper()
	m, err := source.Merge([]source.Table{table}, source.MergeOptions{})
	require.NoError(t, err)
	r := &tape{Read: source.Read{Shard: table.Shard, Outputs: m.Outputs(table)}}
	query, err := selectSQL(r.Read)
	require.NoError(t, err)
	sc, err := src.instances[0].conn(t.Context())
	require.NoError(t, err)
	defer sc.Close()
	require.NoError(t, sc.Raw(func(dc any) error {
		c := dc.(*conn)
		f := c.tap.features()
		r.DeprecateEOF, r.CacheMetadata = f.DeprecateEOF, f.CacheMetadata
		rec := &recorder{ReadWriter: c.wire}
		_, clean, err := wire.NewReader(rec, f).Read(wire.Request{
			Query: query, Shard: r.Read.Shard, Outputs: r.Read.Outputs, BatchRows: src.options.BatchRows, BatchBytes: src.options.BatchBytes,
			Swap: func(b *row.Batch) (*row.Batch, error) { r.Rows += b.Rows; return b, nil },
		})
		require.True(t, clean)
		r.Packets = rec.read.Bytes()
		return err
	}))
	return r
}

// TestRecord reads from a server the tables that package wire replays; with -update it records them.
func TestRecord(t *testing.T) {
	server := testenv.Shared(t, testenv.FlavorMariaDB)
	database := server.NewDatabase(t)
	src, err := Open(t.Context(), []Config{{Name: "a", Host: server.Host(), Port: server.Port(), User: "reader", Password: "reader"}}, Options{})
	require.NoError(t, err)
	defer src.Close()
	server.Exec(t, "USE "+database, "SET sql_mode='', time_zone='+00:00'", benchNarrow, benchWide)
	d, err := src.Discover(t.Context(), Selection{Databases: func(_, name string) bool { return name == database }})
	require.NoError(t, err)
	rows := map[string]int{}
	for _, table := range d.Tables {
		r := record(t, src, table)
		rows[table.Shard.Table] = r.Rows
		if !*update {
			continue
		}
		raw, err := json.Marshal(r)
		require.NoError(t, err)
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		require.NoError(t, err)
		_, err = z.Write(raw)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile(filepath.Join("wire", "testdata", table.Shard.Table+".gz"), packed.Bytes(), 0o644))
	}
	require.Equal(t, map[string]int{"narrow": 4096, "wide": 1024}, rows)
}

// The tables that speed is measured on: 5 columns without nulls, and 31 columns of nearly every type.
const (
	benchNarrow = `CREATE TABLE narrow (
  id bigint not null primary key,
  user_id int not null,
  amount decimal(12,2) not null,
  status varchar(16) not null,
  created_at datetime not null) engine=innodb;
INSERT INTO narrow SELECT id, crc32(id) % 1000003, (crc32(id*7) % 10000000)/100,
  elt(1+crc32(id*3)%5,'NEW','PAID','SHIPPED','DONE','REFUNDED'),
  timestampadd(second, crc32(id*5) % 94608000, '2021-01-01')
FROM (SELECT 1000000+seq AS id FROM seq_1_to_4096) g`
	benchWide = `CREATE TABLE wide (
  id bigint not null primary key,
  c_tiny tinyint, c_bool tinyint(1), c_tiny_u tinyint unsigned,
  c_small smallint, c_small_u smallint unsigned,
  c_medium mediumint, c_medium_u mediumint unsigned,
  c_int int, c_int_u int unsigned, c_big_u bigint unsigned,
  c_dec decimal(20,6), c_dec38 decimal(38,10),
  c_float float, c_double double,
  c_char char(16), c_varchar varchar(128), c_text text,
  c_binary binary(16), c_blob blob,
  c_date date, c_time time, c_time6 time(6),
  c_datetime6 datetime(6), c_timestamp timestamp null, c_year year,
  c_json json, c_enum enum('low','mid','high'), c_set set('a','b','c','d'),
  c_bit1 bit(1), c_bit8 bit(8)) engine=innodb;
INSERT INTO wide SELECT id,
  h % 256 - 128, h % 2, h % 256, h % 65536 - 32768, h % 65536,
  h % 16777216 - 8388608, h % 16777216, h - 2147483648, h,
  h * 2147483647, (h % 1000000000) + (h % 1000000)/1000000, h * 1000003 + 0.0123456789,
  h / 3, h / 7,
  left(m,16), concat('order ', m, ' ', substr(m, 1 + h % 20)), concat('note ', id, ': ', m, ' ', reverse(m)),
  unhex(m), unhex(concat(m, m)),
  adddate('2000-01-01', h % 9000), sec_to_time(h % 86400), maketime(h % 24, h % 60, (h % 60000000)/1000000),
  timestampadd(microsecond, h, timestampadd(second, h % 94608000, '2021-01-01')), timestampadd(second, h % 94608000, '2021-01-01'),
  1970 + h % 100, concat('{"k":"', left(m, 12), '","n":', h % 1000, ',"tags":["x","y"]}'),
  1 + h % 3, 1 + h % 15, h % 2, h % 256
FROM (SELECT id, cast(crc32(id) as signed) h, md5(id) m FROM (SELECT 1000000+seq AS id FROM seq_1_to_1024) g) s`
)
