package tributary.peers;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/** Runs the SQL statements of a file, each ended by a semicolon at the end of a line, in batch mode on a Flink in this process. */
public final class RunSql {
    private RunSql() {}

    public static void main(String[] args) throws Exception {
        Configuration c = new Configuration();
        c.setString("parallelism.default", "2");
        c.setString("taskmanager.numberOfTaskSlots", "16");
        c.setString("taskmanager.memory.network.min", "256mb");
        c.setString("taskmanager.memory.network.max", "256mb");
        c.setString("taskmanager.memory.managed.size", "512mb");
        c.setString("table.local-time-zone", "UTC");
        c.setString("table.dml-sync", "true"); // INSERT returns when its job has ended
        TableEnvironment env =
                TableEnvironment.create(EnvironmentSettings.newInstance().inBatchMode().withConfiguration(c).build());
        try {
            for (String statement : Files.readString(Path.of(args[0])).split(";\\s*\\n")) {
                env.executeSql(statement).await();
            }
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
        System.exit(0); // the cluster leaves threads behind
    }
}
