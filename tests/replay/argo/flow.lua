-- SPDX-License-Identifier: MIT
-- The pipeline whose texts for Argo are beside this: tests/replay/argo.py compares them, tests/cluster/case_argo.py has a
-- real server check them, and runs it.
n = 3
flow = pipeline { "circle", timeout = "10m", steps = {
  prep  = { image = "localhost/busybox:1", command = "echo start; echo ${n}4 > /tmp/rows", timeout = "2m", outputs = { rows = { file = "/tmp/rows" } } },
  fan   = { image = "localhost/busybox:1", command = { "sh", "-c", "echo $WHAT-${item} > /tmp/word" }, env = { WHAT = "${prep.rows}" },
            each = { "x", "y" }, outputs = { word = { file = "/tmp/word" } } },
  train = { apply = [[
apiVersion: batch/v1
kind: Job
metadata: {generateName: "train-"}
spec:
  backoffLimit: 0
  completions: ${n - 2}
  parallelism: ${prep.rows}
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: localhost/busybox:1
        command: [sh, -c, "echo rows were ${rows}"]
        env:
        - {name: ROWS, value: "${rows}"}
]], with = { rows = "${prep.rows}" }, retries = 1, outputs = { ok = "status.succeeded" } },
  serve = { image = "localhost/busybox:1", command = "echo ${train.ok} of ${prep.rows} > /tmp/got", outputs = { got = { file = "/tmp/got" } },
            when = "${train.ok} == 1 and ${train.name} ~= 'x'" },
  never = { image = "localhost/busybox:1", command = "exit 1", when = "${prep.rows} > 99" },
  clean = { delete = { "train" }, when = "always" },
  alarm = { image = "localhost/busybox:1", command = "echo alarm", when = "failed" },
} }
