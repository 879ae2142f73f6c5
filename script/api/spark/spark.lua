-- SPDX-License-Identifier: MIT
-- spark: the real spark-submit, with its own options.
local core = ...

local job = { __name = "Spark application" }
job.__index = job
job.__tostring = function(j) return j.output end
core.training_looks(job)

spark = {}
local own = {} -- address of a master that spark.standalone has started -> true

-- spark-submit's options that are words on its command line; "list": several, with commas between.
local words = {
  ["class"] = "text", name = "text", jars = "list", packages = "list", exclude_packages = "list", repositories = "list",
  py_files = "list", files = "list", archives = "list", properties_file = "text", deploy_mode = "text",
  driver_memory = "text", driver_java_options = "text", driver_library_path = "text", driver_class_path = "text",
  driver_cores = "text", executor_memory = "text", executor_cores = "text", num_executors = "text",
  total_executor_cores = "text", proxy_user = "text", principal = "text", keytab = "text", queue = "text",
  supervise = "flag", verbose = "flag",
}

local function word(value, what)
  if type(value) == "table" and not getmetatable(value) or type(value) == "function" then
    core.fail("error", ("spark.submit expects a text as %s, not a %s"):format(what, type(value)))
  end
  return tostring(value)
end

local function joined(value, what)
  if type(value) ~= "table" then return word(value, what) end
  local list = {}
  for i, item in ipairs(value) do list[i] = word(item, what) end
  return table.concat(list, ",")
end

local function options_of(options)
  local names, list = {}, core.array {}
  for name in pairs(options) do
    if words[name] then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local value, flag = options[name], "--" .. name:gsub("_", "-")
    if words[name] ~= "flag" then
      list[#list + 1], list[#list + 2] = flag, words[name] == "list" and joined(value, name) or word(value, name)
    elseif value then
      list[#list + 1] = flag
    end
  end
  return list
end

local function settings(options, name)
  if options[name] == nil then return nil end
  if type(options[name]) ~= "table" then
    core.fail("error", ('spark.submit expects %s as names and values: %s = { NAME = "value" }'):format(name, name))
  end
  local result = {}
  for key, value in pairs(options[name]) do
    if type(key) ~= "string" then core.fail("error", ("spark.submit: %s takes names"):format(name)) end
    result[key] = word(value, name .. "." .. key)
  end
  return result
end

-- { mnist = "/data" } → { { claim = "mnist", path = "/data" } }, by the claims' names: claims and where they are mounted.
function core.claims(what, volumes)
  local claims = {}
  for claim, path in pairs(core.expect_type(what, volumes, "table", 'claims and places, { ["mnist"] = "/data" }')) do
    core.expect_type(what, claim, "string", "the names of claims")
    core.expect_type(what, path, "string", "the folder where a claim is mounted")
    claims[#claims + 1] = { claim = claim, path = path }
  end
  table.sort(claims, function(a, b) return a.claim < b.claim end)
  return claims
end

-- Adds to Spark's settings that driver and executors mount these claims. A volume's name may have no dots there.
function core.spark_claims(conf, claims)
  for i, one in ipairs(claims) do
    for _, role in ipairs { "driver", "executor" } do
      local prefix = ("spark.kubernetes.%s.volumes.persistentVolumeClaim.volume-%d."):format(role, i)
      conf[prefix .. "options.claimName"], conf[prefix .. "mount.path"] = one.claim, one.path
    end
  end
  return conf
end

-- 2 or { ["amd.com/gpu"] = 2 } → "amd.com", "gpu", 2
local function devices(what, name, value)
  local resource, n = "nvidia.com/gpu", value
  if type(value) == "table" then resource, n = next(value) end
  local vendor, kind = tostring(resource):match "^([%w.-]+%.[%w.-]+)/([%w.-]+)$"
  if not vendor or math.type(n) ~= "integer" or n < 0 then
    core.fail("error", ('%s: %s is how many GPUs, 1, or a device and how many, { ["amd.com/gpu"] = 1 }'):format(what, name))
  end
  return vendor, kind, n
end
core.devices = devices

-- Where images of Apache's Spark have the script that names the GPUs of a pod: Spark wants one, and it calls nvidia-smi.
local DISCOVERY = "/opt/spark/examples/src/main/scripts/getGpusResources.sh"

-- Adds Spark's settings for GPUs to those of the cell, which stay as they are. On Kubernetes Spark asks for the devices itself,
-- so no webhook of an operator is needed; a standalone cluster's workers say what they have.
function core.spark_gpus(what, conf, options, on_k8s)
  local kind_of_tasks
  local function set(name, value)
    if conf[name] == nil then conf[name] = value end
  end
  for _, role in ipairs { "driver", "executor" } do
    local name = role == "driver" and "driver_gpu" or "gpu"
    if options[name] ~= nil then
      local vendor, kind, n = devices(what, name, options[name])
      local prefix = ("spark.%s.resource.%s."):format(role, kind)
      if n > 0 then
        set(prefix .. "amount", tostring(n))
        if on_k8s then set(prefix .. "vendor", vendor) end
        if on_k8s or options.gpu_discovery then set(prefix .. "discoveryScript", options.gpu_discovery or DISCOVERY) end
        if role == "executor" then kind_of_tasks = kind end
      end
    end
  end
  if options.task_gpu ~= nil and not kind_of_tasks then core.fail("error", what .. ": task_gpu needs gpu, the GPUs of an executor") end
  if not kind_of_tasks then return conf end
  local share = options.task_gpu or 1
  if type(share) ~= "number" or share <= 0 or (share > 0.5 and share ~= math.floor(share)) then
    core.fail("error", what .. ": task_gpu is a number of GPUs, or a part of one up to 0.5, which tasks share")
  end
  set(("spark.task.resource.%s.amount"):format(kind_of_tasks), ("%g"):format(share))
  return conf
end

local function with_gpus(conf, options, master)
  if options.gpu == nil and options.driver_gpu == nil and options.task_gpu == nil then return conf end
  if master:match "^local" then
    core.fail("error", ('spark.submit: gpu is for drivers and executors elsewhere; with master = "%s" the program sees the GPUs of this machine by itself'):format(master))
  end
  return core.spark_gpus("spark.submit", conf or {}, options, master:match "^k8s" ~= nil)
end

local function mount(volumes, conf, master)
  if volumes == nil then return conf end
  if not master:match "^k8s" then core.fail("error", "spark.submit: volumes are Kubernetes' (master = \"k8s\")") end
  return core.spark_claims(conf or {}, core.claims("volumes", volumes))
end

-- false: nothing is shown of its inside; { skew = 10, every = "5s" }: from where on something is told, how often is asked.
local function inside_of(ui)
  if ui == nil or ui == true then return nil end
  if ui == false then return false end
  if type(ui) ~= "table" then core.fail("error", 'spark.submit: ui is false, or settings as those of spark.ui: { skew = 10, every = "5s" }') end
  local limits, every = core.spark_settings("spark.submit", core.check("spark.ui", ui))
  limits.every = every
  return limits
end

-- spark.submit{ "mnist.py", master = "local[1]", args = {"--epochs=1"}, conf = { ["spark.x"] = 1 }, env = {} }
--   → {code, state, id, driver, cause, output, metrics = {loss =, …}, history = {…}, files = {name = sha256}}
-- Options are spark-submit's own: deploy_mode, name, py_files, files, packages, driver_memory, …; master is
-- "local[…]" (by default "local[*]"), "spark://host:7077", "k8s" (the chosen cluster) or "k8s://https://…".
-- volumes = { ["claim"] = "/data" } are mounted there by driver and executors. env goes to the driver and to executors, inputs and outputs are as with trainer.run. Spark's INFO lines are
-- folded away; info = true shows them. check = false: no error when it fails.
function spark.submit(options)
  if type(options) == "string" then options = { options } end
  if type(options) ~= "table" or type(options[1]) ~= "string" then
    core.fail("error", 'spark.submit expects a program: spark.submit { "mnist.py", master = "local[1]" }')
  end
  core.check("spark.submit", options)
  local master = word(options.master or "local[*]", "master")
  local args = core.array {}
  for i, value in ipairs(options.args or {}) do args[i] = word(value, "args") end
  local made = core.call((master:match "^local" or own[master]) and "spark.local" or "spark.submit", {
    app = options[1], master = master, deploy_mode = options.deploy_mode, name = options.name, options = options_of(options),
    conf = with_gpus(mount(options.volumes, settings(options, "conf"), master), options, master), env = settings(options, "env"), args = args, check = options.check, info = options.info,
    inputs = options.inputs, outputs = options.outputs, ui = inside_of(options.ui),
  })
  return made.left_out and core.said(made, job, "spark.submit") or setmetatable(made, job)
end

-- A cluster that spark.standalone has started: it is on this machine, so applications there are local effects.

local standalone = { __name = "standalone" }
standalone.__index = standalone
standalone.__tostring = function(s) return s.master end
standalone.__display = function(s)
  return ("%s  %d worker%s with %d core%s and %s each"):format(s.master, s.workers, s.workers == 1 and "" or "s", s.cores, s.cores == 1 and "" or "s", s.memory)
end

function spark.standalone(options)
  options = core.check("spark.standalone", options)
  for _, name in ipairs { "workers", "cores" } do
    if options[name] and options[name] < 1 then core.fail("error", ("spark.standalone: %s is 1 or more"):format(name)) end
  end
  if options.memory and not options.memory:match "^%d+[kmgtKMGT]$" then
    core.fail("error", ('spark.standalone: memory is a size as Spark writes it, "512m" or "2g", not %q'):format(options.memory))
  end
  local made = core.call("spark.standalone", { workers = options.workers or 1, cores = options.cores or 1, memory = options.memory or "1g" })
  own[made.master] = true
  return setmetatable(made, standalone)
end

function standalone:stop()
  own[self.master] = nil
  core.call("spark.standalone.stop", { master = self.master })
end
standalone.__close = standalone.stop

core.module("spark", spark)
core.types.standalone = standalone
core.types.application = job

core.api [[
spark: module -- The real spark-submit, with its own options.
spark.submit{program, master: string="local[*]", args: list={}, conf: table=, env: table=, volumes: table=, gpu: any=, driver_gpu: any=, task_gpu: number=1, gpu_discovery: string=, check=true, info=false, ui: boolean|table=true, inputs: list=, outputs: list=, name: string=, class: string=, jars: any=, packages: any=, exclude_packages: any=, repositories: any=, py_files: any=, files: any=, archives: any=, properties_file: string=, deploy_mode: string=, driver_memory: any=, driver_java_options: string=, driver_library_path: string=, driver_class_path: string=, driver_cores: any=, executor_memory: any=, executor_cores: any=, num_executors: any=, total_executor_cores: any=, proxy_user: string=, principal: string=, keytab: string=, queue: string=, supervise=false, verbose=false} -> application
  Submits a program and waits for its end; Spark's INFO lines are folded away.
  master: "local[2]", "spark://host:7077", "k8s" (the chosen cluster) or "k8s://https://…"
  args: the program's words
  conf: settings, { ["spark.sql.shuffle.partitions"] = 8 }
  env: variables of driver and executors
  volumes: claims that both mount, { ["mnist"] = "/data" }; with master = "k8s"
  gpu: how many GPUs (nvidia.com/gpu) each executor has, or { ["amd.com/gpu"] = 1 }: spark.executor.resource.gpu.…
  driver_gpu: the same of the driver
  task_gpu: how many a task has; 0.5: two tasks share one. An executor runs no more tasks than its GPUs allow
  gpu_discovery: the script, in the image, that names a pod's GPUs; on Kubernetes that of Apache's images, which asks nvidia-smi
  check: whether an application that fails is an error
  info: shows the INFO lines
  ui: false shows nothing of what it does inside, and keeps no event log; a table has settings of spark.ui
  inputs: files it reads; a resumed run repeats it only when one has changed
  outputs: files it writes
  name: of the application
  class: the main class of a program for the JVM
  jars: files for driver and executors, one or a list
  packages: by their Maven names, one or a list
  exclude_packages: what packages shall not bring
  repositories: where packages are looked for
  py_files: Python's, for executors, one or a list
  files: for the folder of each executor
  archives: unpacked there
  properties_file: settings in a file
  deploy_mode: "client" or "cluster"
  driver_memory: "1g"
  driver_java_options: of the driver's JVM
  driver_library_path: of the driver's JVM
  driver_class_path: of the driver's JVM
  driver_cores: of the driver, in cluster mode
  executor_memory: "1g"
  executor_cores: of each executor
  num_executors: how many
  total_executor_cores: of all executors of a standalone cluster
  proxy_user: as whom it runs
  principal: of Kerberos
  keytab: of Kerberos
  queue: of YARN
  supervise: starts the driver again when it fails
  verbose: what spark-submit itself does
  result: {code, state, id, driver, cause, output, metrics, history, files, findings, eventlog}
  errors: an application that fails, with its cause, unless check = false
  effect: local with a master "local[…]", else cluster
  example:
    ok, why = pcall(spark.submit, { "missing.py", master = "local[1]" })
    print(ok) --> false
spark.standalone{workers: integer=1, cores: integer=1, memory: string="1g"} -> standalone
  Starts a master and workers of Spark on this machine, for the time of the run. They listen on the loopback interface alone,
  on ports that are free, and talk only to applications of this run: spark.submit { "a.py", master = cluster.master }. They
  end with the run, or with :stop(); `local cluster <close> =` ends them with a block. A resumed run has them again.
  workers: how many
  cores: of each worker
  memory: of each worker
  result: {master, workers, cores, memory}
  errors: there is no Spark; a process does not start within two minutes
  effect: local
  example:
    ok, why = pcall(spark.standalone, { memory = "much" })
    print(ok) --> false
standalone: type -- What spark.standalone gives: cluster.master is spark://127.0.0.1:PORT.
standalone:stop()
  Ends master and workers, with what runs there.
  example:
    print((pcall(function() spark.standalone { workers = 0 }:stop() end))) --> false
]]
