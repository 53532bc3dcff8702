package tributary.referee;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.FileStoreScan;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;

/** One table of a warehouse with a file system catalog. A snapshot of null means the latest. */
final class Table {
    private final FileStoreTable table;

    Table(FileStoreTable table) {
        this.table = table;
    }

    private interface RowSink {
        void take(RowType type, InternalRow row) throws Exception;
    }

    private void scan(Long snapshot, RowSink sink) throws Exception {
        FileStoreTable at = snapshot == null ? table : table.copy(Map.of("scan.snapshot-id", snapshot.toString()));
        ReadBuilder builder = at.newReadBuilder();
        RowType type = at.rowType();
        try (IOManager spill = IOManager.create(System.getProperty("java.io.tmpdir"));
                RecordReader<InternalRow> rows =
                        builder.newRead().withIOManager(spill).createReader(builder.newScan().plan().splits())) {
            for (var batch = rows.readBatch(); batch != null; batch = rows.readBatch()) {
                for (InternalRow row = batch.next(); row != null; row = batch.next()) {
                    sink.take(type, row);
                }
                batch.releaseBatch();
            }
        }
    }

    /** All rows as JSON lines, sorted by their UTF-8 bytes. */
    List<String> read(Long snapshot) throws Exception {
        List<byte[]> lines = new ArrayList<>();
        // Not writeValueAsBytes: that one escapes characters beyond the basic plane.
        scan(snapshot, (type, row) -> lines.add(
                Referee.JSON.writeValueAsString(Canonical.row(type, row)).getBytes(StandardCharsets.UTF_8)));
        lines.sort(Arrays::compareUnsigned);
        List<String> out = new ArrayList<>(lines.size());
        lines.forEach(l -> out.add(new String(l, StandardCharsets.UTF_8)));
        return out;
    }

    /** Number of rows, and a checksum that the order of the rows does not change; README.md says how it is made. */
    Map<String, Object> count(Long snapshot) throws Exception {
        MessageDigest sha = MessageDigest.getInstance("SHA-256");
        long[] rowsAndSum = new long[2];
        scan(snapshot, (type, row) -> {
            for (Object value : Canonical.row(type, row).values()) {
                if (value == null) {
                    sha.update((byte) 'N');
                    continue;
                }
                String text = value instanceof String s ? s : Referee.JSON.writeValueAsString(value);
                byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
                sha.update(("V" + bytes.length + ":").getBytes(StandardCharsets.US_ASCII));
                sha.update(bytes);
            }
            rowsAndSum[0]++;
            rowsAndSum[1] += ByteBuffer.wrap(sha.digest()).getLong();
        });
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("rows", rowsAndSum[0]);
        out.put("checksum", String.format("%016x", rowsAndSum[1]));
        return out;
    }

    /** The table as its metadata tells it; live files are those of the snapshot. */
    Map<String, Object> describe(Long snapshot) throws Exception {
        Map<String, Object> out = new LinkedHashMap<>();
        List<Object> schemas = new ArrayList<>();
        for (TableSchema schema : table.schemaManager().listAll()) {
            schemas.add(Referee.JSON.readTree(schema.toString()));
        }
        out.put("schemas", schemas);
        out.put("bucketMode", table.bucketMode().toString());
        List<Snapshot> snapshots = new ArrayList<>();
        table.snapshotManager().snapshots().forEachRemaining(snapshots::add);
        snapshots.sort(Comparator.comparingLong(Snapshot::id));
        List<Object> snapshotsJson = new ArrayList<>();
        for (Snapshot s : snapshots) {
            snapshotsJson.add(Referee.JSON.readTree(s.toJson()));
        }
        out.put("snapshots", snapshotsJson);
        Map<String, Object> tags = new LinkedHashMap<>();
        table.tagManager().tags().forEach((s, names) -> names.forEach(name -> tags.put(name, s.id())));
        out.put("tags", tags);
        FileStoreScan scan = table.store().newScan();
        if (snapshot != null) {
            scan.withSnapshot(snapshot);
        }
        List<ManifestEntry> entries = new ArrayList<>(scan.plan().files());
        entries.sort(Comparator.comparing(this::path).thenComparing(ManifestEntry::bucket).thenComparing(e -> e.file().fileName()));
        List<Object> files = new ArrayList<>();
        for (ManifestEntry entry : entries) {
            files.add(file(entry));
        }
        out.put("files", files);
        out.put("indexFiles", indexFiles(snapshot == null ? table.snapshotManager().latestSnapshotId() : snapshot));
        return out;
    }

    private List<Object> indexFiles(Long snapshot) {
        List<Object> out = new ArrayList<>();
        String manifest = snapshot == null ? null : table.snapshotManager().snapshot(snapshot).indexManifest();
        if (manifest == null) {
            return out;
        }
        for (IndexManifestEntry entry : table.store().indexManifestFileFactory().create().read(manifest)) {
            Map<String, Object> file = new LinkedHashMap<>();
            file.put("partition", Canonical.row(table.schema().logicalPartitionType(), entry.partition()));
            file.put("bucket", entry.bucket());
            file.put("file", Messages.indexFiles(List.of(entry.indexFile())).get(0));
            out.add(file);
        }
        return out;
    }

    /** The partition's directory below the table, such as day=2024-02-29/, empty without partitions. */
    private String path(ManifestEntry entry) {
        return table.store().pathFactory().getPartitionString(entry.partition());
    }

    private Map<String, Object> file(ManifestEntry entry) {
        DataFileMeta file = entry.file();
        TableSchema schema = table.schemaManager().schema(file.schemaId());
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("partition", Canonical.row(schema.logicalPartitionType(), entry.partition()));
        out.put("partitionPath", path(entry));
        out.put("bucket", entry.bucket());
        out.put("totalBuckets", entry.totalBuckets());
        out.put("name", file.fileName());
        out.put("size", file.fileSize());
        out.put("rows", file.rowCount());
        out.put("level", file.level());
        out.put("schemaId", file.schemaId());
        out.put("minSequence", file.minSequenceNumber());
        out.put("maxSequence", file.maxSequenceNumber());
        out.put("deleteRows", file.deleteRowCount().orElse(null));
        RowType key = schema.logicalTrimmedPrimaryKeysType();
        if (key.getFieldCount() > 0) {
            out.put("minKey", Canonical.row(key, file.minKey()));
            out.put("maxKey", Canonical.row(key, file.maxKey()));
        }
        out.put("stats", stats(schema.fields(), file.valueStatsCols(), file.valueStats()));
        return out;
    }

    /** Column name to smallest and largest value and number of NULLs, of the columns that have statistics. */
    private static Map<String, Object> stats(List<DataField> fields, List<String> only, SimpleStats stats) {
        List<DataField> kept = new ArrayList<>();
        for (DataField field : fields) {
            if (only == null || only.contains(field.name())) {
                // A bound may be missing whether or not the column may be NULL.
                kept.add(new DataField(field.id(), field.name(), field.type().copy(true)));
            }
        }
        if (only != null) {
            kept.sort(Comparator.comparingInt(f -> only.indexOf(f.name())));
        }
        Map<String, Object> out = new LinkedHashMap<>();
        if (stats.minValues().getFieldCount() == 0) {
            return out;
        }
        RowType type = new RowType(kept);
        Map<String, Object> min = Canonical.row(type, stats.minValues());
        Map<String, Object> max = Canonical.row(type, stats.maxValues());
        for (int i = 0; i < kept.size(); i++) {
            Map<String, Object> column = new LinkedHashMap<>();
            String name = kept.get(i).name();
            column.put("min", min.get(name));
            column.put("max", max.get(name));
            column.put("nulls", stats.nullCounts().isNullAt(i) ? null : stats.nullCounts().getLong(i));
            out.put(name, column);
        }
        return out;
    }
}
