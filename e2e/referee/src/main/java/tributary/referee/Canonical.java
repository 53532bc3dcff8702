package tributary.referee;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.RowType;

/** The canonical text of values, as README.md states it: the same value has the same text from every reader. */
final class Canonical {
    private Canonical() {}

    /** Column name to text (String, List, Map or null), in schema order. */
    static Map<String, Object> row(RowType type, InternalRow row) {
        Map<String, Object> out = new LinkedHashMap<>();
        int i = 0;
        for (DataField field : type.getFields()) {
            Object value = InternalRow.createFieldGetter(field.type(), i++).getFieldOrNull(row);
            out.put(field.name(), value(field.type(), value));
        }
        return out;
    }

    private static Object value(DataType type, Object v) {
        if (v == null) {
            return null;
        }
        return switch (type.getTypeRoot()) {
            case FLOAT -> floating((Float) v, true);
            case DOUBLE -> floating((Double) v, false);
            case DECIMAL -> ((Decimal) v).toBigDecimal().toPlainString();
            case BINARY, VARBINARY -> HexFormat.of().formatHex((byte[]) v);
            case DATE -> LocalDate.ofEpochDay((Integer) v).toString();
            case TIME_WITHOUT_TIME_ZONE -> clock(LocalTime.ofNanoOfDay((Integer) v * 1_000_000L), type);
            case TIMESTAMP_WITHOUT_TIME_ZONE -> stamp((Timestamp) v, type);
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE -> stamp((Timestamp) v, type) + "Z";
            case ARRAY -> list(((ArrayType) type).getElementType(), (InternalArray) v);
            case MAP -> map((MapType) type, (InternalMap) v);
            case ROW -> row((RowType) type, (InternalRow) v);
            default -> v.toString(); // booleans, integers, strings
        };
    }

    private static List<Object> list(DataType element, InternalArray array) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(element);
        List<Object> out = new ArrayList<>();
        for (int i = 0; i < array.size(); i++) {
            out.add(value(element, getter.getElementOrNull(array, i)));
        }
        return out;
    }

    private static Map<Object, Object> map(MapType type, InternalMap map) {
        List<Object> keys = list(type.getKeyType(), map.keyArray());
        List<Object> values = list(type.getValueType(), map.valueArray());
        Map<Object, Object> out = new TreeMap<>();
        for (int i = 0; i < keys.size(); i++) {
            out.put(keys.get(i), values.get(i));
        }
        return out;
    }

    private static String stamp(Timestamp timestamp, DataType type) {
        LocalDateTime t = timestamp.toLocalDateTime();
        return t.toLocalDate() + "T" + clock(t.toLocalTime(), type);
    }

    /** As many fraction digits as the type declares; more only where a digit other than zero would be lost. */
    private static String clock(LocalTime t, DataType type) {
        String nanos = String.format("%09d", t.getNano());
        int digits = Math.max(DataTypeChecks.getPrecision(type), nanos.replaceAll("0+$", "").length());
        String seconds = String.format("%02d:%02d:%02d", t.getHour(), t.getMinute(), t.getSecond());
        return digits == 0 ? seconds : seconds + "." + nanos.substring(0, digits);
    }

    /** The shortest digits that read back as v, laid out as Go's strconv.FormatFloat(v, 'g', -1, bits). */
    private static String floating(double v, boolean single) {
        if (Double.isNaN(v)) {
            return "NaN";
        }
        if (Double.isInfinite(v)) {
            return v > 0 ? "+Inf" : "-Inf";
        }
        String sign = Double.doubleToRawLongBits(v) < 0 ? "-" : "";
        if (v == 0) {
            return sign + "0";
        }
        BigDecimal shortest = shortest(Math.abs(v), single).stripTrailingZeros();
        String digits = shortest.unscaledValue().toString();
        int exponent = digits.length() - 1 - shortest.scale();
        if (exponent >= -4 && exponent < 6) { // FormatFloat takes 6 for the precision when it looks for the shortest
            return sign + shortest.toPlainString();
        }
        String fraction = digits.length() > 1 ? "." + digits.substring(1) : "";
        return String.format("%s%s%se%s%02d", sign, digits.charAt(0), fraction, exponent < 0 ? "-" : "+", Math.abs(exponent));
    }

    /** Java's own toString is not shortest before release 19. The nearest number of n digits wins, of two the even one. */
    private static BigDecimal shortest(double v, boolean single) {
        BigDecimal exact = new BigDecimal(v);
        for (int n = 1; n <= 17; n++) {
            BigDecimal best = null;
            for (RoundingMode mode : List.of(RoundingMode.HALF_EVEN, RoundingMode.DOWN, RoundingMode.UP)) {
                BigDecimal d = exact.round(new MathContext(n, mode));
                boolean same = single ? d.floatValue() == (float) v : d.doubleValue() == v;
                if (same && (best == null || exact.subtract(d).abs().compareTo(exact.subtract(best).abs()) < 0)) {
                    best = d;
                }
            }
            if (best != null) {
                return best;
            }
        }
        return exact;
    }
}
