package tributary.referee;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;

/** What is called differently in Paimon's releases, found by name so that one source is built against each of them. */
final class Release {
    private Release() {}

    private static Object call(Object on, String name, Object... args) throws Exception {
        for (Method method : on.getClass().getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == args.length) {
                try {
                    return method.invoke(on, args);
                } catch (InvocationTargetException e) {
                    if (e.getCause() instanceof Exception cause) {
                        throw cause;
                    }
                    throw e;
                }
            }
        }
        throw new NoSuchMethodException(on.getClass() + "." + name);
    }

    private static boolean has(Class<?> type, String name) {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name)) {
                return true;
            }
        }
        return false;
    }

    /** Unknown to 1.0. */
    static Object totalBuckets(CommitMessageImpl message) throws Exception {
        return has(CommitMessageImpl.class, "totalBuckets") ? call(message, "totalBuckets") : null;
    }

    static List<IndexFileMeta> newIndexFiles(CommitMessageImpl message) throws Exception {
        return indexFiles(message, message.newFilesIncrement(), "newIndexFiles", true);
    }

    static List<IndexFileMeta> deletedIndexFiles(CommitMessageImpl message) throws Exception {
        return indexFiles(message, message.newFilesIncrement(), "deletedIndexFiles", true);
    }

    static List<IndexFileMeta> compactNewIndexFiles(CommitMessageImpl message) throws Exception {
        return indexFiles(message, message.compactIncrement(), "newIndexFiles", false);
    }

    static List<IndexFileMeta> compactDeletedIndexFiles(CommitMessageImpl message) throws Exception {
        return indexFiles(message, message.compactIncrement(), "deletedIndexFiles", false);
    }

    /** Up to 1.2 a message has one list for both increments, which is shown with the data. */
    @SuppressWarnings("unchecked")
    private static List<IndexFileMeta> indexFiles(CommitMessageImpl message, Object increment, String list, boolean data)
            throws Exception {
        if (!has(CommitMessageImpl.class, "indexIncrement")) {
            return (List<IndexFileMeta>) call(increment, list);
        }
        return data ? (List<IndexFileMeta>) call(call(message, "indexIncrement"), list) : List.of();
    }

    /** Puts the files of one partition of a table without buckets together. */
    static CommitMessage compactUnaware(FileStoreTable table, Object write, BinaryRow partition, List<DataFileMeta> files)
            throws Exception {
        Object task = unawareTask().getConstructor(BinaryRow.class, List.class).newInstance(partition, files);
        return (CommitMessage) call(task, "doCompact", table, write);
    }

    private static Class<?> unawareTask() throws ClassNotFoundException {
        try {
            return Class.forName("org.apache.paimon.append.AppendCompactTask");
        } catch (ClassNotFoundException e) { // up to 1.1
            return Class.forName("org.apache.paimon.append.UnawareAppendCompactionTask");
        }
    }
}
