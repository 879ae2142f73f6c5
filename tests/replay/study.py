#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""study: repeated measurements in an order by chance, medians and ratios with exact intervals, resumed and compared."""
import glob
import itertools
import json
import math
import os
import signal
import statistics
import subprocess
import time

from tap import FIRESTEEL, eventually, run, sh
from tune import cells, do, notebook, rows, text

# scipy 1.11: for n values the largest k with scipy.stats.binom.cdf(k - 1, n, 0.5) <= 0.025, and 1 - 2 cdf(k - 1)
MEDIANS = {3: (1, 0.75), 5: (1, 0.9375), 6: (1, 0.96875), 10: (2, 0.978515625), 20: (6, 0.9586105346679688), 30: (10, 0.9572260547429323),
           100: (40, 0.9647997997822952), 1100: (518, 0.950032948054)}

A = [101.2, 99.8, 100.4, 102.0, 100.9]
B = [98.1, 100.1, 97.7, 99.0, 98.6]


def ratios(a, b):
    return sorted(x / y for x in a for y in b)


def test_intervals_are_those_of_the_books(t):
    body = "".join(f"do local v = {{}} for i = 1, {n} do v[i] = i end local m = study.median(v) print({n}, m.median, m.low, m.high, string.format('%.12f', m.confidence)) end\n" for n in MEDIANS)
    lists = {name: "{ " + ", ".join(map(str, values)) + " }" for name, values in (("a", A), ("b", B))}
    body += f"""values = {{ a = {lists['a']}, b = {lists['b']} }}
s = study {{ "q", over = {{ of = {{ "a", "b" }} }}, repeats = 5, function(p) return values[p.params.of][p["repeat"] or 1] end }}
r = s:ratio({{ of = "a" }}, {{ of = "b" }})
print("ratio", string.format("%.12f %.12f %.12f %.12f", r.ratio, r.low, r.high, r.confidence))
s = study {{ "few", over = {{ of = {{ "a", "b" }} }}, repeats = 20, warm_up = 0, function(p)
  return assert(p.params.of == "a" and 1000 + p["repeat"] or p["repeat"] <= 3 and 10 ^ p["repeat"])
end }}
r = s:ratio({{ of = "a" }}, {{ of = "b" }})
print("few", string.format("%.12f %.12f %.12f", r.low, r.high, r.confidence))
s = study {{ "many", over = {{ of = {{ "a", "b" }} }}, repeats = 165, warm_up = 0, function(p)
  return p.params.of == "a" and 1000 + p["repeat"] or 100 + p["repeat"]
end }}
r = s:ratio({{ of = "a" }}, {{ of = "b" }})
print("many", string.format("%.12f %.12f", r.low, r.high))"""
    done = do(notebook(t, cells(body)))
    assert done.code == 0, done
    for n, (k, sure) in MEDIANS.items():
        middle = f"{(n + 1) / 2:g}"
        assert f"{n}\t{middle}\t{k}\t{n + 1 - k}\t{sure:.12f}" in done.out.replace(".0\t", "\t"), (n, done.out)
    # the table of U for 5 and 5: P(U <= 2) = 4/252, so the interval is from the 3rd to the 23rd of the 25 quotients
    q = ratios(A, B)
    said = [float(x) for x in done.out.split("ratio\t")[1].split()[:4]]
    for have, want in zip(said, (q[12], q[2], q[22], 1 - 2 * 4 / 252)):
        assert abs(have - want) < 1e-9, (said, q[12], q[2], q[22], 1 - 8 / 252)
    # 3 and 20, every arrangement counted: U is the number of pairs in which one of the 20 is the lesser
    q = ratios([1000 + i for i in range(1, 21)], [10, 100, 1000])
    sums = [sum(places) - 6 for places in itertools.combinations(range(1, 24), 3)]
    k = max(k for k in range(1, 31) if sum(u < k for u in sums) <= 0.025 * len(sums))
    want = q[k - 1], q[60 - k], 1 - 2 * sum(u < k for u in sums) / len(sums)
    said = [float(x) for x in done.out.split("few\t")[1].split()[:3]]
    assert all(abs(a - b) < 1e-9 for a, b in zip(said, want)), (said, want)
    # too many to count: the normal distribution's place (Hollander, Wolfe, Chicken, 4.3)
    n, q = 165, ratios([1000 + i for i in range(1, 166)], [100 + i for i in range(1, 166)])
    k = int(n * n / 2 - statistics.NormalDist().inv_cdf(0.975) * math.sqrt(n * n * (2 * n + 1) / 12))
    said = [float(x) for x in done.out.split("many\t")[1].split()[:2]]
    assert all(abs(a - b) < 1e-9 for a, b in zip(said, (q[k - 1], q[n * n - k]))), (said, q[k - 1], q[n * n - k])


STUDY = """s = study { "sched", over = { master = { "a", "b" }, executors = { 1, 2 } }, repeats = 4, warm_up = 2, seed = 5, metric = "ips", function(p)
  if p.params.master == "b" and p.params.executors == 2 and p["repeat"] == 3 then error "lost an executor" end
  if p.warm_up then return { ips = 1e9, secs = 1 } end
  return { ips = (p.params.master == "a" and 100 or 50) * p.params.executors + p["repeat"], secs = 1 }
end }
"""


def test_an_order_by_chance_warm_ups_apart_and_failures_shown(t):
    cwd = notebook(t, cells(STUDY + """print("medians", s:table()[1].ips, s:table()[4].ips, s:table()[4].failed, #s[4].values.ips)
print(s:ratio({ master = "a", executors = 2 }, { master = "b", executors = 2 }).ratio > 1.9)"""))
    done = do(cwd)
    assert done.code == 0 and "medians\t102.5\t102\t1\t3" in done.out, done
    assert "1 failed: cell 0:2: lost an executor" in done.out, done.out
    all_of = rows(cwd)
    assert len(all_of) == 4 * 6 and all_of["sched/4.3"]["state"] == "failed" and all_of["sched/4.w1"]["tags"]["warm_up"] is True, all_of
    order = [name for name, r in sorted(all_of.items(), key=lambda item: item[1]["tags"]["order"])]
    assert all(".w" in name for name in order[:8]) and not any(".w" in name for name in order[8:]), order
    rounds = [order[i:i + 4] for i in range(8, 24, 4)]
    assert all(len({name.split(".")[1] for name in r}) == 1 and len(set(r)) == 4 for r in rounds), rounds
    assert len({tuple(name.split(".")[0] for name in r) for r in rounds}) > 1, rounds
    # the same seed, the same order; another one, another
    same, other = notebook(t, cells(STUDY)), notebook(t, cells(STUDY.replace("seed = 5", "seed = 6")))
    assert do(same).code == 0 and do(other).code == 0
    assert list(rows(same)) == order != list(rows(other))
    parent, = json.loads(sh(FIRESTEEL, "runs", "-o", "json", cwd=cwd).out)
    assert parent["params"] == {"sched.seed": 5} and not parent["metrics"], parent


def test_an_earlier_study_beside_it(t):
    cwd = notebook(t, cells(STUDY))
    assert do(cwd).code == 0
    with open(os.path.join(cwd, "n.lua"), "w", encoding="utf-8") as f:
        f.write(cells(STUDY.replace('"a" and 100', '"a" and 110') + 'c = s:compare("newest")\nprint("now", c[1].now, c[1]["then"], c[2].now, c[2].ratio)\nc',
                      'print(select(2, pcall(s.compare, s, "no-such-run")))'))
    done = do(cwd)
    assert done.code == 0 and "now\t112.5\t102.5\t52.5\t1.0" in done.out and "there is no run no-such-run" in done.out, done
    assert "sched: ips now, and then (n-" in done.out, done.out


RESUMED = cells("""s = study { "r", over = { x = { 1, 2 } }, repeats = 3, warm_up = 1, seed = 1, function(p)
  sh("echo " .. p.name .. " >> did")
  if p["repeat"] == 2 and not fs.exists "go" then sh "touch waits; sleep 600" end
  return p.params.x
end }""", 'print("n", #s[1].values.value, #s[2].values.value)')


def test_a_resumed_run_goes_on_at_the_first_missing_one(t):
    cwd = notebook(t, RESUMED)
    child = subprocess.Popen([FIRESTEEL, "run", "n.lua"], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: os.path.exists(os.path.join(cwd, "waits")))
    time.sleep(0.2)
    journal, = glob.glob(os.path.join(cwd, ".firesteel", "*.jsonl"))
    os.kill(json.loads(text(cwd, journal).splitlines()[0])["pid"], signal.SIGKILL)
    child.wait(60)
    with open(os.path.join(cwd, "go"), "w", encoding="utf-8"):
        pass
    before = text(cwd, "did").split()
    assert len(before) == 5, before
    done = do(cwd, "--resume", "last")
    assert done.code == 0 and "n\t3\t3" in done.out, done
    did = text(cwd, "did").split()
    assert did[:5] == before and did[5] == before[4] and len(did) == 9 and len(set(did)) == 8, did


WRONG = {
    "study { over = {}, function() end }": "over is empty",
    "study { over = { x = { 1 } } }": "a function that measures once",
    "study { over = { x = { 1 } }, repeats = 0, function() end }": "repeats must be an integer from 1 to 1000",
    "study { over = { x = { 1 } }, warm_up = -1, function() end }": "warm_up must be an integer from 0",
    "study { over = { x = { 1 } }, confidence = 2, function() end }": "confidence is between 0 and 1",
    'study { over = { x = { 1 } }, function() return "fast" end }': "returned no number",
    'study { over = { x = { 1 } }, function() error "broken" end }': "no measurement succeeded; the first:",
    'study { over = { x = { 1 } }, fail_fast = true, function() error "broken" end }': "/1.w1 failed:",
    "good:ratio({ y = 1 }, { x = 1 })": "has no parameter y",
    "good:ratio({ x = 3 }, { x = 1 })": "is none of the combinations",
    "two:ratio({ x = 1 }, { x = 2, y = 1 })": "is more than one combination: x=1 y=1, and x=1 y=2",
    "good:ratio({ x = 0 }, { x = 1 })": "a ratio is of numbers above 0",
    'good:ratio({ x = 1 }, { x = 1 }, { metric = "ipss" })': "has no metric ipss",
    'study { over = { x = 1 }, metric = "ipss", function() return { ips = 1 } end }': '/1.w1 gave no metric "ipss"; it gave ips; did you mean ips?',
    'study { over = { x = 1 }, function() return 0 / 0 end }': "no measurement succeeded; the first: value is no number (nan)",
    "study.median { 1, 0 / 0 }": "value 2 is no number",
    "study.median {}": "there are no values",
}


def test_what_is_wrong_is_told(t):
    body = """good = study { over = { x = { 0, 1 } }, repeats = 1, warm_up = 0, function(p) return p.params.x end }
two = study { over = { x = { 1, 2 }, y = { 1, 2 } }, repeats = 1, warm_up = 0, function(p) return p.params.x end }
"""
    body += "".join(f"print(select(2, pcall(function() return {call} end)))\n" for call in WRONG)
    done = do(notebook(t, cells(body)))
    for call, said in WRONG.items():
        assert said in done.out, (call, said, done.out)


if __name__ == "__main__":
    run(globals())
