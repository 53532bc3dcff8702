package tributary.referee;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.RowType;

/** Values from their canonical text, the way back from Canonical. A column that the JSON does not have is NULL. */
final class Parsed {
    private Parsed() {}

    static GenericRow row(RowType type, JsonNode json) {
        GenericRow row = new GenericRow(type.getFieldCount());
        for (int i = 0; i < type.getFieldCount(); i++) {
            row.setField(i, value(type.getTypeAt(i), json.get(type.getFieldNames().get(i))));
        }
        return row;
    }

    private static Object value(DataType type, JsonNode json) {
        if (json == null || json.isNull()) {
            return null;
        }
        String text = json.asText();
        return switch (type.getTypeRoot()) {
            case BOOLEAN -> Boolean.valueOf(text);
            case TINYINT -> Byte.valueOf(text);
            case SMALLINT -> Short.valueOf(text);
            case INTEGER -> Integer.valueOf(text);
            case BIGINT -> Long.valueOf(text);
            case FLOAT -> Float.valueOf(number(text));
            case DOUBLE -> Double.valueOf(number(text));
            case DECIMAL -> {
                DecimalType decimal = (DecimalType) type;
                yield Decimal.fromBigDecimal(new BigDecimal(text), decimal.getPrecision(), decimal.getScale());
            }
            case CHAR, VARCHAR -> BinaryString.fromString(text);
            case BINARY, VARBINARY -> HexFormat.of().parseHex(text);
            case DATE -> (int) LocalDate.parse(text).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE -> (int) (LocalTime.parse(text).toNanoOfDay() / 1_000_000);
            case TIMESTAMP_WITHOUT_TIME_ZONE -> Timestamp.fromLocalDateTime(LocalDateTime.parse(text));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE -> Timestamp.fromLocalDateTime(LocalDateTime.parse(text.replaceFirst("Z$", "")));
            case ARRAY -> array(((ArrayType) type).getElementType(), json);
            case MAP -> map((MapType) type, json);
            case ROW -> row((RowType) type, json);
            default -> throw new IllegalArgumentException("no text is known for " + type);
        };
    }

    private static String number(String text) {
        return text.endsWith("Inf") ? text + "inity" : text;
    }

    private static GenericArray array(DataType element, JsonNode json) {
        Object[] out = new Object[json.size()];
        for (int i = 0; i < out.length; i++) {
            out[i] = value(element, json.get(i));
        }
        return new GenericArray(out);
    }

    private static GenericMap map(MapType type, JsonNode json) {
        Map<Object, Object> out = new LinkedHashMap<>();
        // A key is the JSON text of one, so that it is read like a value.
        json.fields().forEachRemaining(e ->
                out.put(value(type.getKeyType(), Referee.JSON.getNodeFactory().textNode(e.getKey())), value(type.getValueType(), e.getValue())));
        return new GenericMap(out);
    }
}
