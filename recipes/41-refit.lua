-- ---
-- jupyter:
--   jupytext:
--     text_representation:
--       extension: .lua
--       format_name: percent
--       format_version: '1.3'
--       jupytext_version: 1.19.6
--   kernelspec:
--     display_name: Firesteel (Lua)
--     language: lua
--     name: firesteel
-- ---

-- %% [markdown]
-- # A model that is fitted again every day
-- Gradient-boosted trees of PySpark learn a shop's sales. The program is written and tried here, put into an image, and
-- becomes a pipeline that a schedule starts: it looks at which days there are, then fits on all but the last weeks. The
-- schedule fires twice while you watch; then it is removed, with all that it made.
--
-- It needs a cluster with the Spark operator and Argo, and here Java and a virtual environment with pyspark and numpy:
--
--     firesteel run recipes/41-refit.lua --context NAME --registry HOST --allow cluster,destructive
--
-- With `-p through=operator` a ScheduledSparkApplication does it, without Argo.

-- %% tags=["parameters"]
days = 730                        -- of sales that are made
iterations = 20                   -- trees
seed = 1
schedule = "* * * * *"            -- every minute, to be seen; "0 3 * * *" is each night at three
through = "argo"                  -- or "operator": a ScheduledSparkApplication
account = "workflow"              -- through Argo: as which the Workflow's pods run
executors = 2                     -- at most
core_request = "500m"             -- CPUs of each pod
tag = "firesteel/refit:latest"    -- goes to --registry's or the context's
base = "apache/spark:3.5.7"       -- an image with Spark and Python

-- %% [markdown]
-- ## The data
-- Two years of one shop: a level, weekdays, a season, promotions, and noise of 6 %. It stands in the image here; a
-- volume or a bucket would do as well.

-- %% Sales
math.randomseed(seed)
function normal()                                                     -- Box and Muller 1958
  return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end
weekdays = { 1.2, 1.0, 0.95, 0.95, 1.05, 1.0, 0.8 }
rows = { "day,weekday,month,promo,sales" }
for day = 1, days do
  local weekday, month, promo = day % 7 + 1, day % 365 // 31 + 1, math.random() < 0.4 and 1 or 0
  local sales = 6000 * weekdays[weekday] * (1 + 0.1 * math.sin(2 * math.pi * day / 365)) * (promo == 1 and 1.3 or 1) * math.exp(0.06 * normal())
  rows[#rows + 1] = ("%d,%d,%d,%d,%d"):format(day, weekday, month, promo, sales // 1)
end
fs.write("sales.csv", table.concat(rows, "\n") .. "\n")

-- %% [markdown]
-- ## The programs
-- The first step of the pipeline finds the last day that there is.

-- %% The last day file="last.py" language="python"
-- import csv, sys  # last.py TABLE FILE
-- with open(sys.argv[1]) as table:
--     last = max(int(row["day"]) for row in csv.DictReader(table))
-- print("last=%d" % last)
-- with open(sys.argv[2], "w") as f:
--     f.write(str(last))

-- %% [markdown]
-- The second fits the trees on all days but the last eight weeks, and measures itself on those. The error is RMSPE, the
-- root of the mean squared error in parts of the truth.

-- %% The fit file="refit.py" language="python"
-- import argparse
-- from pyspark.ml.evaluation import RegressionEvaluator
-- from pyspark.ml.feature import VectorAssembler
-- from pyspark.ml.regression import GBTRegressor
-- from pyspark.sql import SparkSession, functions as F
--
-- parser = argparse.ArgumentParser()
-- parser.add_argument("--table", default="sales.csv")
-- parser.add_argument("--last", type=int, default=0)
-- parser.add_argument("--iterations", type=int, default=20)
-- args = parser.parse_args()
-- spark = SparkSession.builder.appName("refit").config("spark.sql.shuffle.partitions", 2).getOrCreate()
-- table = spark.read.csv(args.table, header=True, inferSchema=True)
-- last = args.last or table.agg(F.max("day")).first()[0]
-- rows = VectorAssembler(inputCols=["weekday", "month", "promo"], outputCol="features").transform(table).withColumn("target", F.log("sales"))
-- known, later = rows.where(F.col("day") <= last - 56).coalesce(1).cache(), rows.where(F.col("day") > last - 56).coalesce(1)
-- model = GBTRegressor(labelCol="target", maxIter=args.iterations, maxDepth=4, seed=1).fit(known)
-- off = (F.exp("prediction") - F.col("sales")) / F.col("sales")
-- rmspe = model.transform(later).agg(F.sqrt(F.avg(off * off))).first()[0]
-- print("days=%d" % known.count())
-- print("trees=%d" % model.getNumTrees)
-- print("rmspe=%.6f" % rmspe)
-- spark.stop()

-- %% [markdown]
-- ## Local mode
-- If this fails, no cluster is needed to find out.

-- %% Try it timeout="10m"
job = spark.submit { "refit.py", master = "local[1]", args = { "--iterations=" .. iterations }, inputs = { "sales.csv" },
  conf = { ["spark.ui.enabled"] = "false" } }
here = tonumber(job.output:match "rmspe=(%S+)")
expect(here):at_most(0.12) -- the noise alone is 0.06

-- %% [markdown]
-- ## The image, and the job
-- Executors come when there is work and go when there is none (`dynamicAllocation`), and an application that has ended
-- is removed after an hour (`timeToLiveSeconds`). So nothing stays up when nothing runs.

-- %% Build and push effects="cluster"
img = image.build { from = base, add = { "sales.csv", "last.py", "refit.py" }, worker = false, tag = tag }:push()

-- %% The job file="refit.yaml" language="yaml"
-- apiVersion: sparkoperator.k8s.io/v1beta2
-- kind: SparkApplication
-- metadata: {generateName: refit-}
-- spec:
--   type: Python
--   pythonVersion: "3"
--   mode: cluster
--   image: ${img.ref}
--   sparkVersion: 3.5.7
--   mainApplicationFile: local:///work/refit.py
--   arguments: ["--table=/work/sales.csv", "--last=${last}", "--iterations=${iterations}"]
--   restartPolicy: {type: Never}
--   timeToLiveSeconds: 3600
--   dynamicAllocation:
--     enabled: true
--     initialExecutors: 1
--     minExecutors: 0
--     maxExecutors: ${executors}
--   sparkConf: {spark.ui.enabled: "false"}
--   driver:
--     cores: 1
--     coreRequest: "${core_request}"
--     memory: 1g
--     serviceAccount: spark
--     annotations: {sidecar.istio.io/inject: "false"}
--   executor:
--     cores: 1
--     coreRequest: "${core_request}"
--     memory: 1g
--     annotations: {sidecar.istio.io/inject: "false"}

-- %% [markdown]
-- ## The schedule
-- Through Argo each run is a Workflow of the two steps; the last day is an output of the first and an argument of the
-- second. The operator's own schedule knows one application, which then looks for the last day itself (`--last=0`).

-- %% Schedule effects="cluster,destructive" timeout="15m"
flow = pipeline { "refit", timeout = "10m", steps = {
  days = { image = "${img.ref}", command = { "python3", "/work/last.py", "/work/sales.csv", "/tmp/last" }, outputs = { last = { file = "/tmp/last" } } },
  fit  = { apply = "refit.yaml", reaches = "COMPLETED", with = { last = "${days.last}" } },
} }
if through == "argo" then
  s = flow:cron(schedule, { account = account, concurrency = "Forbid", ttl = "10m" })
else
  last = 0
  local app = yaml.decode(template("refit.yaml"))
  s = k8s.apply { apiVersion = app.apiVersion, kind = "ScheduledSparkApplication", metadata = { name = "refit" },
    spec = { schedule = schedule, concurrencyPolicy = "Forbid", successfulRunHistoryLimit = 3, failedRunHistoryLimit = 3, template = app.spec } }
end
print("next run at " .. time.iso(s:next_run()))
expect(s):fires(2, "5m")
s:suspend()                       -- enough was seen
runs = s:history()
for _, run in ipairs(runs) do expect(run):reaches(through == "argo" and "Succeeded" or "COMPLETED", "5m") end
print(s:history())

-- %% [markdown]
-- ## What came out
-- The same days give the same trees, wherever they are fitted.

-- %% The errors
errors = {}
for _, app in ipairs(k8s.list("sparkapplications", { selector = through == "argo" and "firesteel/pipeline=refit" or "sparkoperator.k8s.io/scheduled-app-name=refit" })) do
  errors[#errors + 1] = tonumber(app:logs { container = "spark-kubernetes-driver" }:match "rmspe=(%S+)")
end
expect(#errors):at_least(2)
for i, rmspe in ipairs(errors) do
  run.metric("rmspe", rmspe, { step = i })
  expect(rmspe):near(here, 1e-6)
end
print(("fitted %d times, error %.4f each time"):format(#errors, here))

-- %% Nothing is left effects="destructive"
s:delete()
