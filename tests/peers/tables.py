# SPDX-License-Identifier: MIT
"""tables.py WORKER: what pandas reads of tests/replay/dialects.py with the options of the same names, beside what is expected there;
and scikit-learn's own files, read by data.csv and by pandas. Prints a line for each that differs, and how many there were."""
import glob
import os
import re
import subprocess
import sys
import tempfile

import pandas
import sklearn.datasets

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "replay"))
from dialects import DIALECTS  # noqa: E402

OPTION = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|\{[^}]*\}|\w+)')
NAMES = {"separator": "sep"}
LIBRARY = {  # of each file what it takes to read it: the first line of some counts rows and names classes
    "iris.csv": 'skiprows = 1, names = { "a", "b", "c", "d", "class" }',
    "wine_data.csv": f"skiprows = 1, names = {{ {', '.join(chr(34) + f'w{i}' + chr(34) for i in range(14))} }}",
    "breast_cancer.csv": f"skiprows = 1, names = {{ {', '.join(chr(34) + f'b{i}' + chr(34) for i in range(31))} }}",
    "digits.csv.gz": "header = false",
    "diabetes_data_raw.csv.gz": 'header = false, separator = " "',
    "diabetes_target.csv.gz": "header = false",
    "linnerud_physiological.csv": 'separator = " "',
    "linnerud_exercise.csv": 'separator = " "',
}
SUMS = """
local data = require "data"
local t = data.csv { arg[1], %s }
for _, name in ipairs(t.names) do
  local sum = 0
  for _, v in ipairs(t:column(name):totable()) do sum = sum + v end
  print(("%%s %%d %%.9g"):format(name, #t, sum))
end
"""


def keywords(options):
    """Options of data.csv as arguments of read_csv."""
    found = {}
    for name, value in OPTION.findall(options):
        if value.startswith("{"):
            value = re.findall(r'"([^"]*)"', value)
        else:
            value = {"true": True, "false": None}.get(value, int(value) if value.isdigit() else value.strip('"').replace("\\t", "\t"))
        found[NAMES.get(name, name)] = value
    return found


def seconds_or_days(column, form, want):
    times = pandas.to_datetime(column, format=form or "ISO8601", utc=True)
    seconds = [int(t.timestamp()) for t in times]
    return seconds if any(abs(float(w)) > 1e6 for w in want) else [s // 86400 for s in seconds]


def same(have, want):
    if isinstance(have, bool):
        have = int(have)
    try:
        a, b = float(have), float(want)
        return a == b or a != a and b != b
    except ValueError:
        return str(have) == want


def dialect(path, options, want):
    """What is not as expected; nothing when all is."""
    given = keywords(options)
    form = given.pop("date_format", None)
    table = pandas.read_csv(path, **given)
    expected = dict(part.split("=", 1) for part in re.split(r" (?=\w+=)", want))
    for column in [c for c in table.columns if str(c).startswith("Unnamed")]:
        table = table.drop(columns=column)  # of a separator at the ends of lines
    if [str(c) for c in table.columns] != list(expected):
        return f"columns {list(table.columns)}"
    for name, values in zip(table.columns, expected.values()):
        values = values.split("|")
        have = seconds_or_days(table[name], form, values) if name == "t" else table[name].tolist()
        if len(have) != len(values) or not all(map(same, have, values)):
            return f"{name}: {have}"
    return None


def main():
    worker, count, folder = sys.argv[1], 0, tempfile.mkdtemp()
    path = os.path.join(folder, "0.csv")
    for blob, options, want in DIALECTS:
        if not re.match(r"\w+=", want):
            continue  # an error, which pandas has in words of its own
        with open(path, "wb") as f:
            f.write(blob)
        wrong = dialect(path, options, want)
        count += 1
        if wrong:
            print(f"{blob!r} {options}: pandas: {wrong}; expected {want}")
    for path in sorted(glob.glob(os.path.join(os.path.dirname(sklearn.datasets.__file__), "data", "*.csv*"))):
        options = LIBRARY[os.path.basename(path)]
        with open(os.path.join(folder, "t.lua"), "w", encoding="utf-8") as f:
            f.write(SUMS % options)
        done = subprocess.run([worker, os.path.join(folder, "t.lua"), path], capture_output=True, text=True, check=False)
        table = pandas.read_csv(path, **keywords(options))
        want = [(str(c), len(table), pandas.to_numeric(table[c], errors="coerce").sum()) for c in table.columns]
        have = [(c, int(n), float(s)) for c, n, s in (line.split() for line in done.stdout.splitlines())]
        count += 1
        if len(have) != len(want) or any(a[:2] != b[:2] or abs(a[2] - b[2]) > 1e-5 * (1 + abs(b[2])) for a, b in zip(have, want)):
            print(f"{os.path.basename(path)}: {done.stderr or have[:4]}; pandas {want[:4]}")
    print(count)


if __name__ == "__main__":
    main()
