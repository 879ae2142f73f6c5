#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What frames are computed with, beside the same in plain Python: joins, groups, windows, dates."""
import csv
import datetime
import math
import os
import random
import statistics

from tap import BUILD, run, sh, unplaced

WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
FIRST = datetime.date(2013, 12, 20)


def work(t, text, folder=None, **rest):
    folder = folder or t.dir()
    with open(os.path.join(folder, "trainer.lua"), "w", encoding="utf-8") as f:
        f.write('local data = require "data"\n' + text)
    return sh(WORKER, "trainer.lua", cwd=folder, **rest)


def sales(t, n=600):
    """A folder with sales.csv and stores.csv, and the rows of the first."""
    folder, dice = t.dir(), random.Random(7)
    rows = []
    for _ in range(n):
        store, day = dice.randint(1, 9), FIRST + datetime.timedelta(dice.randint(0, 800))
        value = "" if dice.random() < 0.1 else dice.choice((dice.randint(0, 500), round(dice.uniform(0, 500), 3)))
        rows.append((store, day, value, int(dice.random() < 0.2), dice.choice(("a", "b", "", "0"))))
    with open(os.path.join(folder, "sales.csv"), "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        out.writerow(("Store", "Date", "Sales", "Promo", "Holiday"))
        out.writerows(rows)
    with open(os.path.join(folder, "stores.csv"), "w", encoding="utf-8") as f:
        f.write("Store,City,Size\n" + "".join(f"{s},city {s % 3},{s * 10}\n" for s in range(1, 8)))
    return folder, [(s, d, None if v == "" else float(v), p, h or None) for s, d, v, p, h in rows]


def table(folder, name):
    """A file that data.save wrote, as lists by column; numbers as such, None for what is missing."""
    def value(text):
        try:
            return float(text)
        except ValueError:
            return text or None
    with open(os.path.join(folder, name), encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))
    return {title: [value(row[i]) for row in rows[1:]] for i, title in enumerate(rows[0])}


def near(got, want):
    assert len(got) == len(want), (len(got), len(want))
    for i, (a, b) in enumerate(zip(got, want)):
        same = a == b if a is None or b is None or isinstance(b, str) else math.isclose(a, b, rel_tol=2e-6, abs_tol=1e-6)
        assert same, (i, a, b)


def test_joins_take_the_row_with_the_same_keys(t):
    folder, rows = sales(t)
    done = work(t, """
local s, stores = data.csv "sales.csv", data.csv { "stores.csv", types = { Store = "category" } }
data.save("left.csv", s:join(stores, "Store", { how = "left" }))
data.save("inner.csv", s:join(stores:select { "City", "Store" }, { "Store" }, { how = "inner" }))
local two = s:groupby({ "Holiday", "Store" }):agg { Most = { "Sales", "max" } }
data.save("two.csv", s:join(two, { "Store", "Holiday" }))
print(pcall(s.join, s, stores, "Store"))
print(pcall(s.join, s, data.concat { stores, stores:slice(3, 4) }, "Store"))
print(pcall(s.join, s, stores, "Store", { how = "outer" }))
""", folder)
    assert done.code == 0, done
    left, inner, two = table(folder, "left.csv"), table(folder, "inner.csv"), table(folder, "two.csv")
    assert left["City"] == [f"city {s % 3}" if s < 8 else None for s, *_ in rows]
    near(left["Size"], [s * 10 if s < 8 else None for s, *_ in rows])
    near(inner["Store"], [s for s, *_ in rows if s < 8])
    assert inner["City"] == [f"city {s % 3}" for s, *_ in rows if s < 8] and "Size" not in inner
    most = {}
    for s, _, v, _, h in rows:
        most[s, h] = max((x for x in (most.get((s, h)), v) if x is not None), default=None)
    near(two["Most"], [most[s, h] for s, _, _, _, h in rows])
    missing = next(i for i, row in enumerate(rows) if row[0] >= 8)
    assert unplaced(done.out).splitlines() == [
        f"false\tjoin: row {missing} has '{rows[missing][0]}' in column 'Store', which the other frame has not",
        "false\tjoin: '4' is twice in column 'Store' of the other frame",
        'false\tjoin: how must be "left" or "inner", got "outer"'], done


def test_groups_become_one_row_each(t):
    folder, rows = sales(t)
    done = work(t, """
local s = data.csv "sales.csv"
local spec = {}
for _, how in ipairs { "size", "count", "sum", "mean", "std", "min", "max", "median", "first", "last" } do spec[how] = { "Sales", how } end
spec.kind, spec.promos = { "Holiday", "first" }, { "Promo", "sum" }
local g = s:groupby { "Store", "Holiday" }
data.save("groups.csv", g:agg(spec))
data.save("mean.csv", s:with("Mean", g:transform("Sales", "mean")))
print(g:agg { n = { "Promo", "sum" } }.n.dtype, pcall(g.agg, g, { x = { "Holiday", "mean" } }))
print(pcall(g.agg, g, { x = { "Sales", "mode" } }))
""", folder)
    assert done.code == 0, done
    groups = {}
    for s, _, v, p, h in rows:
        groups.setdefault((s, h), []).append((v, p, h))
    got = table(folder, "groups.csv")
    assert list(zip(got["Store"], got["Holiday"])) == [(s, h if h != "0" else 0) for s, h in groups]
    known = [[v for v, _, _ in g if v is not None] for g in groups.values()]
    assert any(not k for k in known) or len(groups) == 36
    near(got["size"], [len(g) for g in groups.values()])
    near(got["promos"], [sum(p for _, p, _ in g) for g in groups.values()])
    for name, fn, least in (("count", len, 0), ("sum", sum, 0), ("mean", statistics.fmean, 1), ("std", statistics.stdev, 2),
                            ("min", min, 1), ("max", max, 1), ("median", statistics.median, 1), ("first", lambda k: k[0], 1),
                            ("last", lambda k: k[-1], 1)):
        near(got[name], [fn(k) if len(k) >= least else None for k in known])
    means = {key: statistics.fmean(k) if k else None for key, k in zip(groups, known)}
    near(table(folder, "mean.csv")["Mean"], [means[s, h] for s, _, _, _, h in rows])
    lines = unplaced(done.out).splitlines()
    assert lines[0] == "i64\tfalse\tgroupby: the mean of column 'Holiday', which has categories", done
    assert 'unknown aggregate "mode"' in lines[1], done


def test_integers_of_a_group_are_added_exactly(t):
    folder = t.dir()
    big = 2 ** 53
    with open(os.path.join(folder, "big.csv"), "w", encoding="utf-8") as f:
        f.write(f"k,v\na,1\na,{big + 1}\nb,{2 ** 63 - 2}\nb,1\n")
    done = work(t, """
local g = data.csv "big.csv":groupby { "k" }
for _, how in ipairs { "sum", "max", "last" } do print(tostring(g:agg { x = { "v", how } }.x)) end
""", folder)
    assert unplaced(done.out).splitlines() == [f"[{big + 2}, {2 ** 63 - 1}]", f"[{big + 1}, {2 ** 63 - 2}]", f"[{big + 1}, 1]"], done


def test_windows_shifts_and_days_since(t):
    folder, rows = sales(t)
    done = work(t, """
local s = data.csv("sales.csv"):sort_values { "Store", "Date" }
local g = s:groupby "Store"
data.save("windows.csv", s:with("Before", g:shift("Sales")):with("After", g:shift("Sales", -2)):with("Sum", g:cumsum "Sales")
  :with("Week", g:rolling("Sales", { window = 7, min_periods = 3 })):with("Top", g:rolling("Sales", { window = 4, how = "max" }))
  :with("Since", g:elapsed("Promo", "Date")):with("Until", g:elapsed("Promo", "Date", { backward = true })))
""", folder)
    assert done.code == 0, done
    got = table(folder, "windows.csv")
    rows = sorted(rows, key=lambda r: (r[0], r[1])) # stable, as ours
    near(got["Store"], [r[0] for r in rows])
    near(got["Sales"], [r[2] for r in rows])
    want = {name: [] for name in ("Before", "After", "Sum", "Week", "Top", "Since", "Until")}
    for store in range(1, 10):
        mine = [r for r in rows if r[0] == store]
        values, total = [r[2] for r in mine], 0
        for i, v in enumerate(values):
            total += v or 0
            want["Before"].append(values[i - 1] if i >= 1 else None)
            want["After"].append(values[i + 2] if i + 2 < len(values) else None)
            want["Sum"].append(None if v is None else total)
            for name, size, least, fn in (("Week", 7, 3, statistics.fmean), ("Top", 4, 4, max)):
                window = [x for x in values[max(0, i - size + 1):i + 1] if x is not None]
                want[name].append(fn(window) if len(window) >= least else None)
            for name, past in (("Since", mine[i::-1]), ("Until", mine[i:])):
                last = next((r[1] for r in past if r[3]), past[-1][1])
                want[name].append((mine[i][1] - last).days)
    for name, values in want.items():
        near(got[name], values)


def test_what_makes_no_sense_is_told(t):
    folder, _ = sales(t)
    done = work(t, """
local s = data.csv "sales.csv"
local g = s:groupby "Store"
local function told(fn, ...) print((select(2, pcall(fn, ...)))) end
told(g.agg, g, { Store = { "Sales", "mean" } })
told(g.agg, g, { A = { "Sales" } })
told(g.agg, g)
told(g.transform, g, "Sales")
told(g.rolling, g, "Sales")
told(g.rolling, g, "Holiday", { window = 2 })
told(g.cumsum, g, "Holiday")
told(g.elapsed, g, "Holiday", "Date")
told(g.elapsed, g, "Promo", "Holiday")
told(s.expand_date, s, "Sales")
told(s.expand_date, s, "Holiday", { "Year" })
told(s.fillna, s, { Sales = "none" })
told(s.fillna, s, 0)
local first = g:agg { First = { "Date", "min" } }
print(first:stats("First").kind, #first:expand_date("First", { "Year" }).Year)
""", folder)
    assert done.code == 0, done
    date = """data.csv { …, types = { %s = "date" } } reads it as one"""
    assert unplaced(done.out).splitlines() == [
        "agg: two columns would be called 'Store'",
        """agg: how are the values of column 'Sales' taken together? Name it, as "mean\"""",
        """agg: expects { Name = { "Column", "mean" } }, got a nil""",
        """transform: how are the values of column 'Sales' taken together? Name it, as "mean\"""",
        "rolling: how many rows has the window? { window = 7 }",
        "rolling: column 'Holiday' has categories, not numbers",
        "cumsum: column 'Holiday' has categories, not numbers",
        "elapsed: column 'Holiday' has categories, not numbers",
        "elapsed: column 'Holiday' has categories, not numbers",
        "expand_date: column 'Sales' is a number, not a date; " + date % "Sales",
        "expand_date: column 'Holiday' is a category, not a date; " + date % "Holiday",
        "fillna: column 'Sales' has numbers; it is filled with a number, not with a string",
        "fillna: expects { Column = value }, got a number",
        "date\t9"], done


def test_rows_are_sorted_with_missing_values_last(t):
    folder, rows = sales(t)
    done = work(t, """
local s = data.csv "sales.csv"
data.save("up.csv", s:sort_values { "Holiday", "Sales" })
data.save("down.csv", s:sort_values { "Holiday", "Sales", ascending = { true, false } })
data.save("back.csv", s:sort_values { "Holiday", ascending = false })
""", folder)
    assert done.code == 0, done

    def holidays(rows):
        return [0 if r[4] == "0" else r[4] for r in rows]
    for name, sign in (("up.csv", 1), ("down.csv", -1)):
        want = sorted(rows, key=lambda r, sign=sign: (r[4] is None, r[4] or "", r[2] is None, sign * (r[2] or 0)))
        near(table(folder, name)["Sales"], [r[2] for r in want])
        assert table(folder, name)["Holiday"] == holidays(want)
    want = [r for h in ("b", "a", "0", None) for r in rows if r[4] == h]
    assert table(folder, "back.csv")["Holiday"] == holidays(want)
    near(table(folder, "back.csv")["Store"], [r[0] for r in want])


def test_parts_of_dates_are_those_of_the_calendar(t):
    folder = t.dir()
    days = [datetime.date(1581, 12, 31) + datetime.timedelta(i * 97) for i in range(3000)]
    days += [datetime.date(y, m, d) for y in range(1965, 2035) for m, d in ((1, 1), (1, 4), (2, 28), (12, 28), (12, 31))]
    with open(os.path.join(folder, "days.csv"), "w", encoding="utf-8") as f:
        f.write("Date\n" + "".join(f"{d.isoformat()}\n" for d in days))
    done = work(t, 'data.save("parts.csv", data.csv("days.csv"):expand_date "Date")\n'
                   'print(pcall(function() data.csv("days.csv"):expand_date("Date", { "Hour" }) end))', folder)
    assert done.code == 0 and 'a date has no part "Hour"' in done.out, done
    got = table(folder, "parts.csv")
    want = {"Year": lambda d: d.year, "Month": lambda d: d.month, "Day": lambda d: d.day, "Week": lambda d: d.isocalendar()[1],
            "DayOfWeek": lambda d: d.isoweekday(), "DayOfYear": lambda d: d.timetuple().tm_yday}
    for name, fn in want.items():
        near(got[name], [fn(d) for d in days])


def test_functions_of_rows_make_and_choose(t):
    folder, rows = sales(t)
    done = work(t, """
local s = data.csv "sales.csv"
local calls = 0
s = s:with("Loud", { "Holiday" }, function(h) calls = calls + 1 return h and h:upper() or "NONE" end)
print(calls, table.concat(s:categories "Loud", " "), s:stats("Loud").missing)
s = s:with("Twice", { "Sales", "Promo" }, function(v, promo) return v and v * 2 + promo end)
s = s:with("Big", { "Sales" }, function(v) return v ~= nil and v > 250 end)
data.save("made.csv", s:filter({ "Store", "Holiday" }, function(store, h) return store < 4 and h ~= "a" end))
print(#s:filter(s.Big) == #s:filter({ "Big" }, function(big) return big == 1 end), s.Big.dtype, s.Twice.dtype, s:stats("Twice").missing)
print(pcall(s.with, s, "X", { "Store" }, function(store) return store > 5 and "far" or 1 end))
print(pcall(s.with, s, "X", { "Store" }, function() return {} end))
print((select(2, pcall(s.with, s, "X", { "Store" }, function() error("oh") end)):gsub("^.-: ", "")))
local f = s:fillna { Sales = 0, Holiday = "none" }
print(f:stats("Sales").missing, f:stats("Holiday").missing, f:stats("Sales").min)
local c = s:categorize { "Store", "Sales" }
print(table.concat(c:categories "Store", " "), c:codes("Store"):min(), c:codes("Sales"):min(), #c:categories "Sales")
""", folder)
    assert done.code == 0, done
    kept = [r for r in rows if r[0] < 4 and r[4] != "a"]
    got = table(folder, "made.csv")
    near(got["Twice"], [None if r[2] is None else r[2] * 2 + r[3] for r in kept])
    near(got["Big"], [int(r[2] is not None and r[2] > 250) for r in kept])
    assert got["Loud"] == ["NONE" if r[4] is None else 0 if r[4] == "0" else r[4].upper() for r in kept]
    lines, missing = unplaced(done.out).splitlines(), sum(r[2] is None for r in rows)
    assert lines[0].startswith("4\t") and sorted(lines[0].split("\t")[1].split()) == ["0", "A", "B", "NONE"], done
    assert lines[1] == f"true\ti64\tf32\t{missing}", done
    assert "the function returns numbers as well as texts" in lines[2] and "returned a table" in lines[3] and lines[4] == "oh", done
    assert lines[5] == "0\t0\t0.0", done
    distinct = len({r[2] for r in rows if r[2] is not None})
    assert lines[6] == f"1 2 3 4 5 6 7 8 9\t1\t0\t{distinct}", done


def test_a_join_loses_no_column_and_no_key(t):
    done = work(t, """
local function i64(list) return data.tensor(list, { dtype = "i64" }) end
local a = data.frame { { "S", i64 { 1, 2 } }, { "v", data.tensor { 1, 2 } } }
local b = data.frame { { "S", i64 { 2, 3, 1 } }, { "v", data.tensor { 20, 30, 10 } } }
print(select(2, pcall(a.join, a, b, "S")))
print(table.concat(a:join(b:rename { v = "w" }, "S").names, " "))
-- Numbers that are no category of the other frame are different ones.
local named = data.frame { { "S", i64 { 1, 7 } } }:categorize "S"
local other = b:drop "v":with("w", { "S" }, function(s) return 10 * s end)
print(named:join(other, "S", { how = "left" }):stats("w").missing, named:join(other, "S", { how = "inner" }).w)
print(select(2, pcall(named.join, named, data.concat { other, other:slice(1, 2) }, "S")))
""")
    assert done.code == 0 and unplaced(done.out).splitlines() == [
        "join: both frames have a column 'v': give it another name in one of them, or drop it there, as "
        'other:rename { ["v"] = "other v" }', "S v w", "1\t[10]",
        "join: '3' is twice in column 'S' of the other frame"], done


def test_a_file_of_one_column_keeps_what_is_missing(t):
    folder = t.dir()
    done = work(t, """
local s = data.frame { { "s", data.tensor { 1.5, 0 / 0, 3 } } }
data.save("s.csv", s)
data.save("c.csv", s:with("c", { "s" }, function(v) return v and "x" or nil end):select { "c" })
print(#data.csv "s.csv", data.csv("s.csv"):stats("s").missing, #data.csv "c.csv", data.csv("c.csv"):stats("c").missing)
""", folder)
    assert done.out == "3\t1\t3\t1\n", done
    with open(os.path.join(folder, "s.csv"), encoding="utf-8") as f:
        assert f.read() == 's\n1.5\n""\n3\n'


def test_what_a_left_join_does_not_find_is_missing(t):
    done = work(t, """
local a = data.frame { { "k", data.tensor({ 1, 2, 3, 4 }, { dtype = "i64" }) } }
local b = data.frame { { "k", data.tensor({ 1, 2 }, { dtype = "i64" }) } }:with("v", { "k" }, function(k) return 10.5 * k end)
b = b:with("c", { "k" }, function(k) return k == 1 and "one" or nil end)
local both = a:join(b, "k", { how = "left" })
local v = both:stats "v"
print(v.missing, v.mean, v.min, v.max, both:stats("c").missing, b:stats("v").missing, b:stats("c").missing)
local t = setmetatable({}, { __mode = "v" })
local whole = a:with("w", { "k" }, function(k) return k / 2 end)
t[1] = whole.w
local part = whole:filter({ "k" }, function(k) return k == 1 end)
whole = nil
collectgarbage() collectgarbage()
print(t[1], part:stats("w").mean)
""")
    assert (done.code, done.out) == (0, "2\t15.75\t10.5\t21.0\t3\t0\t1\nnil\t1.25\n"), done


def test_frames_one_below_the_other_share_their_categories(t):
    done = work(t, """
local a = data.frame { { "n", data.tensor({ 1, 2 }, { dtype = "i64" }) } }:with("k", { "n" }, function(n) return "k" .. n end)
local b = data.frame { { "n", data.tensor { 0.5, 3 } } }:with("k", { "n" }, function(n) return n > 1 and "k2" or "new" end)
local both = data.concat { a, b }
print(both.n, both:codes "k", table.concat(both:categories "k", " "), both:stats("n").mean)
print(pcall(data.concat, { a, b:rename { k = "other" } }))
print(pcall(data.concat, { a, b:drop "k":with("k", b.n) }))
print(table.concat(a:rename { n = "m" }.names, " "), #both:head(3), table.concat(both:select { "k" }.names, " "))
""")
    assert done.code == 0, done
    assert unplaced(done.out).splitlines() == [
        "[1, 2, 0.5, 3]\t[1, 2, 3, 2]\tk1 k2 new\t1.625",
        "false\tthe frame has no column 'k'; it has n, other",
        "false\tdata.concat: column 'k' is a category in one frame and a number in another",
        "m k\t3\tk"], done


def test_integers_are_i64_however_narrow_they_are_kept(t):
    folder, _ = sales(t)
    done = work(t, """
local stores = data.csv "stores.csv"
local s = data.csv("sales.csv"):join(stores, "Store", { how = "inner" }):sort_values { "Size", "Date" }
local g = s:groupby "Store"
for _, column in ipairs {
  stores.Size, stores.City, s.Store, s.City, s.Size, s.Date, s:filter({ "Size" }, function(size) return size > 30 end).City,
  data.concat { s, s }.Size, s:categorize("Size").Size, s:expand_date("Date", { "Year" }).Year, g:transform("Size", "max"), g:shift("City", 1),
  g:agg({ Most = { "Size", "max" } }).Most, s:slice(3, 9).Size, s:rename({ Size = "Area" }).Area, s:fillna({ Sales = 0.5 }).Promo,
  s:codes "City", data.frame({ { "n", data.tensor({ 1, 2 }, { dtype = "i64" }) } }).n,
} do io.write(column.dtype, " ") end
print()
local small = data.frame { { "n", data.tensor({ 1, 2 }, { dtype = "u8" }) } }
print(small.n.dtype, small:with("m", small.n * 300).m, data.concat({ small, small }).n.dtype)
local twice = { pcall(s.join, s, data.concat { stores, stores }, "Store") }
print(twice[2])
""", folder)
    assert done.code == 0, done
    lines = unplaced(done.out).splitlines()
    assert set(lines[0].split()) == {"i64"}, done
    assert lines[1] == "u8\t[300, 600]\ti64", done
    assert "is twice in column 'Store' of the other frame" in lines[2], done


def test_columns_with_the_names_of_functions(t):
    folder = t.dir()
    with open(os.path.join(folder, "odd.csv"), "w", encoding="utf-8") as f:
        f.write("filter,names,rows,columns,head\n1,2,3,4,5\n6,7,8,9,10\n")
    done = work(t, """
local t = data.csv "odd.csv"
for _, name in ipairs(t.names) do io.write(t:column(name)[1], " ") end
print(type(t.filter), t:numbers({ "rows", "head" })[1], #t:filter({ "names" }, function(n) return n > 2 end))
print(pcall(t.column, t, "tail"))
""", folder)
    assert unplaced(done.out).splitlines() == [
        "6 7 8 9 10 function\t[8, 10]\t1", "false\tthe frame has no column 'tail'; it has filter, names, rows, columns, head"], done


run(globals())
