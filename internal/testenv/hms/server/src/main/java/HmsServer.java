import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.stream.Collectors;
import org.apache.hadoop.hive.metastore.HiveMetaStore;

/**
 * A Hive metastore over an embedded Derby. "init DB SCHEMA.sql" makes its database from Hive's own script; "serve DB
 * WAREHOUSE PORT [key=value ...]" runs it until it is killed.
 */
public class HmsServer {
    public static void main(String[] args) throws Throwable {
        if (args[0].equals("init")) {
            init(args[1], new File(args[2]));
        } else {
            serve(args);
        }
    }

    private static void init(String db, File schema) throws Exception {
        String text = Files.readAllLines(schema.toPath(), StandardCharsets.UTF_8).stream()
                .filter(line -> !line.trim().startsWith("--")).collect(Collectors.joining("\n"));
        try (Connection c = DriverManager.getConnection("jdbc:derby:" + db + ";create=true")) {
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                for (String sql : text.split(";\\s*(\n|$)")) {
                    if (!sql.trim().isEmpty()) {
                        s.execute(sql.trim());
                    }
                }
            }
            c.commit();
        }
        try {
            DriverManager.getConnection("jdbc:derby:" + db + ";shutdown=true");
        } catch (SQLException e) {
            if (!"08006".equals(e.getSQLState())) { // Derby's word for a clean shutdown
                throw e;
            }
        }
    }

    private static void serve(String[] args) throws Throwable {
        System.setProperty("javax.jdo.option.ConnectionURL", "jdbc:derby:" + args[1] + ";create=false");
        System.setProperty("javax.jdo.option.ConnectionDriverName", "org.apache.derby.jdbc.EmbeddedDriver");
        System.setProperty("metastore.warehouse.dir", new File(args[2]).toURI().toString());
        // Hive 4 refuses an external table below the managed warehouse.
        System.setProperty("metastore.warehouse.external.dir", new File(args[2]).getAbsoluteFile().toPath().resolveSibling("external").toUri().toString());
        System.setProperty("metastore.thrift.bind.host", "127.0.0.1");
        System.setProperty("metastore.event.db.notification.api.auth", "false");
        for (int i = 4; i < args.length; i++) {
            int eq = args[i].indexOf('=');
            System.setProperty(args[i].substring(0, eq), args[i].substring(eq + 1));
        }
        HiveMetaStore.main(new String[] {"-p", args[3]});
    }
}
