package tributary.referee;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.index.IndexFileMetaSerializer;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataFileMetaSerializer;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.CommitMessageSerializer;
import org.apache.paimon.utils.SerializationUtils;

/** What this release of Paimon reads in a file of commit messages. */
final class Messages {
    private Messages() {}

    static Map<String, Object> decode(Path path) throws Exception {
        MessageFile file = MessageFile.read(path);
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("version", file.version());
        out.put("schemaId", file.schemaId());
        List<Object> messages = new ArrayList<>();
        List<CommitMessage> decoded = file.messages();
        for (int i = 0; i < decoded.size(); i++) {
            Map<String, Object> view = view((CommitMessageImpl) decoded.get(i));
            byte[] body = file.bodies().get(i);
            view.put("version", file.version());
            view.put("reencodes", Arrays.equals(body, new CommitMessageSerializer().serialize(decoded.get(i))));
            view.put("hex", HexFormat.of().formatHex(body));
            messages.add(view);
        }
        out.put("messages", messages);
        return out;
    }

    /** Writes the same messages in this release's version of the serializer. */
    static void encode(Path from, Path to) throws IOException {
        MessageFile file = MessageFile.read(from);
        MessageFile.of(file.schemaId(), file.messages()).write(to);
    }

    private static Map<String, Object> view(CommitMessageImpl message) throws Exception {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("partition", binary(message.partition()));
        out.put("bucket", message.bucket());
        out.put("totalBuckets", Release.totalBuckets(message));
        var data = message.newFilesIncrement();
        out.put("newFiles", dataFiles(data.newFiles()));
        out.put("deletedFiles", dataFiles(data.deletedFiles()));
        out.put("changelogFiles", dataFiles(data.changelogFiles()));
        var compact = message.compactIncrement();
        out.put("compactBefore", dataFiles(compact.compactBefore()));
        out.put("compactAfter", dataFiles(compact.compactAfter()));
        out.put("compactChangelogFiles", dataFiles(compact.changelogFiles()));
        out.put("newIndexFiles", indexFiles(Release.newIndexFiles(message)));
        out.put("deletedIndexFiles", indexFiles(Release.deletedIndexFiles(message)));
        out.put("compactNewIndexFiles", indexFiles(Release.compactNewIndexFiles(message)));
        out.put("compactDeletedIndexFiles", indexFiles(Release.compactDeletedIndexFiles(message)));
        return out;
    }

    /** A row as Paimon serializes one: its number of fields in front of its bytes. */
    static String binary(BinaryRow row) {
        return HexFormat.of().formatHex(SerializationUtils.serializeBinaryRow(row));
    }

    private static List<Object> dataFiles(List<DataFileMeta> files) {
        List<Object> out = new ArrayList<>();
        for (DataFileMeta file : files) {
            out.add(Canonical.row(DataFileMeta.SCHEMA, new DataFileMetaSerializer().toRow(file)));
        }
        return out;
    }

    static List<Object> indexFiles(List<IndexFileMeta> files) {
        List<Object> out = new ArrayList<>();
        for (IndexFileMeta file : files) {
            out.add(Canonical.row(IndexFileMeta.SCHEMA, new IndexFileMetaSerializer().toRow(file)));
        }
        return out;
    }
}
