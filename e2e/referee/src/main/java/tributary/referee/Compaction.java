package tributary.referee;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;

/** Full compaction of every bucket; of a table without buckets the files of each partition are put together. */
final class Compaction {
    private record Bucket(BinaryRow partition, int number) {}

    private final FileStoreTable table;

    Compaction(FileStoreTable table) {
        this.table = table;
    }

    /** Commits the messages, or leaves them in a file if one is named, and answers their number. */
    int run(String user, String to) throws Exception {
        List<CommitMessage> messages = table.bucketMode() == BucketMode.BUCKET_UNAWARE ? unaware(user) : buckets(user);
        if (!to.isEmpty()) {
            MessageFile.of(table.schema().id(), messages).write(Path.of(to));
        } else if (!messages.isEmpty()) {
            try (TableCommitImpl commit = table.newCommit(user)) {
                commit.commit(Changes.BATCH, messages);
            }
        }
        return messages.size();
    }

    private List<CommitMessage> buckets(String user) throws Exception {
        Set<Bucket> buckets = new LinkedHashSet<>();
        for (ManifestEntry entry : table.store().newScan().plan().files()) {
            buckets.add(new Bucket(entry.partition().copy(), entry.bucket()));
        }
        // A table for writers of another job compacts nothing by itself; this is the job that does.
        FileStoreTable compacted = table.copy(Map.of("write-only", "false"));
        try (IOManager spill = IOManager.create(System.getProperty("java.io.tmpdir"));
                TableWriteImpl<?> write = compacted.newWrite(user)) {
            write.withIOManager(spill);
            for (Bucket bucket : buckets) {
                write.compact(bucket.partition(), bucket.number(), true);
            }
            return new ArrayList<>(write.prepareCommit(true, Changes.BATCH));
        }
    }

    private List<CommitMessage> unaware(String user) throws Exception {
        Map<BinaryRow, List<DataFileMeta>> partitions = new LinkedHashMap<>();
        for (ManifestEntry entry : table.store().newScan().plan().files()) {
            partitions.computeIfAbsent(entry.partition().copy(), p -> new ArrayList<>()).add(entry.file());
        }
        List<CommitMessage> messages = new ArrayList<>();
        var write = table.store().newWrite(user);
        try (IOManager spill = IOManager.create(System.getProperty("java.io.tmpdir"))) {
            write.withIOManager(spill);
            for (var partition : partitions.entrySet()) {
                if (partition.getValue().size() > 1) {
                    messages.add(Release.compactUnaware(table, write, partition.getKey(), partition.getValue()));
                }
            }
        } finally {
            write.close();
        }
        return messages;
    }
}
