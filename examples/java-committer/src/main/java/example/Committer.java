package example;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.StreamTableCommit;

/** Commits the messages of files as one snapshot, once, however often it is called. */
public final class Committer {
    private static final String USAGE = "usage: Committer WAREHOUSE DATABASE.TABLE USER IDENTIFIER FILE...";

    private Committer() {}

    public static void main(String[] args) {
        int status;
        if (args.length < 5) {
            System.err.println(USAGE);
            status = 2;
        } else {
            try {
                boolean committed = commit(args[0], args[1], args[2], Long.parseLong(args[3]), List.of(args).subList(4, args.length));
                System.out.println(committed ? "committed" : "was committed before");
                status = 0;
            } catch (Exception e) {
                System.err.println(e);
                status = 1;
            }
        }
        System.exit(status); // Paimon's threads would keep the process alive
    }

    /** Answers false if a snapshot of that user has that identifier, or a later one, already. */
    static boolean commit(String warehouse, String name, String user, long identifier, List<String> files) throws Exception {
        Options options = new Options();
        options.set("warehouse", warehouse);
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options))) {
            FileStoreTable table = (FileStoreTable) catalog.getTable(Identifier.fromString(name));
            List<CommitMessage> messages = new ArrayList<>();
            for (String file : files) {
                messages.addAll(load(table, Path.of(file)));
            }
            try (StreamTableCommit commit = table.newStreamWriteBuilder().withCommitUser(user).newCommit()) {
                // Looks for the user's last snapshot first, so that a second call finds what the first one did even if its
                // answer was lost. Never abort() after an error: it may have come after the snapshot did, and abort deletes
                // the data files. Call again instead.
                return commit.filterAndCommit(Map.of(identifier, messages)) > 0;
            }
        }
    }

    private static List<CommitMessage> load(FileStoreTable table, Path path) throws IOException {
        MessageFile file = MessageFile.read(path);
        // Files keep their schema's id, so an older schema of this very table is fine.
        if (file.schemaId > table.schema().id()) {
            throw new IOException(path + ": written with schema " + file.schemaId + ", the table has " + table.schema().id());
        }
        return file.messages;
    }
}
