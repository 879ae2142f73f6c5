-- SPDX-License-Identifier: MIT
-- spark.ui and spark.inside: jobs, stages, executors and queries of an application of Spark, while it runs and afterwards.
local core = ...

local LIMITS = { "skew", "skew_seconds", "spill", "gc", "gc_seconds", "failed_tasks" }

-- "3 GiB", "512m" and numbers as bytes.
local UNITS = { [""] = 1, k = 1024, m = 1024 ^ 2, g = 1024 ^ 3, t = 1024 ^ 4 }
local function bytes(what, value)
  local n, unit = tostring(value):lower():match "^%s*(%d+%.?%d*)%s*([kmgt]?)i?b?%s*$"
  if not n then core.fail("error", ('%s: spill is a size, "1 GiB" or a number of bytes, not %s'):format(what, tostring(value))) end
  return tonumber(n) * UNITS[unit]
end

-- What makes something a finding, and how often is asked, as the bindings have it.
local function settings(what, options)
  local limits = {}
  for _, name in ipairs(LIMITS) do
    local value = options[name]
    if value ~= nil then
      limits[name] = name == "spill" and bytes(what, value) or tonumber(value)
      if not limits[name] or limits[name] < 0 then core.fail("error", ("%s: %s is a number"):format(what, name)) end
    end
  end
  local every = options.every and core.duration(options.every)
  if every and every < 0.5 then core.fail("error", what .. ": every is half a second or more: each request costs the driver something") end
  return limits, every and math.floor(every * 1000)
end
core.spark_settings = settings

-- An object's handle, an application that spark.submit has run, the address of a web page, or { pod =, namespace = },
-- { url = }, { eventlog = }.
local function subject(what, of, options)
  if options ~= nil and type(options) ~= "table" then core.fail("error", what .. ": its options are a table, { skew = 10 }") end
  if type(of) == "string" then
    of = of:match "^https?://" and { url = of } or { eventlog = of }
  end
  if type(of) ~= "table" then
    core.fail("error", ('%s expects an application: a handle, the address of its web page ("http://127.0.0.1:4040") or its event log'):format(what))
  end
  if getmetatable(of) == core.types.application then
    if not of.eventlog then core.fail("error", what .. ": this application has left no event log here") end
    return { eventlog = of.eventlog }, options or {}
  end
  if of.kind or of.metadata then return core.k8s_reference(of), options or {} end
  local args = { url = of.url, eventlog = of.eventlog, namespace = of.namespace }
  if of.pod then args.kind, args.name = "pods", of.pod end
  if not (args.url or args.eventlog or args.name) then core.fail("error", what .. " needs one of url, eventlog and pod") end
  local rest = {}
  for key, value in pairs(options or of) do
    if key ~= "url" and key ~= "eventlog" and key ~= "namespace" and key ~= "pod" then rest[key] = value end
  end
  return args, rest
end

local function asked(what, of, options)
  local args, rest = subject(what, of, options)
  core.check(what, rest)
  args.limits, args.every = settings(what, rest)
  return args
end

local inside = { __name = "Spark inside" }
inside.__index = inside

function inside.__tostring(i)
  local lines = { ("%s (%s): %s, %d jobs, %d stages, %d executors"):format(i.name or "Spark", i.app or "?", i.state, #i.jobs, #i.stages, #i.executors) }
  for _, finding in ipairs(i.findings) do
    lines[#lines + 1] = finding.what
    if finding.next then lines[#lines + 1] = "  next: " .. finding.next end
  end
  return table.concat(lines, "\n")
end
inside.__display = inside.__tostring

function spark.ui(of, options)
  core.call("spark.ui", asked("spark.ui", of, options))
end

function spark.inside(of, options)
  return setmetatable(core.call("spark.inside", asked("spark.inside", of, options)), inside)
end

local job = core.types.application
function job:ui(options) return spark.ui(self, options) end
function job:inside(options) return spark.inside(self, options) end

core.types.inside = inside

-- What makes something a finding is said in the same words everywhere.
local LIMIT_OPTIONS = 'skew: number=5, skew_seconds: number=5, spill: string|number="1 GiB", gc: number=0.2, gc_seconds: number=10, failed_tasks: number=1'
local LIMIT_WORDS = [[
  skew: a finding is a task that took so many times the median of its stage,
  skew_seconds: if it took at least so many seconds
  spill: a finding is so much that executors spilled to disk
  gc: a finding is this part of the tasks' time in garbage collection,
  gc_seconds: if it was at least so many seconds
  failed_tasks: a finding is a stage with so many failed tasks
]]

core.api([[
spark.ui(application, {]] .. LIMIT_OPTIONS .. [[, every: duration="2s"})
  Shows below the cell what an application of Spark does inside: stages with their tasks, executors, jobs, SQL queries, and in
  sentences what is wrong. While it runs they are asked of its driver, one request each `every`, and only while somebody looks.
  The application is a handle (of a SparkApplication, or of a driver's pod), { pod = "NAME", namespace = "NS" }, the address of
  its web page, or an event log.
]] .. LIMIT_WORDS .. [[
  every: time between two requests
  errors: no driver that runs, no event log there
  example:
    ok, why = pcall(spark.ui, "missing.log")
    print(ok) --> false
spark.inside(application, {]] .. LIMIT_OPTIONS .. [[}) -> inside
  The same as records: one look at an application that runs, or all that its event log tells.
]] .. LIMIT_WORDS .. [[
  result: {app, name, version, state, seconds, stages, jobs, executors, queries, findings}; sizes are bytes, times seconds; a finding is {kind, what, next, stage}
  errors: as of spark.ui
  example:
    ok, why = pcall(spark.inside, { eventlog = "missing.log" })
    print(ok) --> false
inside: type -- What spark.inside returns.
application: type -- What spark.submit returns.
application:ui({]] .. LIMIT_OPTIONS .. [[})
  Shows the jobs, stages and executors of the application, read from its event log, as spark.ui does.
]] .. LIMIT_WORDS .. [[
  example:
    ok, why = pcall(spark.ui, {})
    print(ok) --> false
application:inside({]] .. LIMIT_OPTIONS .. [[}) -> inside
  The same as records, as spark.inside returns them.
]] .. LIMIT_WORDS .. [[
  example:
    ok, why = pcall(spark.inside, {})
    print(ok) --> false
]])
