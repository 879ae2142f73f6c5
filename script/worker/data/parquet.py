# SPDX-License-Identifier: MIT
"""Writes Parquet as CSV, group by group: python3 -c THIS PATH CSV [COLUMN...]. PATH is a file, or a folder of them in
the order of their names, as Spark writes one; folders in it like "Year=2015" are a column. Numbers and texts stay what they
are, truth values become 1 and 0. Exit code 3: there is no pyarrow."""
import os
import sys

try:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.dataset as ds
except ImportError as problem:
    print(problem, file=sys.stderr)
    sys.exit(3)


def plain(kind):
    """The type that a column is written as."""
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    return pa.int8() if pa.types.is_boolean(kind) else kind


def main(source, target, *columns):
    # Of a file alone the folders above it are no columns.
    table = ds.dataset(source, format="parquet", partitioning="hive" if os.path.isdir(source) else None)
    if not table.files:
        sys.exit("there is no Parquet file in this folder")
    names = list(columns) or table.schema.names
    missing = [name for name in names if name not in table.schema.names]
    if missing:
        sys.exit(f'there is no column "{missing[0]}"')
    fields = [table.schema.field(name) for name in names]
    nested = [f.name for f in fields if pa.types.is_nested(f.type)]
    if nested:
        sys.exit(f'column "{nested[0]}" holds lists or records: name the others as columns')
    schema = pa.schema([pa.field(f.name, plain(f.type)) for f in fields])
    with pc.CSVWriter(target, schema) as out:
        for batch in table.to_batches(columns=names, batch_readahead=2, fragment_readahead=1):
            arrays = [batch.column(f.name).cast(f.type) for f in schema]
            out.write_batch(pa.record_batch(arrays, schema=schema))


try:
    main(*sys.argv[1:])
except FileNotFoundError:
    sys.exit("No such file or directory")
except (OSError, pa.ArrowException) as problem:
    sys.exit(str(problem).partition("\n")[0])
