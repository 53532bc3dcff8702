package tributary.referee;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;

/** How fast Paimon's writer is in one thread, with rows like those of e2e/bench/sql/narrow.sql in the order of their ids. */
final class Throughput {
    private static final BinaryString[] STATUS = {
        BinaryString.fromString("NEW"), BinaryString.fromString("PAID"), BinaryString.fromString("SHIPPED"),
        BinaryString.fromString("DONE"), BinaryString.fromString("REFUNDED")
    };
    private static final long FIRST_SECOND = 1_609_459_200; // 2021-01-01

    private final FileStoreTable table;

    Throughput(FileStoreTable table) {
        this.table = table;
    }

    /** Writes a fifth of the rows for the JVM to warm up, which are given up, and then all of them, which are committed. */
    Map<String, Object> measure(long rows) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableCommit commit = builder.newCommit()) {
            commit.abort(write(builder, Math.min(rows, Math.max(rows / 5, 200_000))));
        }
        long start = System.nanoTime();
        List<CommitMessage> messages = write(builder, rows);
        try (BatchTableCommit commit = builder.newCommit()) {
            commit.commit(messages);
        }
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("rows", rows);
        out.put("seconds", (System.nanoTime() - start) / 1e9);
        return out;
    }

    private static List<CommitMessage> write(BatchWriteBuilder builder, long rows) throws Exception {
        try (IOManager spill = IOManager.create(System.getProperty("java.io.tmpdir")); BatchTableWrite write = builder.newWrite()) {
            write.withIOManager(spill);
            for (long id = 1; id <= rows; id++) {
                write.write(row(id));
            }
            return write.prepareCommit();
        }
    }

    private static GenericRow row(long id) {
        long mixed = (id * 0x9E3779B97F4A7C15L) >>> 1;
        return GenericRow.of(
                id,
                (int) (mixed % 1_000_003),
                Decimal.fromUnscaledLong((mixed >>> 7) % 10_000_000, 12, 2),
                STATUS[(int) ((mixed >>> 13) % STATUS.length)],
                Timestamp.fromEpochMillis((FIRST_SECOND + (mixed >>> 19) % 94_608_000) * 1000));
    }
}
