package tributary.hive;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStoreClient;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.hive.HiveCatalogLock;
import org.apache.paimon.client.ClientPool;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.DataTypes;

/** Paimon's HiveCatalog as a program: create, list, rows and lock. Answers are lines on the standard output after "=". */
public class JavaCatalog {
    public static void main(String[] args) throws Exception {
        String uri = args[0];
        Options options = new Options();
        options.set("metastore", "hive");
        options.set("uri", uri);
        options.set("warehouse", args[1]);
        Identifier id = Identifier.create(args[3], args[4]);
        switch (args[2]) {
            case "create":
                try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options))) {
                    create(catalog, id);
                }
                break;
            case "show":
                try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options))) {
                    show(catalog, id);
                }
                break;
            case "lock":
                lock(uri, id);
                break;
            default:
                throw new IllegalArgumentException(args[2]);
        }
        System.exit(0);
    }

    /** Every kind of column that both sides know. */
    private static void create(Catalog catalog, Identifier id) throws Exception {
        catalog.createDatabase(id.getDatabaseName(), true);
        Schema schema = Schema.newBuilder()
                .column("id", DataTypes.BIGINT().notNull(), "the key")
                .column("price", DataTypes.DECIMAL(10, 2))
                .column("flag", DataTypes.BOOLEAN())
                .column("small", DataTypes.SMALLINT())
                .column("code", DataTypes.CHAR(3))
                .column("name", DataTypes.VARCHAR(100))
                .column("note", DataTypes.STRING())
                .column("raw", DataTypes.BYTES())
                .column("at", DataTypes.TIMESTAMP(3))
                .column("seen", DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(6))
                .column("clock", DataTypes.TIME(0))
                .column("tags", DataTypes.ARRAY(DataTypes.STRING()))
                .column("counts", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()))
                .column("day", DataTypes.DATE())
                .column("region", DataTypes.STRING())
                .partitionKeys("day", "region")
                .option("bucket", "-1")
                .option("metastore.partitioned-table", "true")
                .comment("orders of all shards")
                .build();
        catalog.createTable(id, schema, false);
        System.out.println("=created");
    }

    /** Tables of the database, then columns and rows of the table. */
    private static void show(Catalog catalog, Identifier id) throws Exception {
        System.out.println("=tables " + catalog.listTables(id.getDatabaseName()));
        Table table = catalog.getTable(id);
        System.out.println("=columns " + table.rowType().getFieldNames());
        ReadBuilder read = table.newReadBuilder();
        List<String> rows = new ArrayList<>();
        try (RecordReader<InternalRow> reader = read.newRead().createReader(read.newScan().plan())) {
            reader.forEachRemaining(row -> rows.add(String.valueOf(row.getLong(0))));
        }
        Collections.sort(rows);
        System.out.println("=rows " + rows);
    }

    /** Takes HiveCatalogLock, says so, and holds it until a line comes. */
    private static void lock(String uri, Identifier id) throws Exception {
        HiveConf conf = new HiveConf();
        conf.set("hive.metastore.uris", uri);
        HiveMetaStoreClient client = new HiveMetaStoreClient(conf);
        ClientPool<org.apache.hadoop.hive.metastore.IMetaStoreClient, org.apache.thrift.TException> pool = new One(client);
        try (HiveCatalogLock lock = new HiveCatalogLock(pool, 1000, 60_000)) {
            lock.runWithLock(id.getDatabaseName(), id.getTableName(), () -> {
                System.out.println("=locked");
                System.in.read();
                System.out.println("=unlocking");
                return null;
            });
        }
    }

    /** A pool of one client. */
    private static final class One implements ClientPool<org.apache.hadoop.hive.metastore.IMetaStoreClient, org.apache.thrift.TException> {
        private final HiveMetaStoreClient client;

        One(HiveMetaStoreClient client) {
            this.client = client;
        }

        @Override
        public <R> R run(Action<R, org.apache.hadoop.hive.metastore.IMetaStoreClient, org.apache.thrift.TException> action)
                throws org.apache.thrift.TException {
            return action.run(client);
        }

        @Override
        public void execute(ExecuteAction<org.apache.hadoop.hive.metastore.IMetaStoreClient, org.apache.thrift.TException> action)
                throws org.apache.thrift.TException {
            action.run(client);
        }
    }
}
