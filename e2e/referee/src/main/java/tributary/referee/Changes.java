package tributary.referee;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.operation.LocalOrphanFilesClean;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.utils.SnapshotManager;

/** What Paimon does to a table when told to. */
final class Changes {
    /** The identifier of all commits of a batch job. */
    static final long BATCH = BatchWriteBuilder.COMMIT_IDENTIFIER;

    private record Bucket(BinaryRow partition, int number) {}

    private final FileStoreTable table;

    Changes(FileStoreTable table) {
        this.table = table;
    }

    /**
     * Writes rows, JSON objects of canonical text with an optional "_kind", through BatchTableWrite and leaves its messages
     * in a file. With overwrite the writer looks at nothing that the table holds; with compact each bucket written to is
     * compacted fully in the same messages.
     */
    void produce(Path rows, Path to, boolean overwrite, boolean compact) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        if (overwrite) {
            builder = builder.withOverwrite(Map.of());
        }
        Set<Bucket> buckets = new LinkedHashSet<>();
        try (IOManager spill = IOManager.create(System.getProperty("java.io.tmpdir")); BatchTableWrite write = builder.newWrite()) {
            write.withIOManager(spill);
            for (String line : Files.readAllLines(rows, StandardCharsets.UTF_8)) {
                JsonNode json = Referee.JSON.readTree(line);
                GenericRow row = Parsed.row(table.rowType(), json);
                if (json.hasNonNull("_kind")) {
                    row.setRowKind(RowKind.fromShortString(json.get("_kind").asText()));
                }
                buckets.add(new Bucket(write.getPartition(row).copy(), write.getBucket(row)));
                write.write(row);
            }
            if (compact) {
                for (Bucket bucket : buckets) {
                    write.compact(bucket.partition(), bucket.number(), true);
                }
            }
            MessageFile.of(table.schema().id(), write.prepareCommit()).write(to);
        }
    }

    /**
     * Commits the messages of the files as one snapshot, and answers the table's latest one: as an overwrite of the whole
     * table or of a static partition, or only if the user has not committed the identifier before.
     */
    String commit(String user, long identifier, List<String> files, Arguments how) throws Exception {
        FileStoreTable target = how.has("--dynamic")
                ? table.copy(Map.of("dynamic-partition-overwrite", how.flag("--dynamic", "")))
                : table;
        int committed = -1;
        try (TableCommitImpl commit = target.newCommit(user)) {
            if (how.has("--static")) {
                commit.withOverwrite(spec(how.flag("--static", "")));
            } else if (how.has("--overwrite")) {
                commit.withOverwrite(Map.of());
            }
            if (how.has("--filter")) {
                committed = commit.filterAndCommit(Map.of(identifier, load(files)));
            } else {
                commit.commit(identifier, load(files));
            }
        }
        Map<String, Object> out = new LinkedHashMap<>();
        if (committed >= 0) {
            out.put("committed", committed);
        }
        SnapshotManager snapshots = table.snapshotManager();
        Long latest = snapshots.latestSnapshotId();
        out.put("snapshot", latest == null ? null : Referee.JSON.readTree(snapshots.snapshot(latest).toJson()));
        return Referee.JSON.writeValueAsString(out);
    }

    private static Map<String, String> spec(String text) {
        Map<String, String> out = new LinkedHashMap<>();
        for (String pair : text.split(",")) {
            int equals = pair.indexOf('=');
            if (equals < 0) {
                throw new IllegalArgumentException("no partition is written as " + pair);
            }
            out.put(pair.substring(0, equals), pair.substring(equals + 1));
        }
        return out;
    }

    private List<CommitMessage> load(List<String> files) throws IOException {
        List<CommitMessage> messages = new ArrayList<>();
        for (String name : files) {
            MessageFile file = MessageFile.read(Path.of(name));
            if (file.schemaId() != table.schema().id()) {
                throw new IOException(name + " was written for schema " + file.schemaId() + ", the table has " + table.schema().id());
            }
            messages.addAll(file.messages());
        }
        return messages;
    }

    /** Deletes the files that the messages name. */
    void abort(List<String> files) throws Exception {
        try (TableCommitImpl commit = table.newCommit("referee")) {
            commit.abort(load(files));
        }
    }

    /** Expires all but the newest snapshots, whatever their age, and answers how many went. */
    int expire(int keep) {
        return table.newExpireSnapshots()
                .config(ExpireConfig.builder()
                        .snapshotRetainMax(keep)
                        .snapshotRetainMin(keep)
                        .snapshotTimeRetain(Duration.ZERO)
                        .snapshotMaxDeletes(Integer.MAX_VALUE)
                        .build())
                .expire();
    }

    /** Deletes files of that age which no snapshot, tag or branch names, and answers their addresses. */
    List<String> cleanOrphans(long seconds) throws Exception {
        List<String> out = new ArrayList<>();
        new LocalOrphanFilesClean(table, System.currentTimeMillis() - seconds * 1000)
                .clean()
                .getDeletedFilesPath()
                .forEach(path -> out.add(path.toString()));
        out.sort(null);
        return out;
    }

    void tag(String name, Long snapshot) {
        if (snapshot == null) {
            table.createTag(name);
        } else {
            table.createTag(name, snapshot.longValue());
        }
    }
}
