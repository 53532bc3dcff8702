package tributary.referee;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The words behind a command: plain ones in their order, and flags, of which some take the next word as their value. */
final class Arguments {
    private static final Set<String> WITH_VALUE = Set.of("--snapshot", "--user", "--to", "--static", "--dynamic");
    private static final Set<String> ALONE = Set.of("--overwrite", "--compact", "--filter");

    private final List<String> plain = new ArrayList<>();
    private final Map<String, String> flags = new LinkedHashMap<>();

    Arguments(List<String> words) {
        for (int i = 0; i < words.size(); i++) {
            String word = words.get(i);
            if (WITH_VALUE.contains(word)) {
                if (++i == words.size()) {
                    throw new IllegalArgumentException(word + " needs a value");
                }
                flags.put(word, words.get(i));
            } else if (ALONE.contains(word)) {
                flags.put(word, "");
            } else if (word.startsWith("--")) {
                throw new IllegalArgumentException("unknown flag " + word);
            } else {
                plain.add(word);
            }
        }
    }

    /** The plain word at that place; what says what it is. */
    String at(int i, String what) {
        if (i >= plain.size()) {
            throw new IllegalArgumentException("missing " + what);
        }
        return plain.get(i);
    }

    long number(int i, String what) {
        return Long.parseLong(at(i, what));
    }

    List<String> from(int i) {
        return i >= plain.size() ? List.of() : plain.subList(i, plain.size());
    }

    boolean has(String flag) {
        return flags.containsKey(flag);
    }

    String flag(String name, String otherwise) {
        return flags.getOrDefault(name, otherwise);
    }

    /** The snapshot asked for, or null for the latest. */
    Long snapshot() {
        String id = flags.get("--snapshot");
        return id == null ? null : Long.valueOf(id);
    }
}
