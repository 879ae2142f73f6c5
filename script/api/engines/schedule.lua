-- SPDX-License-Identifier: MIT
-- Schedules: what ScheduledSparkApplications, CronWorkflows and CronJobs have run, when they run next, and a run at once.
-- expect(schedule):fires(2, "3m") waits for runs.
local core = ...
local object, expectation = core.types.handle, core.types.expectation
local KIND = "application/vnd.firesteel.table+json"
local LOOK_EVERY = 1 -- seconds

-- Of each kind: what it makes, how these are found, and what one of them is.
local KINDS = {
  ScheduledSparkApplication = { runs = "sparkapplications.sparkoperator.k8s.io", label = "sparkoperator.k8s.io/scheduled-app-name",
    run = function(s) return { apiVersion = s.apiVersion, kind = "SparkApplication", spec = s.spec.template } end },
  CronWorkflow = { runs = "workflows.argoproj.io", label = "workflows.argoproj.io/cron-workflow",
    run = function(s)
      local meta = s.spec.workflowMetadata or {}
      return { apiVersion = s.apiVersion, kind = "Workflow", spec = s.spec.workflowSpec, metadata = { labels = meta.labels, annotations = meta.annotations } }
    end },
  CronJob = { runs = "jobs.batch",
    run = function(s)
      local meta = s.spec.jobTemplate.metadata or {}
      return { apiVersion = "batch/v1", kind = "Job", spec = s.spec.jobTemplate.spec, metadata = { labels = meta.labels, annotations = meta.annotations } }
    end },
}

local function kind_of(handle, what)
  local kind = KINDS[handle.kind]
  if not kind then core.fail("error", ("%s: a %s has no schedule; a ScheduledSparkApplication, a CronWorkflow and a CronJob have"):format(what, tostring(handle.kind))) end
  return kind
end

local function name_of(handle) return handle.name or handle.metadata.name end

-- The runs of a schedule that are there, the newest first.
local function runs_of(handle, what)
  local kind, name = kind_of(handle, what), name_of(handle)
  local meta = rawget(handle, "metadata") or {}
  local selector = kind.label and ("%s=%s"):format(kind.label, name) or nil
  local runs = {}
  for _, one in ipairs(k8s.list(kind.runs, { namespace = handle.namespace or meta.namespace, selector = selector })) do
    local mine = kind.label ~= nil
    for _, owner in ipairs(one.metadata.ownerReferences or {}) do mine = mine or owner.kind == handle.kind and owner.name == name end
    if mine then runs[#runs + 1] = one end
  end
  table.sort(runs, function(a, b)
    local x, y = a.metadata.creationTimestamp, b.metadata.creationTimestamp
    return x > y or x == y and a.metadata.name > b.metadata.name
  end)
  return runs
end

local function ended_at(run)
  local s = rawget(run, "status") or {}
  return s.finishedAt or s.terminationTime or s.completionTime
end

-- handle:history(): the runs that are still there, the newest first, as handles; shows as a table.
function object:history()
  local found, rows, lines = runs_of(self, "handle:history"), core.array {}, { ("%-40s %-12s %-21s %s"):format("RUN", "STATE", "STARTED", "DURATION") }
  local handles = setmetatable({}, core.types.handles)
  for i, run in ipairs(found) do
    local state, ended = run:state()
    local from = time.parse(run.metadata.creationTimestamp)
    local to = ended and ended_at(run) and time.parse(ended_at(run))
    local took = to and core.span(math.max(0, to - from)) or ""
    handles[i] = run
    rows[i] = { uid = run.metadata.uid, name = run.metadata.name, namespace = run.metadata.namespace,
      about = { apiVersion = run.apiVersion, kind = run.kind, cluster = run.cluster },
      cells = core.array { run.metadata.name, state, run.metadata.creationTimestamp, to and took or { since = run.metadata.creationTimestamp } } }
    lines[#lines + 1] = ("%-40s %-12s %-21s %s"):format(run.metadata.name, state, run.metadata.creationTimestamp, took)
  end
  rawset(handles, "text", #found > 0 and table.concat(lines, "\n") or "no runs yet")
  rawset(handles, "table", { title = "runs of " .. name_of(self), columns = core.array { "RUN", "STATE", "STARTED", "DURATION" }, rows = rows })
  return handles
end

-- Times of a schedule: five fields, or a word.

local WORDS = { ["@yearly"] = "0 0 1 1 *", ["@annually"] = "0 0 1 1 *", ["@monthly"] = "0 0 1 * *", ["@weekly"] = "0 0 * * 0",
  ["@daily"] = "0 0 * * *", ["@midnight"] = "0 0 * * *", ["@hourly"] = "0 * * * *" }
local FIELDS = { { 0, 59 }, { 0, 23 }, { 1, 31 }, { 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec" },
  { 0, 7, "sun mon tue wed thu fri sat" } }

local function number_of(word, field)
  local n = math.tointeger(tonumber(word))
  if n then return n end
  local i = field[1]
  for name in (field[3] or ""):gmatch "%a+" do
    if name == word:lower() then return i end
    i = i + 1
  end
end

-- "1-5,*/15" → { [n] = true }; nil: no such field.
local function set_of(text, field)
  local set = {}
  for part in (text .. ","):gmatch "(.-)," do
    local range, step = part:match "^(.-)/(%d+)$"
    range, step = range or part, math.tointeger(tonumber(step or 1))
    local from, to = range:match "^(%w+)%-(%w+)$"
    if range == "*" or range == "?" then
      from, to = field[1], field[2]
    else
      from, to = number_of(from or range, field), to and number_of(to, field)
      to = to or part:find "/" and field[2] or from
    end
    if not from or not to or step < 1 or from < field[1] or to > field[2] then return nil end
    for n = from, to, step do set[n] = true end
  end
  return set
end

-- The next time after `from` (seconds since 1970) of a schedule of five fields, by the clocks of a zone; nil: it is none. As the
-- servers' cron has it (robfig/cron), a time that the clocks leave out does not come, and one that comes twice comes twice.
local function next_of(schedule, from, offset)
  local sets, words = {}, {}
  for word in (WORDS[schedule] or schedule):gmatch "%S+" do words[#words + 1] = word end
  if #words ~= 5 then return nil end
  for i, word in ipairs(words) do
    sets[i] = set_of(word, FIELDS[i])
    if not sets[i] then return nil end
  end
  sets[5][0] = sets[5][0] or sets[5][7]
  local any_day, any_weekday = words[3]:find "^[*?]" ~= nil, words[5]:find "^[*?]" ~= nil
  local at = (math.floor(from) // 60 + 1) * 60
  local last = at + 5 * 366 * 86400
  -- to the next whole day or hour of those clocks, and by minutes where they are changed on the way
  local function leap(length)
    local ahead = offset(at)
    local to = ((at + ahead) // length + 1) * length - ahead
    return offset(to) == ahead and to or at + 60
  end
  while at < last do
    local ahead = offset(at)
    if not ahead then return nil end
    local d = os.date("!*t", at + ahead)
    local day, weekday = sets[3][d.day], sets[5][d.wday - 1]
    local today = (any_day or any_weekday) and day and weekday or not (any_day or any_weekday) and (day or weekday)
    if not sets[4][d.month] or not today then
      at = leap(86400)
    elseif not sets[2][d.hour] then
      at = leap(3600)
    elseif not sets[1][d.min] then
      at = at + 60
    else
      return at
    end
  end
end

local function schedules_of(s)
  return s.spec.schedules or { s.spec.schedule }
end

-- handle:next_run() → when it runs next, in seconds since 1970; nil and why not.
function object:next_run()
  kind_of(self, "handle:next_run")
  local s = k8s.get(self)
  local status, spec = rawget(s, "status") or {}, s.spec
  if spec.suspend then return nil, "it is suspended" end
  if s.kind == "ScheduledSparkApplication" then
    if not status.nextRun then return nil, status.reason or "its operator has not looked at it yet" end
    return time.parse(status.nextRun)
  end
  local zone = spec.timezone or spec.timeZone or "UTC"
  local last = status.lastScheduledTime or status.lastScheduleTime or s.metadata.creationTimestamp
  local soonest
  for _, schedule in ipairs(schedules_of(s)) do
    local every, own = schedule:match "^@every%s+(%S+)$", schedule:match "^%u*TZ=(%S+)%s"
    local offset = core.zone(own or zone)
    if not every and not offset then return nil, ("its times are those of %s, a zone that this machine does not know (package tzdata)"):format(own or zone) end
    local at = every and math.max(time.parse(last) + core.duration(every), time.now())
      or next_of(schedule:gsub("^%u*TZ=%S+%s+", ""), time.now(), offset)
    if at and (not soonest or at < soonest) then soonest = at end
  end
  return soonest, not soonest and "its schedule never comes" or nil
end

function object:suspend() return k8s.patch(self, { spec = { suspend = true } }) end
function object:resume() return k8s.patch(self, { spec = { suspend = false } }) end

-- handle:trigger() → a handle of a run that begins now, with the schedule's words.
function object:trigger()
  local kind = kind_of(self, "handle:trigger")
  local s = k8s.get(self)
  local run = kind.run(s)
  run.metadata = run.metadata or {}
  run.metadata.generateName, run.metadata.namespace = s.metadata.name .. "-", s.metadata.namespace
  run.metadata.labels = run.metadata.labels or {}
  if kind.label then run.metadata.labels[kind.label] = s.metadata.name end
  run.metadata.ownerReferences = core.array { { apiVersion = s.apiVersion, kind = s.kind, name = s.metadata.name, uid = s.metadata.uid } }
  return k8s.create(run)
end

-- expect(schedule):fires(2, "3m"): so many runs have begun, those before counted. A run that fails, and a schedule that is
-- suspended or refused, end the wait at once.
function expectation:fires(times, timeout)
  local handle = self.value
  if getmetatable(handle) ~= object then core.fail("error", "expect(…):fires needs a schedule of the cluster") end
  kind_of(handle, "expect(…):fires")
  local limit, seen, count = core.now() + core.duration(timeout or "10m"), {}, 0
  while true do
    for _, run in ipairs(runs_of(handle, "expect(…):fires")) do
      local state, ended, cause = run:state()
      if not seen[run.metadata.uid] then seen[run.metadata.uid], count = true, count + 1 end
      if ended and (state == "FAILED" or state == "Failed" or state == "Error") then
        core.fail("assertion", ("%s: its run %s %s%s"):format(tostring(handle), run.metadata.name, state, cause and cause ~= "" and ": " .. cause or ""))
      end
    end
    if count >= times then return self end
    local s = k8s.get(handle)
    if s.spec.suspend then core.fail("assertion", ("%s fired %d times, and is suspended"):format(tostring(handle), count)) end
    local status = rawget(s, "status") or {}
    if status.scheduleState == "FailedValidation" then
      core.fail("assertion", ("%s cannot fire: %s"):format(tostring(handle), status.reason or "its operator refuses it"))
    end
    if core.now() >= limit then
      local at, why = handle:next_run()
      core.fail("timeout", ("%s fired %d times in %s, not %d; %s"):format(tostring(handle), count, tostring(timeout or "10m"), times,
        at and "the next run is at " .. core.iso(at) or why))
    end
    core.sleep(LOOK_EVERY)
  end
end

core.api [[
handle:history() -> handles
  The runs of a schedule (ScheduledSparkApplication, CronWorkflow, CronJob) that are still there, the newest first: names, states,
  durations.
  example:
    nightly = k8s.get("scheduledsparkapplications", "nightly")
    print(nightly:history()) --> no runs yet
handle:next_run() -> number|nil
  When a schedule runs next, in seconds since 1970.
  result: nil and the reason, when that is not known
  example:
    nightly = k8s.get("scheduledsparkapplications", "nightly")
    at, why = nightly:next_run()
    print(at and time.format(at, "%H:%M") or why) --> 03:00
handle:suspend() -> handle
  Nothing new begins: of a schedule, a Job, a SparkApplication, a Workflow.
  effect: cluster
  example:
    nightly = k8s.get("scheduledsparkapplications", "nightly")
    nightly:suspend()
    print(k8s.get(nightly).spec.suspend) --> true
handle:resume() -> handle
  It goes on.
  effect: cluster
  example:
    nightly = k8s.get("scheduledsparkapplications", "nightly")
    nightly:resume()
    print(k8s.get(nightly).spec.suspend) --> false
handle:trigger() -> handle
  A run of a schedule now.
  effect: cluster
  example:
    nightly = k8s.get("scheduledsparkapplications", "nightly")
    print(nightly:trigger().kind) --> SparkApplication
expectation:fires(times, timeout) -> expectation
  A schedule has begun so many runs, those before counted; a run that fails ends the wait at once.
  errors: the time-out, with the next run; a schedule that is suspended or refused
  example:
    nightly = k8s.get("scheduledsparkapplications", "nightly")
    nightly:trigger()
    expect(nightly):fires(1, "1m")
]]
