package tributary.referee;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
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
 * A file of commit messages as Tributary stages them, all big endian: "TRBCMSG1", producer and Paimon line for people
 * (writeUTF), int32 serializer version, int64 schema id, int32 count, per message its int32 length and the bytes of
 * Paimon's CommitMessageSerializer, and a CRC-32C of everything before it.
 */
record MessageFile(String producer, String line, int version, long schemaId, List<byte[]> bodies) {
    private static final String MAGIC = "TRBCMSG1";
    private static final int CRC_BYTES = 4;

    /** The version that this release of Paimon writes. */
    static int ownVersion() {
        return new CommitMessageSerializer().getVersion();
    }

    /** These messages as this release of Paimon serializes them. */
    static MessageFile of(long schemaId, List<CommitMessage> messages) throws IOException {
        List<byte[]> bodies = new ArrayList<>();
        for (CommitMessage message : messages) {
            bodies.add(new CommitMessageSerializer().serialize(message));
        }
        return new MessageFile("referee/1", System.getProperty("referee.release", ""), ownVersion(), schemaId, bodies);
    }

    List<CommitMessage> messages() throws IOException {
        // Paimon itself would read a later version as its own, and wrongly.
        if (version > ownVersion()) {
            throw new IOException("serializer version " + version + " is later than this release's " + ownVersion());
        }
        List<CommitMessage> out = new ArrayList<>();
        for (byte[] body : bodies) {
            out.add(new CommitMessageSerializer().deserialize(version, body));
        }
        return out;
    }

    static MessageFile read(Path file) throws IOException {
        byte[] all = Files.readAllBytes(file);
        if (all.length < MAGIC.length() + CRC_BYTES
                || !new String(all, 0, MAGIC.length(), StandardCharsets.ISO_8859_1).equals(MAGIC)) {
            throw new IOException(file + " does not begin with " + MAGIC);
        }
        int body = all.length - CRC_BYTES;
        int stored = ByteBuffer.wrap(all, body, CRC_BYTES).getInt();
        if (checksum(all, body) != stored) {
            throw new IOException(String.format("%s: CRC-32C is %08x, the file says %08x", file, checksum(all, body), stored));
        }
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(all, MAGIC.length(), body - MAGIC.length()))) {
            String producer = in.readUTF();
            String line = in.readUTF();
            int version = in.readInt();
            long schemaId = in.readLong();
            int count = in.readInt();
            List<byte[]> bodies = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                byte[] message = new byte[in.readInt()];
                in.readFully(message);
                bodies.add(message);
            }
            if (in.available() > 0) {
                throw new IOException(file + ": " + in.available() + " bytes after the last message");
            }
            return new MessageFile(producer, line, version, schemaId, bodies);
        }
    }

    void write(Path file) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeBytes(MAGIC);
        out.writeUTF(producer);
        out.writeUTF(line);
        out.writeInt(version);
        out.writeLong(schemaId);
        out.writeInt(bodies.size());
        for (byte[] body : bodies) {
            out.writeInt(body.length);
            out.write(body);
        }
        out.writeInt(checksum(bytes.toByteArray(), bytes.size()));
        Files.write(file, bytes.toByteArray());
    }

    private static int checksum(byte[] data, int length) {
        CRC32C crc = new CRC32C();
        crc.update(data, 0, length);
        return (int) crc.getValue();
    }
}
