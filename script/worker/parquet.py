# SPDX-License-Identifier: MIT
"""Writes a Parquet file as CSV, group by group: python3 -c THIS FILE CSV [COLUMN...]. Numbers and texts stay what
they are, truth values become 1 and 0. Exit code 3: there is no pyarrow."""
import sys

try:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq
except ImportError:
    sys.exit(3)


def plain(kind):
    """The type that a column is written as."""
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    return pa.int8() if pa.types.is_boolean(kind) else kind


def main(source, target, *columns):
    table = pq.ParquetFile(source)
    names = list(columns) or table.schema_arrow.names
    missing = [name for name in names if name not in table.schema_arrow.names]
    if missing:
        sys.exit(f'there is no column "{missing[0]}"')
    fields = [table.schema_arrow.field(name) for name in names]
    nested = [f.name for f in fields if pa.types.is_nested(f.type)]
    if nested:
        sys.exit(f'column "{nested[0]}" holds lists or records: name the others as columns')
    schema = pa.schema([pa.field(f.name, plain(f.type)) for f in fields])
    with pc.CSVWriter(target, schema) as out:
        for batch in table.iter_batches(columns=names):
            arrays = [batch.column(f.name).cast(f.type) for f in schema]
            out.write_batch(pa.record_batch(arrays, schema=schema))


try:
    main(*sys.argv[1:])
except (OSError, pa.ArrowException) as problem:
    sys.exit(str(problem))
