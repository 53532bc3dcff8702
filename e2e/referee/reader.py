"""Reads and checks Paimon tables with software that shares no code with Tributary or with Paimon's Java library.

usage: reader.py read  WAREHOUSE DB.TABLE [SNAPSHOT]   rows as sorted JSON lines of canonical text (README.md)
       reader.py check WAREHOUSE DB.TABLE [SNAPSHOT]   data files against manifests, footers and values

Rows come from paimon-rust. The check takes only fastavro and pyarrow: it prints each difference and exits with 1 if
there is one. WAREHOUSE is an absolute path. With PAIMON_CATALOG, the options of a catalog as JSON, rows come through that one,
such as from S3, and WAREHOUSE gives the schema alone.
"""

import datetime
import decimal
import json
import os
import re
import struct
import sys
from pathlib import Path

NANOS = 10**9
EPOCH = datetime.date(1970, 1, 1)


def table_path(warehouse, name):
    database, table = name.split(".", 1)
    return Path(warehouse) / f"{database}.db" / table


def newest(folder, prefix):
    """The file of that prefix with the highest number."""
    return max(folder.glob(f"{prefix}-*"), key=lambda p: int(p.name.split("-")[1]))


def read_snapshot(table, number):
    path = table / "snapshot" / f"snapshot-{number}" if number else newest(table / "snapshot", "snapshot")
    return json.loads(path.read_text())


def read_fields(table, snapshot):
    """Column name to declared type. An earlier snapshot is read with its own schema, the latest with the newest one."""
    if snapshot:
        path = table / "schema" / f"schema-{read_snapshot(table, snapshot)['schemaId']}"
    else:
        path = newest(table / "schema", "schema")
    return {f["name"]: f["type"] for f in json.loads(path.read_text())["fields"]}


# Canonical text


def precision(kind, default):
    match = re.search(r"\((\d+)", kind)
    return int(match.group(1)) if match else default


def clock(nanos, digits):
    seconds, fraction = divmod(nanos, NANOS)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    fraction = f"{fraction:09d}"
    digits = max(digits, len(fraction.rstrip("0")))
    return f"{text}.{fraction[:digits]}" if digits else text


def floating(v, single):
    """Shortest digits that read back the same, laid out as Go's strconv.FormatFloat(v, 'g', -1, bits)."""
    if v != v:
        return "NaN"
    if v in (float("inf"), float("-inf")):
        return "+Inf" if v > 0 else "-Inf"
    text = repr(v)
    if single:  # Python has no 32-bit float, so look for the shortest text that rounds to the same one
        want = struct.pack("f", v)
        texts = (f"{v:.{n}g}" for n in range(1, 10))
        text = next(t for t in texts if rounds_to(t, want))
    sign, digits, exponent = decimal.Decimal(text).normalize().as_tuple()
    exponent += len(digits) - 1
    if v == 0:
        return "-0" if sign else "0"
    if -4 <= exponent < 6:
        plain = format(decimal.Decimal(text).normalize(), "f")
        return plain
    mantissa = "".join(map(str, digits))
    mantissa = mantissa[0] + ("." + mantissa[1:] if len(mantissa) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def rounds_to(text, want):
    try:
        return struct.pack("f", float(text)) == want
    except OverflowError:  # rounded up beyond the largest float
        return False


def scalar(v, kind):
    """Text of one value; integers stand for nanoseconds in the types of time."""
    if kind.startswith("TIMESTAMP"):
        days, nanos = divmod(v, 86400 * NANOS)
        day = EPOCH + datetime.timedelta(days=days)
        zone = "Z" if "LOCAL" in kind else ""
        return f"{day.isoformat()}T{clock(nanos, precision(kind, 6))}{zone}"
    if kind.startswith("TIME"):
        return clock(v, precision(kind, 0))
    if kind.startswith(("FLOAT", "DOUBLE")):
        return floating(v, kind.startswith("FLOAT"))
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    if isinstance(v, bytes):
        return v.hex()
    return str(v)  # integers, text, dates


def canonical(v, kind):
    if v is None:
        return None
    if isinstance(kind, str):
        return scalar(v, kind)
    head = kind["type"].split()[0]
    if head == "ARRAY":
        return [canonical(x, kind["element"]) for x in v]
    if head == "MAP":
        pairs = {canonical(k, kind["key"]): canonical(x, kind["value"]) for k, x in v}
        return dict(sorted(pairs.items()))
    if head == "ROW":
        return {f["name"]: canonical(v[f["name"]], f["type"]) for f in kind["fields"]}
    raise ValueError(f"unknown type {kind}")


def python_values(column):
    """An Arrow array as Python values, with integer nanoseconds for the types of time, which Python's cut."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        unit = {"s": NANOS, "ms": 10**6, "us": 1000, "ns": 1}[kind.unit]
        whole = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        return [None if v is None else v * unit for v in whole.to_pylist()]
    if pa.types.is_map(kind):
        pairs = ((c.values.field(0), c.values.field(1)) if c.is_valid else None for c in column)
        return [None if p is None else list(zip(python_values(p[0]), python_values(p[1]))) for p in pairs]
    if pa.types.is_list(kind):
        return [python_values(c.values) if c.is_valid else None for c in column]
    if pa.types.is_struct(kind):
        names = [f.name for f in kind]
        rows = zip(*(python_values(column.field(i)) for i in range(len(names))))
        return [dict(zip(names, row)) if valid.as_py() else None for valid, row in zip(column.is_valid(), rows)]
    return column.to_pylist()


def read(warehouse, name, snapshot):
    from pypaimon_rust.datafusion import SQLContext

    fields = read_fields(table_path(warehouse, name), snapshot)
    context = SQLContext()
    options = os.environ.get("PAIMON_CATALOG")
    context.register_catalog("p", json.loads(options) if options else {"warehouse": warehouse})
    source = "p." + ".".join(f'"{part}"' for part in name.split(".", 1))
    if snapshot:
        source += f" VERSION AS OF {int(snapshot)}"
    lines = []
    for batch in context.sql(f"SELECT * FROM {source}"):
        for row in zip(*(python_values(batch.column(n)) for n in fields)):
            out = {n: canonical(v, kind) for (n, kind), v in zip(fields.items(), row)}
            lines.append(json.dumps(out, ensure_ascii=False, separators=(",", ":")).encode())
    for line in sorted(lines):
        sys.stdout.buffer.write(line + b"\n")


# Check


def live_files(table, snapshot):
    """Path to manifest entry of the files that a snapshot holds."""
    import fastavro

    def records(name):
        with open(table / "manifest" / name, "rb") as f:
            yield from fastavro.reader(f)

    where = {p.name: p for p in table.glob("**/bucket-*/*")}
    live, gone = {}, set()
    for part in ("baseManifestList", "deltaManifestList"):
        for manifest in records(snapshot[part]):
            for entry in records(manifest["_FILE_NAME"]):
                key = entry["_PARTITION"], entry["_BUCKET"], entry["_FILE"]["_LEVEL"], entry["_FILE"]["_FILE_NAME"]
                if entry["_KIND"] == 1:
                    gone.add(key)
                else:
                    live[key] = entry
    missing = [key[3] for key in live if key not in gone and key[3] not in where]
    if missing:
        sys.exit(f"live files that do not exist: {missing}")
    return {where[key[3]]: entry for key, entry in live.items() if key not in gone}


def differences(path, meta):
    """What is wrong with one data file: its size and rows in the manifest, each column chunk's statistics."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    if meta["_FILE_SIZE"] != path.stat().st_size:
        yield f"_FILE_SIZE is {meta['_FILE_SIZE']}, the file has {path.stat().st_size}"
    if meta["_ROW_COUNT"] != file.metadata.num_rows:
        yield f"_ROW_COUNT is {meta['_ROW_COUNT']}, the footer says {file.metadata.num_rows}"
    for g in range(file.num_row_groups):
        group, rows = file.metadata.row_group(g), file.read_row_group(g)
        if group.num_rows != rows.num_rows:
            yield f"row group {g} has {rows.num_rows} rows, its header says {group.num_rows}"
        for c in range(group.num_columns):
            name, stats = group.column(c).path_in_schema, group.column(c).statistics
            if "." in name or stats is None:
                continue
            values = rows.column(name)
            if stats.has_null_count and stats.null_count != values.null_count:
                yield f"{name}: null count is {stats.null_count}, there are {values.null_count}"
            if not stats.has_min_max or values.null_count == len(values):
                continue
            try:
                span = pc.min_max(values)
            except NotImplementedError:  # pyarrow has no order for this type
                continue
            low, high = span["min"].as_py(), span["max"].as_py()
            if type(stats.min) is not type(low) or low != low:
                continue  # read in another form than the footer's, or NaN, which has no order
            if stats.min > low:
                yield f"{name}: min is {stats.min!r}, the smallest value is {low!r}"
            if stats.max < high:
                yield f"{name}: max is {stats.max!r}, the largest value is {high!r}"


def check(warehouse, name, number):
    table = table_path(warehouse, name)
    snapshot = read_snapshot(table, number)
    files = live_files(table, snapshot)
    found = [f"{path}: {d}" for path, entry in sorted(files.items()) for d in differences(path, entry["_FILE"])]
    rows = sum(e["_FILE"]["_ROW_COUNT"] for e in files.values())
    if snapshot["totalRecordCount"] != rows:
        found.append(f"totalRecordCount is {snapshot['totalRecordCount']}, the files hold {rows}")
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in ("read", "check"):
        sys.exit(__doc__)
    verb = read if sys.argv[1] == "read" else check
    verb(sys.argv[2], sys.argv[3], sys.argv[4] if len(sys.argv) == 5 else None)
