package tributary.referee;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** What Apache Paimon's own Java code says about a table, and does to it; README.md beside the POM has the commands. */
public final class Referee {
    static final ObjectMapper JSON = new ObjectMapper();

    private static final String USAGE = """
            usage: referee COMMAND WAREHOUSE DB.TABLE ARG...
                   read [--snapshot N], count [--snapshot N], describe [--snapshot N]
                   create SCHEMA.json, alter CHANGES.json
                   produce-messages ROWS.jsonl FILE [--overwrite] [--compact]
                   commit USER ID FILE... [--overwrite | --static k=v,..] [--dynamic true|false] [--filter]
                   abort FILE...
                   compact [--user USER] [--to FILE], expire KEEP, orphan-clean SECONDS, tag NAME [SNAPSHOT], untag NAME
                   bench-write ROWS
               or: referee message-decode FILE
                   referee message-encode FILE OUT
                   referee version
                   referee serve""";

    private Referee() {}

    public static void main(String[] argv) throws Exception {
        // Libraries that print would break the answers, so what is ours alone goes to the real stdout.
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        int status = 0;
        try {
            if (argv.length == 1 && argv[0].equals("serve")) {
                serve(out);
            } else {
                run(Arrays.asList(argv)).forEach(out::println);
            }
        } catch (IllegalArgumentException e) {
            System.err.println("referee: " + e.getMessage() + "\n" + USAGE);
            status = 2;
        } catch (Throwable e) {
            e.printStackTrace();
            status = 1;
        }
        out.flush();
        System.exit(status); // Paimon leaves threads behind that would keep the JVM alive
    }

    /** Each line {"args":[...],"out":"FILE"} runs one command into the file and is answered by {} or {"error":"..."}. */
    private static void serve(PrintStream out) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                JsonNode request = JSON.readTree(line);
                List<String> args = new ArrayList<>();
                request.get("args").forEach(a -> args.add(a.asText()));
                Files.write(Path.of(request.get("out").asText()), run(args), StandardCharsets.UTF_8);
            } catch (Throwable e) {
                StringWriter trace = new StringWriter();
                e.printStackTrace(new PrintWriter(trace));
                answer.put("error", trace.toString());
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    private static List<String> run(List<String> words) throws Exception {
        if (words.isEmpty()) {
            throw new IllegalArgumentException("no command");
        }
        String command = words.get(0);
        Arguments args = new Arguments(words.subList(1, words.size()));
        switch (command) {
            case "version":
                return json(Map.of("serializer", MessageFile.ownVersion()));
            case "message-decode":
                return json(Messages.decode(Path.of(args.at(0, "a message file"))));
            case "message-encode":
                Messages.encode(Path.of(args.at(0, "a message file")), Path.of(args.at(1, "the file to write")));
                return List.of();
            case "create":
                Catalogs.create(args.at(0, "a warehouse"), args.at(1, "a table"), Path.of(args.at(2, "a schema file")));
                return List.of();
            case "alter":
                Catalogs.alter(args.at(0, "a warehouse"), args.at(1, "a table"), Path.of(args.at(2, "a file of changes")));
                return List.of();
            default:
                return onTable(command, args);
        }
    }

    private static List<String> onTable(String command, Arguments args) throws Exception {
        var store = Catalogs.open(args.at(0, "a warehouse"), args.at(1, "a table"));
        Table table = new Table(store);
        Changes changes = new Changes(store);
        switch (command) {
            case "read":
                return table.read(args.snapshot());
            case "count":
                return json(table.count(args.snapshot()));
            case "describe":
                return json(table.describe(args.snapshot()));
            case "produce-messages":
                changes.produce(Path.of(args.at(2, "a file of rows")), Path.of(args.at(3, "the file to write")),
                        args.has("--overwrite"), args.has("--compact"));
                return List.of();
            case "commit":
                return List.of(changes.commit(args.at(2, "a user"), args.number(3, "an identifier"), args.from(4), args));
            case "abort":
                changes.abort(args.from(2));
                return List.of();
            case "compact":
                return json(Map.of("messages", new Compaction(store).run(args.flag("--user", "referee"), args.flag("--to", ""))));
            case "expire":
                return json(Map.of("expired", changes.expire((int) args.number(2, "how many to keep"))));
            case "orphan-clean":
                return changes.cleanOrphans(args.number(2, "an age in seconds"));
            case "tag":
                changes.tag(args.at(2, "a tag's name"), args.from(3).isEmpty() ? null : args.number(3, "a snapshot"));
                return List.of();
            case "bench-write":
                return json(new Throughput(store).measure(args.number(2, "how many rows")));
            case "untag":
                store.deleteTag(args.at(2, "a tag's name"));
                return List.of();
            default:
                throw new IllegalArgumentException("unknown command " + command);
        }
    }

    private static List<String> json(Object answer) throws Exception {
        return List.of(JSON.writeValueAsString(answer));
    }
}
