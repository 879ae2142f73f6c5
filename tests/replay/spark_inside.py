#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an application of Spark does inside, from recorded drivers and event logs of Spark 3.5 and 4.0: in a headless run, in
reports, from Lua; and that nobody is asked while nobody looks."""
import json
import os
import time

from kernel import Connection, Kernel
from sparkdriver import Driver, events
from tap import FIRESTEEL, eventually, run, sh

SKEW = "stage 1: one task of 40 took "
FAILED = " failed: 4 tasks failed: ValueError: bad record 17"


def headless(t, source, *options, env=None, marker=""):
    folder = t.dir()
    with open(f"{folder}/nb.lua", "w", encoding="utf-8") as f:
        f.write(f"-- %% {marker}\n{source}\n")
    done = sh(FIRESTEEL, "run", "nb.lua", *options, cwd=folder, env={"HOME": folder, "KUBECONFIG": None, **(env or {})})
    return folder, done


def test_event_logs_as_records(t):
    for version in "3.5", "4.0":
        _, done = headless(t, f"""
local i = spark.inside("{events(version)}", {{ skew_seconds = 1, spill = "1m" }})
print(i.name, i.version, i.state, #i.jobs, #i.queries)
for _, f in ipairs(i.findings) do print(f.kind, f.stage, f.what) end
local skewed = i.stages[2]
print(skewed.id, skewed.tasks, skewed.skew > 4, skewed.max > skewed.median, i.executors[1].cores, i.executors[1].spilled > 1e6)""")
        assert done.code == 0, done
        assert f"inside\t{version}." in done.out and "\tended\t" in done.out, done
        assert f"skew\t1\t{SKEW}" in done.out and FAILED in done.out and "spill\t" in done.out, done
        assert "1\t40\ttrue\ttrue\t2\ttrue" in done.out, done


def test_an_event_log_below_a_cell_and_in_reports(t):
    folder, done = headless(t, f'spark.ui {{ eventlog = "{events("3.5")}", skew_seconds = 1 }}', "--report", "r.html", "--report", "r.md")
    assert done.code == 0, done
    assert "Spark inside: " in done.out and SKEW in done.out and "executors of inside, 2 cores" in done.out, done
    for name in "r.html", "r.md":
        with open(f"{folder}/{name}", encoding="utf-8") as f:
            text = f.read()
        assert SKEW in text and "PEAK HEAP" in text and "bad record 17" in text, (name, text[-3000:])


def test_a_driver_that_runs_as_records(t):
    with Driver("4.0") as driver:
        _, done = headless(t, f"""
local i = spark.inside "{driver.url}"
print(i.state, i.stages[2].state, i.stages[2].done, i.stages[2].active, #i.executors)
print(i)""")
        assert done.code == 0, done
        assert "running\tactive\t39\t1\t1" in done.out, done
        assert len(driver.asked) < 15, driver.asked


def test_what_is_no_application_is_an_error(t):
    with Driver() as driver:
        driver.page = "<html>not Spark</html>"
        _, done = headless(t, f"""
for _, of in ipairs {{ "{driver.url}", "none.log", "nb.lua", {{}}, 7 }} do print(pcall(spark.inside, of)) end
print(pcall(spark.ui, "{driver.url}", {{ every = "10ms" }}))
print(pcall(spark.ui, "{driver.url}", {{ spill = "much" }}))
print(pcall(spark.ui, "{driver.url}", {{ skwe = 3 }}))""")
    for text in ("what answers there is not Spark's REST API", "none.log: No such file", "nb.lua is no event log of Spark",
                 "spark.inside needs one of url, eventlog and pod", "spark.inside expects an application",
                 "every is half a second or more", 'spill is a size, "1 GiB"', "did you mean skew?"):
        assert text in done.out, (text, done)


GPUS = """
spark.submit {{ "local:///a.py", master = "{master}", gpu = 2, driver_gpu = {{ ["amd.com/gpu"] = 1 }}, {more}
  conf = {{ ["spark.driver.resource.gpu.amount"] = 3 }} }}"""


def test_gpus_become_settings_of_spark(t):
    home = t.dir()
    os.mkdir(f"{home}/bin")
    with open(f"{home}/bin/spark-submit", "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    os.chmod(f"{home}/bin/spark-submit", 0o755)
    discovery = "/opt/spark/examples/src/main/scripts/getGpusResources.sh"
    cases = {
        ("spark://127.0.0.1:1", "task_gpu = 0.25,"): {"executor.resource.gpu.amount=2", "driver.resource.gpu.amount=3", "task.resource.gpu.amount=0.25"},
        ("k8s", ""): {"executor.resource.gpu.amount=2", "executor.resource.gpu.vendor=nvidia.com", f"executor.resource.gpu.discoveryScript={discovery}",
                      "driver.resource.gpu.amount=3", "driver.resource.gpu.vendor=amd.com", f"driver.resource.gpu.discoveryScript={discovery}",
                      "task.resource.gpu.amount=1"},
        ("spark://127.0.0.1:1", 'gpu_discovery = "/g.sh",'): {
            "executor.resource.gpu.amount=2", "executor.resource.gpu.discoveryScript=/g.sh", "driver.resource.gpu.amount=3",
            "driver.resource.gpu.discoveryScript=/g.sh", "task.resource.gpu.amount=1"},
    }
    for (master, more), wanted in cases.items():
        _, done = headless(t, GPUS.format(master=master, more=more), "--sandbox", "--allow", "cluster", env={"SPARK_HOME": home},
                           marker='Cell effects="cluster"')
        assert done.code == 0, done
        said = {line.strip().removeprefix("spark.") for line in done.out.splitlines() if "resource." in line}
        assert said == wanted, (said ^ wanted, done)


def test_who_keeps_an_event_log_keeps_it(t):
    """Settings of others are not replaced; without any, and unless ui = false, the run has its own log."""
    home = t.dir()
    os.makedirs(f"{home}/bin")
    os.makedirs(f"{home}/conf")
    with open(f"{home}/bin/spark-submit", "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    os.chmod(f"{home}/bin/spark-submit", 0o755)
    with open(f"{home}/own.conf", "w", encoding="utf-8") as f:
        f.write("spark.eventLog.enabled true\n")

    def sets(more):
        _, done = headless(t, f'spark.submit {{ "local:///a.py", {more} }}', env={"SPARK_HOME": home})
        assert done.code == 0, done
        return "spark.eventLog.dir=file://" in done.out

    assert sets("") and not sets("ui = false")
    assert not sets('["conf"] = { ["spark.eventLog.dir"] = "s3a://logs" }')
    assert not sets(f'properties_file = "{home}/own.conf"')
    os.rename(f"{home}/own.conf", f"{home}/conf/spark-defaults.conf")
    assert not sets("")


def test_it_is_asked_while_somebody_looks_and_not_otherwise(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    with Driver() as driver:
        k = Kernel(t, "", "--socket", sock, hello=False)
        k.send(type="hello", version=1, owner=True, person=True)
        k.pid()
        k.run(f'spark.ui("{driver.url}", {{ skew_seconds = 1, every = "500ms" }})')
        k.wait(lambda e: "runs for more than" in json.dumps(e))
        k.connection.close()
        # one request may be on its way; then there is none until somebody comes back
        time.sleep(1)
        asked = len(driver.asked)
        time.sleep(2.5)
        assert len(driver.asked) == asked
        driver.then("3.5", "ended")
        k.connection = Connection.to(sock)
        k.events = k.connection.events
        k.send(type="hello", version=1, owner=True, person=True)
        k.wait(lambda e: SKEW in json.dumps(e, ensure_ascii=False))
        assert len(driver.asked) > asked
        driver.stop()
        k.wait(lambda e: e["type"] == "update" and e.get("closed"), 20)
        k.end()


run(globals())
