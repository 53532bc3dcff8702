package tributary.flink;

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.types.Row;

/**
 * Runs the SQL statements of a file in batch mode, on a Flink cluster inside this process, with the Paimon warehouse as
 * the current catalog.
 *
 * <p>A statement ends with a semicolon at the end of a line. Its rows are printed as JSON objects, one a line, and then
 * comes a line {@code ok}, or {@code failed} and the stack trace as a JSON string. Statements are run as they are read,
 * so that the file may be a pipe whose writer waits for the answers.
 *
 * <p>Values are text or null: decimals with all digits of their scale, binaries in hex, times in UTC with all digits of
 * their precision, others as Java prints them. Arrays and rows are JSON arrays and objects, maps objects sorted by key.
 */
public final class Session {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final TableEnvironment env;
    private final PrintStream out;

    private Session(String warehouse, PrintStream out) {
        this.out = out;
        env = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        env.getConfig()
                .set("parallelism.default", "1")
                .set("table.local-time-zone", "UTC")
                // INSERT and CALL return when their job has ended, not when it has begun.
                .set("table.dml-sync", "true");
        env.executeSql("CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '" + warehouse + "')");
        env.useCatalog("lake");
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 2) {
            System.err.println("usage: Session WAREHOUSE FILE");
            System.exit(2);
        }
        // Whatever else prints to the standard output must not come between the answers.
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Session session = new Session(args[0], out);
        StringBuilder statement = new StringBuilder();
        try (BufferedReader in = Files.newBufferedReader(Path.of(args[1]))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                statement.append(line).append('\n');
                if (line.endsWith(";")) {
                    statement.setLength(statement.length() - 2);
                    session.answer(statement.toString());
                    statement.setLength(0);
                }
            }
        }
        System.exit(0); // clusters leave threads behind
    }

    private void answer(String statement) throws Exception {
        try {
            TableResult result = env.executeSql(statement);
            List<String> names = result.getResolvedSchema().getColumnNames();
            List<LogicalType> types = new ArrayList<>();
            for (DataType t : result.getResolvedSchema().getColumnDataTypes()) {
                types.add(t.getLogicalType());
            }
            // Never closed: all are read to the end, and closing an INSERT asks the cluster, which has ended with the job.
            Iterator<Row> rows = result.collect();
            while (rows.hasNext()) {
                out.println(JSON.writeValueAsString(object(names, types, rows.next())));
            }
            out.println("ok");
        } catch (Exception | LinkageError e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace));
            out.println("failed " + JSON.writeValueAsString(trace.toString()));
        }
    }

    private static Map<String, Object> object(List<String> names, List<LogicalType> types, Row row) {
        Map<String, Object> all = new LinkedHashMap<>();
        for (int i = 0; i < names.size(); i++) {
            all.put(names.get(i), value(types.get(i), row.getField(i)));
        }
        return all;
    }

    private static Object value(LogicalType type, Object v) {
        if (v == null) {
            return null;
        }
        if (v instanceof Row row) {
            return object(((RowType) type).getFieldNames(), type.getChildren(), row);
        }
        if (v instanceof Object[] elements) {
            List<Object> all = new ArrayList<>();
            for (Object e : elements) {
                all.add(value(type.getChildren().get(0), e));
            }
            return all;
        }
        if (v instanceof Map<?, ?> map) {
            Map<String, Object> all = new TreeMap<>();
            map.forEach((k, e) -> all.put(text(type.getChildren().get(0), k), value(type.getChildren().get(1), e)));
            return all;
        }
        return text(type, v);
    }

    private static String text(LogicalType type, Object v) {
        if (v instanceof BigDecimal d) {
            return d.setScale(((DecimalType) type).getScale()).toPlainString();
        }
        if (v instanceof byte[] b) {
            return HexFormat.of().formatHex(b);
        }
        if (v instanceof LocalDateTime t) {
            return time(t, ((TimestampType) type).getPrecision());
        }
        if (v instanceof Instant t) {
            return time(LocalDateTime.ofInstant(t, ZoneOffset.UTC), ((LocalZonedTimestampType) type).getPrecision()) + "Z";
        }
        return v.toString();
    }

    private static String time(LocalDateTime t, int digits) {
        String fraction = digits == 0 ? "" : "." + "S".repeat(digits);
        return t.format(DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss" + fraction));
    }
}
