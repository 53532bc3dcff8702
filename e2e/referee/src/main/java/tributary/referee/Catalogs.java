package tributary.referee;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.DataTypeJsonParser;

/** Tables of a warehouse with a file system catalog: found, made and changed. */
final class Catalogs {
    private Catalogs() {}

    private static Catalog catalog(String warehouse) {
        Options options = new Options();
        options.set("warehouse", warehouse);
        // What another process commits must be seen at once, and one process serves many tests.
        options.set("cache-enabled", "false");
        return CatalogFactory.createCatalog(CatalogContext.create(options));
    }

    static FileStoreTable open(String warehouse, String name) throws Exception {
        try (Catalog catalog = catalog(warehouse)) {
            return (FileStoreTable) catalog.getTable(Identifier.fromString(name));
        }
    }

    /** The schema is {"fields":[{"name","type","description"}],"partitionKeys":[],"primaryKeys":[],"options":{},"comment"}. */
    static void create(String warehouse, String name, Path file) throws Exception {
        JsonNode json = Referee.JSON.readTree(file.toFile());
        Schema.Builder schema = Schema.newBuilder();
        for (JsonNode field : json.get("fields")) {
            String description = field.hasNonNull("description") ? field.get("description").asText() : null;
            schema.column(field.get("name").asText(), DataTypeJsonParser.parseDataType(field.get("type")), description);
        }
        schema.partitionKeys(texts(json.path("partitionKeys")));
        schema.primaryKey(texts(json.path("primaryKeys")));
        Map<String, String> options = new LinkedHashMap<>();
        json.path("options").fields().forEachRemaining(e -> options.put(e.getKey(), e.getValue().asText()));
        schema.options(options);
        if (json.hasNonNull("comment")) {
            schema.comment(json.get("comment").asText());
        }
        Identifier id = Identifier.fromString(name);
        try (Catalog catalog = catalog(warehouse)) {
            catalog.createDatabase(id.getDatabaseName(), true);
            catalog.createTable(id, schema.build(), false);
        }
    }

    private static List<String> texts(JsonNode array) {
        List<String> out = new ArrayList<>();
        array.forEach(e -> out.add(e.asText()));
        return out;
    }

    /** The changes are a list of {"add","type"}, {"drop"}, {"rename","to"}, {"retype","type"} and {"set","to"}. */
    static void alter(String warehouse, String name, Path file) throws Exception {
        List<SchemaChange> changes = new ArrayList<>();
        for (JsonNode change : Referee.JSON.readTree(file.toFile())) {
            changes.add(change(change));
        }
        try (Catalog catalog = catalog(warehouse)) {
            catalog.alterTable(Identifier.fromString(name), changes, false);
        }
    }

    private static SchemaChange change(JsonNode json) {
        if (json.has("add")) {
            return SchemaChange.addColumn(json.get("add").asText(), DataTypeJsonParser.parseDataType(json.get("type")));
        }
        if (json.has("drop")) {
            return SchemaChange.dropColumn(json.get("drop").asText());
        }
        if (json.has("rename")) {
            return SchemaChange.renameColumn(json.get("rename").asText(), json.get("to").asText());
        }
        if (json.has("retype")) {
            return SchemaChange.updateColumnType(
                    json.get("retype").asText(), DataTypeJsonParser.parseDataType(json.get("type")));
        }
        if (json.has("set")) {
            return SchemaChange.setOption(json.get("set").asText(), json.get("to").asText());
        }
        throw new IllegalArgumentException("no change is written as " + json);
    }
}
