package example;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageSerializer;

/**
 * Reads a file of commit messages that Tributary wrote. All numbers are big endian:
 *
 * <pre>
 * magic               8 bytes TRBCMSG1
 * producer            writeUTF, for people
 * Paimon line         writeUTF, for people
 * serializer version  int32: CommitMessageSerializer.getVersion() of the release that it is written for
 * schema id           int64: the version of the table's schema that the files were written with
 * count               int32
 * messages            count times: int32 length, then the bytes of CommitMessageSerializer.serialize
 * checksum            uint32: CRC-32C of all before
 * </pre>
 */
final class MessageFile {
    private static final byte[] MAGIC = "TRBCMSG1".getBytes(StandardCharsets.US_ASCII);
    private static final int CHECKSUM_BYTES = 4;

    final long schemaId;
    final List<CommitMessage> messages;

    private MessageFile(long schemaId, List<CommitMessage> messages) {
        this.schemaId = schemaId;
        this.messages = messages;
    }

    /** Fails on anything that is not whole and meant for this release of Paimon; trying again does not help. */
    static MessageFile read(Path path) throws IOException {
        byte[] bytes = Files.readAllBytes(path);
        int content = bytes.length - CHECKSUM_BYTES;
        for (int i = 0; i < MAGIC.length; i++) {
            if (i >= content || bytes[i] != MAGIC[i]) {
                throw new IOException(path + ": no commit-message file, it does not begin with TRBCMSG1");
            }
        }
        CRC32C sum = new CRC32C();
        sum.update(bytes, 0, content);
        int stored = ByteBuffer.wrap(bytes, content, CHECKSUM_BYTES).getInt();
        if ((int) sum.getValue() != stored) {
            throw new IOException(String.format("%s: damaged or cut off: its CRC-32C is %08x, it says %08x", path, sum.getValue(), stored));
        }
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes, MAGIC.length, content - MAGIC.length))) {
            return parse(path, in);
        } catch (EOFException e) {
            throw new IOException(path + ": ends before its content does", e);
        }
    }

    private static MessageFile parse(Path path, DataInputStream in) throws IOException {
        CommitMessageSerializer serializer = new CommitMessageSerializer();
        String producer = in.readUTF();
        String line = in.readUTF();
        int version = in.readInt();
        // Paimon reads the versions before its own. A later one it would take for its own, and read nonsense.
        if (version > serializer.getVersion()) {
            throw new IOException(String.format(
                    "%s: serializer version %d (Paimon %s, written by %s), this Paimon has %d: set target.serializer_version in the job",
                    path, version, line, producer, serializer.getVersion()));
        }
        long schemaId = in.readLong();
        int count = in.readInt();
        List<CommitMessage> messages = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int length = in.readInt();
            if (length < 0 || length > in.available()) {
                throw new IOException(path + ": message " + (i + 1) + " of " + count + " has " + length + " bytes, " + in.available() + " are left");
            }
            messages.add(serializer.deserialize(version, in.readNBytes(length)));
        }
        if (in.available() > 0) {
            throw new IOException(path + ": " + in.available() + " bytes behind the last message");
        }
        return new MessageFile(schemaId, messages);
    }
}
