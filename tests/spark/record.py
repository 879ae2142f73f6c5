#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what test-sparkui replays: record.py VENV VERSION runs inside.py with the Spark of a virtual environment, and writes
tests/spark/VERSION/{events.jsonl,runs.json,ended.json}: its event log, and the answers of its REST API, {path: answer}, while
the skewed task runs and after the last job. Places of this machine, and what no test needs, are left out."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SUMMARY = "withSummaries=true&quantiles=0.5,1.0"
LONG = 1500
DROPPED = {"RDD Info", "Details", "Accumulables", "Stack Trace", "Accumulator Updates", "details", "accumulatorUpdates", "rddIds",
           "physicalPlanDescription", "sparkPlanInfo", "modifiedConfigs", "Classpath Entries", "System Properties",
           "Spark Properties", "Hadoop Properties", "Metrics Properties", "JVM Information", "Properties", "peakExecutorMetrics",
           "executorMetricsDistributions", "tasks", "planDescription", "attributes", "resources"}


def scrubbed(value, places):
    if isinstance(value, dict):
        kept = {k: scrubbed(v, places) for k, v in value.items() if k not in DROPPED}
        if "Properties" in value:
            kept["Properties"] = {k: v for k, v in (value["Properties"] or {}).items() if k == "spark.sql.execution.id"}
        return kept
    if isinstance(value, list):
        return [scrubbed(v, places) for v in value]
    if isinstance(value, str):
        for place, name in places:
            value = value.replace(place, name)
        value = re.sub(r"\n\tat [^\n]*", "", value)
        return value if len(value) <= LONG else value[:LONG // 2] + value[-LONG // 2:]
    return value


def snapshot(get):
    app = get("/applications")[0]["id"]
    at = f"/applications/{app}"
    paths = ["/applications", f"{at}/stages", f"{at}/jobs", f"{at}/allexecutors", f"{at}/stages?{SUMMARY}",
             f"{at}/stages?status=active&{SUMMARY}", f"{at}/sql?details=false&planDescription=false&offset=0&length=1000"]
    for s in get(f"{at}/stages"):
        one = f"{at}/stages/{s['stageId']}/{s['attemptId']}"
        paths += [f"{one}?details={flag}&{SUMMARY}" for flag in ("true", "false")]
        paths += [f"{one}/taskList?status=failed&length=1", f"{one}/taskList?status=running&length=50"]
    answers = {}
    for path in paths:
        try:
            answers[path] = get(path)
        except urllib.error.HTTPError as e:
            if e.code != 404:
                raise
    return answers


def main():
    venv, version = sys.argv[1:]
    out = f"{HERE}/{version}"
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        places = [(HERE, "/app"), (os.path.realpath(venv), "/opt/venv"), (venv, "/opt/venv"), (folder, "/events")]
        env = dict(os.environ, SPARK_LOCAL_IP="127.0.0.1", PATH=f"{venv}/bin:{os.environ['PATH']}", PYSPARK_PYTHON=f"{venv}/bin/python3")
        settings = {"spark.ui.port": 47040, "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{folder}",
                    "spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false",
                    "spark.eventLog.logStageExecutorMetrics": "true", "spark.shuffle.spill.numElementsForceSpillThreshold": 5000,
                    "spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": 4}
        words = [word for k, v in settings.items() for word in ("--conf", f"{k}={v}")]
        child = subprocess.Popen([f"{venv}/bin/spark-submit", "--master", "local[2,4]", "--driver-memory", "512m", *words,
                                  f"{HERE}/inside.py", "40", "20"], env=env, stderr=subprocess.DEVNULL)

        def get(path):
            with urllib.request.urlopen(f"http://127.0.0.1:47040/api/v1{path}", timeout=10) as answer:
                return json.load(answer)

        runs = ended = None
        while child.poll() is None:
            try:
                now = snapshot(get)
                active = [s for path, a in now.items() if "status=active" in path for s in a]
                if active and active[0]["stageId"] == 1 and active[0]["numActiveTasks"] == 1:
                    runs = now
                ended = now
            except (OSError, IndexError, ValueError):
                pass
            time.sleep(1)
        for name, answers in (("runs", runs), ("ended", ended)):
            with open(f"{out}/{name}.json", "w") as f:
                lines = [f"{json.dumps(path)}:{json.dumps(a, separators=(',', ':'))}" for path, a in scrubbed(answers, places).items()]
                f.write("{" + ",\n".join(lines) + "}\n")
        log, = os.listdir(folder)
        with open(f"{folder}/{log}") as f, open(f"{out}/events.jsonl", "w") as to:
            for line in f:
                to.write(json.dumps(scrubbed(json.loads(line), places), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
