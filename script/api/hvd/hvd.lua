-- SPDX-License-Identifier: MIT
-- hvd.run: a function of a cell, called on many ranks: here, or where an engine (`on`) starts them. The function is packed
-- by the kernel (script/pack) with its upvalues and the globals that it reads; in it, hvd, nn, data and args are the worker's.
local core = ...

hvd = {}

local results = { __name = "results of ranks" }
results.__index = results

-- All that the function returned on this rank.
function results:rank(rank)
  local values = self.all[(math.tointeger(rank) or -1) + 1]
  if not values then
    core.fail("error", ("there is no rank %s: the ranks are 0 to %d"):format(tostring(rank), #self.all - 1))
  end
  return table.unpack(values, 1, values.n)
end

-- What it returned first, as a list in the order of the ranks; as horovod.spark.run returns it. `n` is their number.
function results:ranks()
  local list = { n = #self.all }
  for i, values in ipairs(self.all) do list[i] = values[1] end
  return list
end

results.__len = function(r) return #r.all end

local MOST = 60 -- bytes of a text that is shown

local function shown(value)
  if type(value) == "table" then return "a table" end
  local text = tostring(value)
  return #text > MOST and ("a text of %d bytes"):format(#text) or (text:gsub("%c", " "))
end

function results.__tostring(r)
  local lines = {}
  for i, values in ipairs(r.all) do
    local words = {}
    for k = 1, values.n do words[k] = shown(values[k]) end
    lines[i] = ("rank %d: %s"):format(i - 1, values.n > 0 and table.concat(words, ", ") or "nothing")
  end
  return table.concat(lines, "\n")
end

results.__display = results.__tostring
core.training_looks(results)

local function as_results(record)
  local made = { all = core.unpack(record.packed) }
  for _, name in ipairs { "metrics", "history", "output", "left_out", "seconds" } do made[name] = record[name] end
  for i, values in ipairs(made.all) do made[i] = values[1] end
  return made.left_out and core.said(made, results, "hvd.run") or setmetatable(made, results)
end

-- Engines. `on = k8s.jobs { image = …, executors = 4 }` is a table with this metatable and the options in it. An engine
-- only says what shall be there; the kernel makes it, follows it and removes it (the binding hvd.elsewhere,
-- script/api/hvd/elsewhere.c), so gate, ledger, resume, interrupt and clean are the same for all. Each engine is
--
--   core.hvd_engine("k8s.jobs", {
--     says = "plain Jobs",               -- "Running 4 processes by plain Jobs…"
--     slots = function(options) → n      -- how many ranks there may be: executors × what each takes; nil: nobody says it
--     plan = function(options, job) → {  -- of data alone; a wrong option raises here, before anything starts
--       objects = { manifest, … },       -- created in this order, removed in the other one, with what they own
--       main = 3,                        -- the object whose state says that the job has failed, though no driver began
--       driver = "label=value,…",        -- selects the driver's pod. Its log is the output: progress, results and all.
--       container = "name",              -- of that pod; nil: its only one
--       pods = "label=value,…",          -- selects all pods of the job: of these it is told why one does not start
--       log = "title",                   -- the driver's log has lines of Spark, which are folded: a log of this title has all; nil: none
--     }
--     nodes = function(options, job) → plan  -- of torch.run, whose job is another (script/api/torch/torch.lua); nil: it cannot
--     objects = function(options) → manifests  -- what k8s.create makes of the record, the main one first; nil: it is no manifest
--   })
--
-- job = {
--   name = "@job@",       -- stands for the job's name, "hvd-1a2b3c4d", in every text of the plan. The kernel has made a Secret
--                         -- of this name, with the keys `function` and `secret`, before the first of the objects.
--   np =, max_np =, elastic =, namespace =, start_timeout =,   -- the last in seconds
--   command = { "--function", FILE }   -- the arguments of the driver, firesteel-worker (or spark.py); FILE is in the mount
--   driver_env, executor_env,          -- lists of { name =, value = or valueFrom = }: the secret and what hvd.run was told
--   volume, mount,                     -- the Secret's `function`, for the driver's pod and container
--   label = "firesteel/hvd",           -- with the job's name it is on each object and pod; the pods' role is LABEL-role
--   labels,                            -- the first of these
-- }
--
-- The job has ended well when the driver has told the results; it has failed when the driver's pod, or `main`, has. Until
-- the driver says something, start_timeout counts, and what keeps pods from starting is told below the cell.
local engine_of = { __name = "engine" }
local engines, makers = {}, {}

local FOLDER = "/run/firesteel"

-- core.hvd_engine(name, engine) → the constructor, which checks its options against what is told of `name`.
function core.hvd_engine(name, engine)
  engine.name = name
  local function make(options)
    local copy = {}
    for key, value in pairs(core.check(name, options)) do copy[key] = value end
    engines[copy] = engine
    return setmetatable(copy, engine_of)
  end
  makers[make] = true
  return make
end

setmetatable(engines, { __mode = "k" })

-- The engine that options belong to; nil: they are no engine's.
function core.engine_of(on)
  return getmetatable(on) == engine_of and engines[on] or nil
end

-- The manifests that k8s.create makes of a record, the main one first; nil: it is no engine's.
function core.engine_objects(record)
  local engine = core.engine_of(record)
  if not engine then return nil end
  if not engine.objects then core.fail("error", ("%s is where hvd.run and torch.run run their ranks: on = %s {…}"):format(engine.name, engine.name)) end
  return engine.objects(record)
end

local function text_map(what, map, whose)
  local copy = {}
  for key, value in pairs(map or {}) do
    if type(key) ~= "string" or type(value) == "table" then
      core.fail("error", (whose or "hvd.run") .. (': %s expects names and values: { NAME = "value" }'):format(what))
    end
    copy[key] = tostring(value)
  end
  return copy
end

core.text_map = text_map

-- A table of variables as Kubernetes lists them, sorted.
local function env_list(...)
  local list, seen = core.array {}, {}
  for _, map in ipairs { ... } do
    for key, value in pairs(map) do seen[key] = value end
  end
  for key, value in pairs(seen) do list[#list + 1] = { name = key, value = value } end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

core.env_list = env_list

local function secret_of(name)
  return { name = "FIRESTEEL_SECRET", valueFrom = { secretKeyRef = { name = name, key = "secret" } } }
end

-- The worker reads what hvd.run of a trainer file is told by name.
local function elastic_env(options)
  local range = options.cooldown_range
  if range and not (#range == 2 and type(range[1]) == "number" and type(range[2]) == "number" and range[1] >= 0 and range[2] >= range[1] and range[2] > 0) then
    core.fail("error", "hvd.run: cooldown_range must be { least, most } seconds")
  end
  return { FIRESTEEL_MIN_NP = options.min_np and tostring(options.min_np), FIRESTEEL_MAX_NP = options.max_np and tostring(options.max_np),
    FIRESTEEL_COOLDOWN_RANGE = range and ("%.14g,%.14g"):format(range[1], range[2]) }
end

local function job_of(options, np, on)
  local own = text_map("env", options.env)
  local timeout = options.start_timeout and tostring(math.ceil(core.duration(options.start_timeout)))
  -- What models that the ranks save say of where they came from; the kernel fills it in.
  local told = { HOROVOD_SPARK_START_TIMEOUT = timeout, FIRESTEEL_NOTES = "@notes@" }
  local name = "@job@"
  local job = {
    name = name, np = np, max_np = options.max_np or np, elastic = (options.min_np or options.max_np) ~= nil, namespace = on.namespace, command = { "--function", FOLDER .. "/function" },
    driver_env = env_list(text_map("on.env", on.env), own, told,
      elastic_env(options), { FIRESTEEL_EVENTS = "stdout", FIRESTEEL_NP = tostring(np), HOROVOD_TIMELINE = options.timeline }),
    executor_env = env_list(text_map("on.env", on.env), own, told, { HOROVOD_TIMELINE = options.timeline }),
    volume = { name = "function", secret = { secretName = name, items = { { key = "function", path = "function" } } } },
    mount = { name = "function", mountPath = FOLDER, readOnly = true },
    label = "firesteel/hvd", labels = { ["firesteel/hvd"] = name }, start_timeout = core.duration(options.start_timeout or 600),
  }
  for _, list in ipairs { job.driver_env, job.executor_env } do list[#list + 1] = secret_of(name) end
  return job
end

local function check_np(np)
  if np ~= nil and (math.type(np) ~= "integer" or np < 1) then
    core.fail("error", ("hvd.run: np must be an integer from 1 on, not %s"):format(tostring(np)))
  end
end

local function own_env(options)
  local env = text_map("env", options.env)
  for name, value in pairs(elastic_env(options)) do env[name] = value end
  return env
end

local function run_here(packed, options)
  local np = options.np or core.call("hvd.cores", {})
  core.print(("Running %d process%s%s..."):format(np, np == 1 and "" or "es", options.np and "" or " (one for each core here)"))
  return core.call("hvd.here", {
    packed = packed, np = np, timeline = options.timeline, env = own_env(options),
    start_timeout = options.start_timeout and math.ceil(core.duration(options.start_timeout)),
  })
end

local function run_on(packed, options)
  local on, engine = options.on, engines[options.on]
  local slots = engine.slots(on)
  local np = options.np or slots
  if not np then core.fail("error", ("hvd.run: how many ranks? np =, or executors = of %s"):format(engine.name)) end
  if slots and np > slots then
    core.fail("error", ("Requested more processes (%d) than there are available slots (%d)"):format(np, slots))
  end
  local plan = engine.plan(on, job_of(options, np, on))
  local env = text_map("on.env", on.env) -- beside the plan, which has them: so the journal knows what is secret
  for name, value in pairs(text_map("env", options.env)) do env[name] = value end
  core.print(("Running %d process%s by %s..."):format(np, np == 1 and "" or "es", engine.says))
  if on.gpu and on.gpu ~= 0 then
    core.output("stderr", "note: gpu: firesteel's own trainer computes on CPUs; a GPU is held for its pods and stays unused (torch.run has programs that use one)\n")
  end
  return core.call("hvd.elsewhere", {
    packed = packed, np = np, engine = engine.name, says = engine.says, namespace = on.namespace, plan = plan, env = env,
    start_timeout = core.duration(options.start_timeout or 600),
  })
end

-- The objects that an engine would make with these options, whose job and image have the name `name`: for the preflight. Options
-- that are wrong raise. nil: k8s has no such engine.
function core.hvd_objects(engine, options, name)
  local ok, make = pcall(function() return k8s[engine] end)
  if not ok or not makers[make] then return nil end
  local made = make(options)
  if options.entrypoint and engines[made].objects then return engines[made].objects(made) end
  local np = engines[made].slots(made) or 1
  local function named(value)
    if type(value) == "string" then return (value:gsub("@job@", name)) end
    if type(value) ~= "table" then return value end
    local copy = setmetatable({}, getmetatable(value))
    for key, item in pairs(value) do copy[named(key)] = named(item) end
    return copy
  end
  return named(engines[made].plan(made, job_of({}, np, made)).objects)
end

-- The arguments with their number, as table.pack has it: where a list with nils ends, nobody could tell once it has travelled.
local function counted(args)
  if type(args) ~= "table" or args.n ~= nil then return args end
  local n = #args
  for key in pairs(args) do
    if math.type(key) ~= "integer" or key < 1 then
      core.fail("error", ("hvd.run: args is a list of arguments, so it cannot have the key '%s'"):format(tostring(key)))
    end
    n = math.max(n, key)
  end
  if n >= 1000000 then core.fail("error", ("hvd.run: args has n = %d, which is no number of arguments"):format(n)) end
  return table.move(args, 1, n, 1, { n = n })
end

-- hvd.run(fn, { args = {…}, np = 4 }) → the results of the ranks: what fn(args…) returned on each.
function hvd.run(fn, options)
  core.expect_type("hvd.run", fn, "function", "the function that the ranks call")
  options = core.check("hvd.run", options)
  check_np(options.np)
  if options.on ~= nil and not core.engine_of(options.on) then
    core.fail("error", "hvd.run: on expects where the ranks shall run: k8s.jobs { image = img, executors = 4 }; without it they run here")
  end
  local packed = core.pack(fn, counted(options.args))
  return as_results((options.on and run_on or run_here)(packed, options))
end

package.loaded.hvd = setmetatable(hvd, { __name = "hvd", __display = function() return core.listing("hvd", hvd) end, __index = function(_, name)
  core.fail("error", ("hvd.%s is for ranks: call it in the function that hvd.run runs, or in a trainer file"):format(tostring(name)))
end })

-- The other modules of ranks exist only there. A cell gets a stand-in, which a function may take along; what a cell reads in it
-- raises this.
for _, name in ipairs { "nn", "data", "args" } do
  local function raise()
    core.fail("error", ("module '%s' belongs to trainer files and to functions for ranks: write it in a cell with "
      .. "file=\"trainer.lua\", and run that with trainer.run { \"trainer.lua\" }, or use it in the function of hvd.run"):format(name))
  end
  package.loaded[name] = setmetatable({}, { __name = name, __index = raise, __call = raise })
end

core.api [[
hvd: module -- A function of a cell on many ranks.
hvd.run(fn, {args: list={}, np: integer=, on: table=, start_timeout: duration=600, timeline: string=, env: table=, min_np: integer=, max_np: integer=, cooldown_range: list={10, 100}}) -> results
  Calls fn(args…) on np ranks, here or where `on` starts them; their output and progress are shown below the cell. The
  function travels with its upvalues and the globals that it reads. In it, hvd, nn, data and args are the worker's.
  args: its arguments
  np: how many ranks; unless it is said, one for each core here, and of `on` executors × the ranks that each takes
  on: where they run, as k8s.jobs { image = img, executors = 4 }
  start_timeout: how long the ranks may take to start
  timeline: a file that rank 0 writes for Perfetto, Horovod's timeline
  env: variables for the ranks, { NAME = "value" }
  min_np: the job is elastic: with hvd.elastic it goes on after losses, with so many ranks at least
  max_np: so many ranks it has at most, when newcomers join (here and by k8s.jobs)
  cooldown_range: of an elastic job: a place that lost a rank rests for the first number of seconds, doubled with each loss there up to the second
  result: an object: results[1] is what rank 0 returned, and metrics, history, output and seconds (from its start to the results) are there
  errors: a handle or anything else of the kernel's in the function, by its name; the first rank that fails
  effect: local; with on that of making objects: cluster
  example:
    magic = hvd.run(function(n) return n * 2 end, { args = { 21 }, np = 1 }) --> Running 1 process...
    print(magic[1]) --> 42
]]
