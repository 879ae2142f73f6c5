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
-- Last night's sales are fitted and served by the morning. Networks are tried side by side on prepared tables; the best one
-- is packaged, verified where it will run, and takes the place of the model that answers, without losing a request.
--
-- Trees of PySpark are fitted to the same days: a network whose error is more than a tenth above theirs is not served. All
-- of it is done here once, then by a schedule, which fires twice while you watch.
--
-- It needs a cluster with the Spark operator and Argo, and here Java and a virtual environment with pyspark and numpy:
--
--     firesteel run recipes/41-refit.lua --context NAME --registry HOST --allow cluster,destructive
--
-- With `-p keep=true` schedule and model stay. With `-p through=operator` a ScheduledSparkApplication fits the trees, without
-- Argo, and the networks are fitted here. In the sandbox, which has neither, it goes as far as the verified package:
--
--     firesteel run recipes/41-refit.lua --sandbox --allow cluster,destructive -p pyspark=false

-- %% tags=["parameters"]
days = 730                        -- of sales that are made
iterations = 20                   -- trees
epochs = 40                       -- of each network
at_once = 2                       -- networks that are fitted at a time
replicas = 2                      -- pods that answer
seed = 1
schedule = "* * * * *"            -- every minute, to be seen; "0 3 * * *" is each night at three
keep = false                      -- true: schedule and model stay
through = "argo"                  -- or "operator": a ScheduledSparkApplication
account = "workflow"              -- through Argo: as which the Workflow's pods run; it may edit the namespace
push_secret = ""                  -- a Secret for the registry, of type kubernetes.io/dockerconfigjson; "": none is needed
pyspark = true                    -- false: no trees here
onnx_python = ""                  -- a Python with onnxruntime, which verifies the package, too
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
-- ## Trees
-- PySpark's gradient-boosted trees learn all days but the last eight weeks, and are measured on those. The error is RMSPE,
-- the root of the mean squared error in parts of the truth.

-- %% The trees file="trees.py" language="python"
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
-- spark = SparkSession.builder.appName("trees").config("spark.sql.shuffle.partitions", 2).getOrCreate()
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
-- If this fails, no cluster is needed to find out.

-- %% Try the trees timeout="10m"
limit = 0.1
if pyspark then
  job = spark.submit { "trees.py", master = "local[1]", args = { "--iterations=" .. iterations }, inputs = { "sales.csv" },
    conf = { ["spark.ui.enabled"] = "false" } }
  trees = tonumber(job.output:match "rmspe=(%S+)")
  expect(trees):at_most(0.12) -- the noise alone is 0.06
  run.metric("trees", trees)
  limit = 1.1 * trees
end

-- %% [markdown]
-- ## Networks
-- First the tables: the days to learn and the eight weeks after them, a column each.

-- %% Prepare file="prepare.lua"
local data = require "data"
local args = require "args" { table = "sales.csv", last = 0 }
local days = data.csv { args.table }
local last = args.last > 0 and args.last or days.day:max()
local function save(file, part)
  local function column(name) return part[name]:reshape { -1, 1 } end
  data.save(file, { weekday = column "weekday", month = column "month", promo = column "promo", sales = column "sales" })
end
local known = days:filter({ "day" }, function(day) return day <= last - 56 end)
save("known.npz", known)
save("later.npz", days:filter({ "day" }, function(day) return day > last - 56 and day <= last end))
print(("days=%d"):format(#known))

-- %% [markdown]
-- Weekday and month are embedded, promotions stand beside them. What is learnt is the logarithm of the sales.

-- %% Fit file="fit.lua"
local nn, data = require "nn", require "data"
local args = require "args" { units = 16, rate = 0.01, epochs = 40, seed = 1, weights = "sales.safetensors" }
local function part(file)
  local t = data.npz(file)
  return { t.weekday, t.month, t.promo }, t.sales:log()
end
local function rmspe(y_true, y_pred) return math.sqrt((((y_pred - y_true):exp() - 1) ^ 2):mean()) end

local x, y = part "known.npz"
local weekday, month, promo = nn.Input { 1, name = "weekday" }, nn.Input { 1, name = "month" }, nn.Input { 1, name = "promo" }
local known = nn.Concatenate {} { nn.Flatten {} (nn.Embedding { 8, 3 } (weekday)), nn.Flatten {} (nn.Embedding { 13, 3 } (month)), promo }
local out = nn.Dense { 1 } (nn.Dense { args.units, activation = "relu" } (known))
local model = nn.Model { inputs = { weekday, month, promo }, outputs = nn.Rescaling { 1, y:mean(), name = "log_sales" } (out), seed = args.seed }
model:compile { optimizer = nn.Adam { args.rate }, loss = "mse", metrics = { rmspe = rmspe } }
model:fit { x, y, batch_size = 32, epochs = args.epochs, seed = args.seed, verbose = 2, validation_data = { part "later.npz" },
  validation_batch_size = 56 } -- one batch: the root of all days' mean, as that of the trees
model:save(args.weights)

-- %% [markdown]
-- Who asks for a forecast wants sales, not their logarithm.

-- %% Predict file="predict.lua"
function predict(inputs, model)
  return { sales = model:predict { inputs.weekday, inputs.month, inputs.promo }:exp() }
end

-- %% [markdown]
-- ## From the tables to the model that answers
-- A network that is worse than `limit`, or whose package predicts something else than it did, ends this with an error. Then,
-- as when its pods do not get ready, the model before goes on answering.

-- %% The refit file="refit.lua"
return function(o) -- last, limit, tag, epochs, seed, at_once; serve: options of fn:serve; python: one with onnxruntime
  trainer.run { "prepare.lua", args = { "--last=" .. o.last }, inputs = { "sales.csv" }, outputs = { "known.npz", "later.npz" } }
  local trials = tune { "sales", over = { units = { 8, 32 }, rate = { 0.003, 0.01 } }, by = "val_rmspe", at_once = o.at_once,
    function(trial)
      local weights = trial:path "sales.safetensors"
      return trainer.run { "fit.lua", outputs = { weights }, args = { "--units=" .. trial.params.units, "--rate=" .. trial.params.rate,
        "--epochs=" .. o.epochs, "--seed=" .. o.seed, "--weights=" .. weights } }
    end }
  local best = trials:best()
  expect(best.metrics.val_rmspe):at_most(o.limit)
  local fn = model.package { "predict.lua", best:path "sales.safetensors", name = "sales", tag = o.tag,
    examples = { { weekday = 1, month = 6, promo = 1 }, { weekday = 7, month = 12, promo = 0 } } }
  print(fn:verify { on = "k8s", runtime = o.python ~= nil, python = o.python })
  return best, o.serve and fn:serve(o.serve)
end

-- %% Here, once effects="cluster" timeout="15m"
sandbox = k8s.version().sandbox
options = { epochs = epochs, seed = seed, at_once = at_once, tag = "firesteel/sales:latest",
  serve = not sandbox and { replicas = replicas } }
function here()
  local o = { last = days, limit = limit, python = onnx_python ~= "" and onnx_python or nil }
  for name, value in pairs(options) do o[name] = value end
  return dofile "refit.lua" (o)
end
best, served = here()
run.metric("network", best.metrics.val_rmspe)
print(("RMSPE: the best network %.4f, trees %s"):format(best.metrics.val_rmspe, trees or "not fitted here"))

-- %% Ask it effects="cluster"
function ask() return served:predict({ weekday = { 1 }, month = { 6 }, promo = { 1 } }).sales[1] end
if served then
  forecast = ask()
  print(("a day with a promotion in June: %.0f"):format(forecast))
  expect(forecast):near(6000 * 1.2 * 1.3 * 1.05, 900)
end

-- %% [markdown]
-- ## At night
-- The same function, in a notebook that runs in a pod. It reads what the trees' driver has printed, so as to be no worse.

-- %% The night's notebook file="night.lua"
local trees = k8s.get("sparkapplications", os.getenv "TREES"):logs { container = "spark-kubernetes-driver" }:match "rmspe=(%S+)"
local options = json.decode(os.getenv "OPTIONS")
options.last, options.limit = os.getenv "LAST", 1.1 * tonumber(trees)
local best, served = dofile "refit.lua" (options)
print(("RMSPE: trees %s, the best network %.4f; serving %s"):format(trees, best.metrics.val_rmspe, served.digest))

-- %% [markdown]
-- The first step of the night finds the last day that there is.

-- %% The last day file="last.py" language="python"
-- import csv, sys  # last.py TABLE FILE
-- with open(sys.argv[1]) as table:
--     last = max(int(row["day"]) for row in csv.DictReader(table))
-- print("last=%d" % last)
-- with open(sys.argv[2], "w") as f:
--     f.write(str(last))

-- %% [markdown]
-- The image has the programs, Spark, and firesteel itself. Executors come when there is work and go when there is none
-- (`dynamicAllocation`), and an application that has ended is removed after an hour (`timeToLiveSeconds`). So nothing stays
-- up when nothing runs.

-- %% Build and push effects="cluster"
if not sandbox then
  img = image.build { from = base, firesteel = true, tag = tag, add = { "sales.csv", "last.py", "trees.py", "prepare.lua",
    "fit.lua", "predict.lua", "refit.lua", "night.lua" } }:push()
end

-- %% The job file="trees.yaml" language="yaml"
-- apiVersion: sparkoperator.k8s.io/v1beta2
-- kind: SparkApplication
-- metadata: {generateName: trees-}
-- spec:
--   type: Python
--   pythonVersion: "3"
--   mode: cluster
--   image: ${img.ref}
--   sparkVersion: 3.5.7
--   mainApplicationFile: local:///work/trees.py
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
-- Through Argo each night is a Workflow of three steps. The last day is an output of the first, the name of the trees'
-- application one of the second. The operator's own schedule knows one application, which looks for the last day itself
-- (`--last=0`); the networks are then fitted here.

-- %% Schedule effects="cluster,destructive" timeout="20m"
if not sandbox then
  steps = {
    days = { image = "${img.ref}", command = { "python3", "/work/last.py", "/work/sales.csv", "/tmp/last" }, outputs = { last = { file = "/tmp/last" } } },
    trees = { apply = "trees.yaml", reaches = "COMPLETED", with = { last = "${days.last}" } },
    networks = { image = "${img.ref}", env = { HOME = "/tmp", LAST = "${days.last}", TREES = "${trees.name}", OPTIONS = json.encode(options) },
      command = { "/opt/firesteel/firesteel", "run", "/work/night.lua", "--allow=cluster", "--registry=${img.registry}" } },
  }
  if push_secret ~= "" then
    steps.networks.volumes = { ["/run/registry"] = "secret/" .. push_secret }
    steps.networks.env.REGISTRY_AUTH_FILE = "/run/registry/.dockerconfigjson"
  end
  if through == "argo" then
    s = pipeline { "refit", timeout = "15m", steps = steps }:cron(schedule, { account = account, concurrency = "Forbid", ttl = "10m" })
  else
    last = 0
    local app = yaml.decode(template("trees.yaml"))
    s = k8s.apply { apiVersion = app.apiVersion, kind = "ScheduledSparkApplication", metadata = { name = "refit" },
      spec = { schedule = schedule, concurrencyPolicy = "Forbid", successfulRunHistoryLimit = 3, failedRunHistoryLimit = 3, template = app.spec } }
  end
  print("next run at " .. time.iso(s:next_run()))
  expect(s):fires(2, "10m")
  if not keep then s:suspend() end -- enough was seen
  runs = s:history()
  for _, run in ipairs(runs) do expect(run):reaches(through == "argo" and "Succeeded" or "COMPLETED", "10m") end
  if through ~= "argo" then here() end
  print(s:history())
end

-- %% [markdown]
-- ## What came out
-- The same days give the same trees, wherever they are fitted, and the same networks: another package answers, as before.

-- %% The errors effects="cluster"
if not sandbox then
  errors = {}
  for _, app in ipairs(k8s.list("sparkapplications", { selector = through == "argo" and "firesteel/pipeline=refit" or "sparkoperator.k8s.io/scheduled-app-name=refit" })) do
    errors[#errors + 1] = tonumber(app:logs { container = "spark-kubernetes-driver" }:match "rmspe=(%S+)")
  end
  expect(#errors):at_least(2)
  for i, rmspe in ipairs(errors) do
    run.metric("night", rmspe, { step = i })
    expect(rmspe):near(trees or errors[1], 1e-6)
  end
  now = k8s.get(served.deployment).metadata.annotations["firesteel/digest"]
  expect(now):differs(served.digest)
  expect(ask()):near(forecast, 0.01)
  print(("fitted %d times, error of the trees %.4f each time; %s answers now"):format(#errors, errors[1], now))
end

-- %% Nothing is left effects="destructive" when="always"
if not keep then
  if s then s:delete() end
  if served then served:delete() end
end
