-- a graph of steps: prepare, train, check, and a clean-up that always runs

-- %% Steps effects="cluster,destructive" timeout="15m"
small = k8s.version().sandbox and "host" or "busybox"
flow = pipeline { "nightly", timeout = "10m", steps = {
  prep  = { image = small, command = "echo rows=1234" },
  train = { image = small, command = "echo read ${rows} rows; echo accuracy=0.97", with = { rows = "${prep.rows}" }, retries = 1 },
  check = { call = function(with) expect(tonumber(with.accuracy)):at_least(0.9) end, with = { accuracy = "${train.accuracy}" } },
  clean = { delete = { "prep", "train" }, when = "always" },
} }
flow:run()
