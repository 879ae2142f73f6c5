-- SPDX-License-Identifier: MIT
-- The pipeline of kfp.py and of case_pipeline.py; `tool` is an image with a shell.
samples = 20
file = io.open("train.yaml", "w")
file:write [[
apiVersion: batch/v1
kind: Job
metadata: {name: train-job}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: "${tool}", command: [sh, -c, "echo rows were ${rows}; echo accuracy=0.97"]}
]]
file:close()
flow = pipeline { "nightly", steps = {
  prep = { image = "${tool}", command = "echo rows=$((${samples} + 4)); echo 'shards=[\"x\",\"y\"]'",
           outputs = { rows = { log = "rows=(%d+)" }, shards = { log = "shards=(%S+)" } } },
  train = { apply = "train.yaml", reaches = "Complete", with = { rows = "${prep.rows}" }, retries = 1,
            outputs = { accuracy = { log = "accuracy=(%S+)" }, done = "status.succeeded" } },
  fan = { image = "${tool}", command = { "sh", "-c", "echo n=${item}${prep.rows}" }, each = { "x", "y" }, at_once = 2,
          outputs = { n = { log = "n=(%S+)" } } },
  sum = { image = "${tool}", command = { "sh", "-c", "echo all=${table.concat(fan.n, ',')}" }, timeout = "5m",
          outputs = { all = { log = "all=(%S+)" } } },
  serve = { image = "${tool}", command = { "sh", "-c", "echo served" }, after = "train",
            when = "${train.accuracy} > 0.95 and not (${prep.rows} == 3)" },
  never = { image = "${tool}", command = "exit 1", when = "${train.accuracy} > 0.99" },
  clean = { delete = { "prep", "train", "fan", "sum", "serve" }, when = "always" },
} }
