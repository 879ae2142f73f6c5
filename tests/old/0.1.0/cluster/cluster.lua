-- %% [markdown]
-- # What a run does on a cluster
-- Objects, a Job, an image, an elastic job, a pipeline that passes and one that fails.

-- %% tags=["parameters"]
leaves = true          -- whether a ConfigMap is left over

-- %% A file file="ranks.lua"
print "a file of the image"

-- %% Build and push effects="cluster"
img = image.build { add = { "ranks.lua" }, tag = "old/ranks:1" }:push()
print(img.tag or img.ref)

-- %% Objects effects="cluster"
made = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "old-" }, data = { a = "1" } }
kept = k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "kept" }, data = { b = "2" } }
k8s.apply { apiVersion = "v1", kind = "Secret", metadata = { name = "hidden" }, stringData = { password = os.getenv "OLD_PASSWORD" } }
print(k8s.get("configmap", "kept").data.b, k8s.get("secret", "hidden").data.password)

-- %% A Job effects="cluster"
job = k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = "count" }, spec = { backoffLimit = 0, template = { spec = {
  restartPolicy = "Never", containers = { { name = "main", image = "host", command = { "sh", "-c", "echo one; echo two" } } } } } } }
k8s.watch(job)
expect(job):reaches("Complete", "1m")
print(k8s.logs(job))

-- %% Tables
print(k8s.events(job))
k8s.list "configmaps"

-- %% A Job that fails effects="cluster"
bad = k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = "bad" }, spec = { backoffLimit = 0, template = { spec = {
  restartPolicy = "Never", containers = { { name = "main", image = "host", command = { "sh", "-c", "echo no more disk; exit 3" } } } } } } }
ok, why = pcall(function() expect(bad):reaches("Complete", "1m") end)
print(ok, tostring(why):gsub("%-%w%w%w%w%w ", " "))

-- %% Elastic
result = hvd.run(function(steps)
  hvd.init()
  local model = nn.Sequential { nn.Dense { 2, input_dim = 2 } }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.Adam { 0.01 }), loss = "mse" }
  local state = hvd.elastic.State { model = model, step = 0, sizes = {} }
  return hvd.elastic.run(function(state)
    while state.step < steps do
      if hvd.rank() == 1 and hvd.size() == 2 and state.step == 2 and #state.sizes == 2 then os.execute "kill -9 $PPID" end
      model:train_on_batch(data.tensor { { 1, 2 }, { 3, 4 } }, data.tensor { { 0, 1 }, { 1, 0 } })
      state.step = state.step + 1
      state.sizes[#state.sizes + 1] = hvd.size()
      state:commit()
    end
    return table.concat(state.sizes, " ")
  end)(state)
end, { args = { 5 }, np = 2, min_np = 1, cooldown_range = { 20, 40 } })
print(result:rank(0))

-- %% A pipeline effects="cluster,destructive"
flow = pipeline { "nightly", timeout = "5m", steps = {
  prep  = { image = "host", command = { "sh", "-c", "echo rows=1234" } },
  fit   = { call = function(with, item) return { score = #item } end, each = { "a", "bb" } },
  train = { image = "host", command = { "sh", "-c", "echo read ${prep.rows} rows; echo accuracy=0.97" }, retries = 1 },
  serve = { image = "host", command = { "true" }, when = "${train.accuracy} > 0.99" },
  clean = { delete = { "prep", "train" }, when = "always" },
} }
flow:run()
print(flow:output("train", "accuracy"))

-- %% It fails effects="cluster,destructive"
broken = pipeline { "broken", steps = {
  prep  = { image = "host", command = { "sh", "-c", "echo before; exit 3" } },
  train = { image = "host", command = { "true" }, after = "prep" },
  clean = { delete = { "prep" }, when = "always" },
} }
print(pcall(function() broken:run() end))

-- %% Remove effects="destructive"
made:delete()
job:delete()
bad:delete()
if not leaves then kept:delete() end
