-- SPDX-License-Identifier: MIT
-- Runs a pipeline: steps that can run at once do, in branches of the cell; shows its graph; and ends it at the first failure.
local core = ...
local flow, kinds = core.pipeline.flow, core.pipeline.kinds
local KIND = "application/vnd.firesteel.table+json"
local LOOK_EVERY = 2      -- seconds, at the objects of running steps
local EXIT_LIMIT = 120    -- seconds for a step that runs at the end
local TAIL = 15           -- lines of a log in an error
core.pipeline.telling = {} -- name of a branch -> its step's record

-- The picture.

local MARKS = { waiting = "·", running = "●", done = "✓", failed = "✗", skipped = "-", cancelled = "!" }

local function progress_of(handle)
  local ok, status = pcall(handle.status, handle)
  if not ok or type(status) ~= "table" then return nil end
  local parts = {}
  if handle.kind == "Job" then
    for _, field in ipairs { "active", "succeeded", "failed" } do
      if (status[field] or 0) > 0 then parts[#parts + 1] = ("%d %s"):format(status[field], field) end
    end
  elseif handle.kind == "SparkApplication" then
    local executors = {}
    for _, state in pairs(status.executorState or {}) do executors[state] = (executors[state] or 0) + 1 end
    parts[1] = (status.applicationState or {}).state
    for state, n in pairs(executors) do parts[#parts + 1] = ("%d executors %s"):format(n, state) end
    table.sort(parts, function(a, b) return a > b end)
  elseif status.replicas then
    parts[1] = ("%d/%d ready"):format(status.readyReplicas or 0, status.replicas)
  elseif status.phase then
    parts[1] = status.phase
  end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

local function seconds_text(s)
  if s < 60 then return ("%.1fs"):format(s) end
  return s < 3600 and ("%dm%02ds"):format(s // 60, s % 60 // 1) or ("%dh%02dm"):format(s // 3600, s % 3600 // 60)
end

-- How many steps are before it, on the longest way; known: those that are found already.
local function depth_of(self, name, known)
  if not known[name] then
    local most = 0
    for other in pairs(self.steps[name].after) do most = math.max(most, 1 + depth_of(self, other, known)) end
    known[name] = most
  end
  return known[name]
end

local function row_of(self, name, depths)
  local step, status = self.steps[name], self.status[name] or { state = "waiting" }
  local after = {}
  for other in pairs(step.after) do after[#after + 1] = other end
  table.sort(after)
  local handle = status.records and status.records[1] and (status.records[1].handles or {})[1]
  local note = status.note or (status.state == "waiting" and (step.exit and "when " .. step.when
    or #after > 0 and "after " .. table.concat(after, ", "))) or ""
  local took = status.took and seconds_text(status.took) or status.since and { since = status.since } or ""
  local row = { uid = name, cells = { ("  "):rep(depth_of(self, name, depths)) .. MARKS[status.state] .. " " .. name, status.state, took, note },
    sick = status.state == "failed" and 1 or nil }
  if handle then
    row.name, row.namespace = handle.name, handle.namespace
    row.about = { apiVersion = handle.apiVersion, kind = handle.kind, cluster = handle.cluster }
  end
  return row
end

local function picture(self)
  local rows, lines = core.array {}, { ("%s  %s"):format(self.name, self.state or "waiting") }
  local actions
  local depths = {}
  for i, name in ipairs(self.order) do
    local row = row_of(self, name, depths)
    rows[i], actions = row, actions or row.about
    local took = row.cells[3]
    lines[#lines + 1] = ("%s  %-9s  %-7s  %s"):format(row.cells[1] .. (" "):rep(24 - utf8.len(row.cells[1])), row.cells[2],
      type(took) == "string" and took or "", row.cells[4]):gsub("%s+$", "")
  end
  return { ["text/plain"] = table.concat(lines, "\n"), [KIND] = {
    title = ("%s: %s"):format(self.name, self.state or "waiting"), columns = core.array { "STEP", "STATE", "TIME", "WHAT" }, rows = rows,
    actions = actions and core.array { "describe", "yaml", "logs" } or nil,
  } }
end

local function show(self, close)
  if self.display then core.update(self.display, picture(self), close) end
  if close then self.display = nil end
end

function flow:watch()
  if not self.display then self.display, self.shown = core.display(picture(self), true), true end
  return self
end

flow.__tostring = function(self) return picture(self)["text/plain"] end
flow.__display = function(self) return not self.shown and picture(self) or nil end

local function set(self, name, state, note)
  local status = self.status[name]
  if state == "running" then
    status.began, status.since, status.took = core.now(), core.iso(core.wall()), nil
  elseif status.began then
    status.took = core.now() - status.began
  end
  status.state, status.note = state, note
  show(self)
end

-- Looks at the objects of running steps, for the picture alone.
local function look(self)
  while true do
    core.sleep(LOOK_EVERY)
    local changed = false
    for _, name in ipairs(self.order) do
      local status = self.status[name]
      local record = status.state == "running" and status.records and status.records[#status.records]
      local handle = record and record.handles and record.handles[#record.handles]
      local note = handle and progress_of(handle)
      if note and note ~= status.note and status.state == "running" then status.note, changed = note, true end
    end
    if changed then show(self) end
  end
end

-- Running a step.

-- The variables of its expressions: its parameters, outputs of other steps, the item, then the globals.
local function env_of(self, step, item)
  local env = { item = item }
  for other, names in pairs(step.refs) do
    env[other] = {}
    for name in pairs(names) do env[other][name] = core.pipeline.output(self, self.steps[other], name) end
  end
  setmetatable(env, { __index = _G })
  local all = setmetatable({ item = item }, { __index = env })
  for name, value in pairs(step.with or {}) do all[name] = core.pipeline.filled(value, env, step.name) end
  return all
end

local function is_wanted(step, env)
  if not step.when or step.exit then return true end
  local fn, why = load("return " .. step.when:gsub("%${(.-)}", "(%1)"), "=when", "t", env)
  if not fn then core.fail("error", ("step %s: when: %s"):format(step.name, why)) end
  return fn()
end

local function do_one(self, step, item, record)
  local branch = core.branch_name()
  core.pipeline.telling[branch] = record
  local env = env_of(self, step, item)
  kinds[step.kind](self, step, env, record)
  core.pipeline.telling[branch] = nil
end

-- In the step's branch: "skipped" or "done".
local function do_step(self, step)
  local status = self.status[step.name]
  if step.when and not step.exit and not is_wanted(step, env_of(self, step)) then return "skipped" end
  local items = step.each
  if items == nil then
    status.records = { status.records and status.records[1] or { metrics = {} } }
    do_one(self, step, nil, status.records[1])
    return "done"
  end
  local plain = { name = step.name, refs = step.refs }
  if type(items) == "string" then items = core.pipeline.filled(items, env_of(self, plain), step.name) end
  if type(items) ~= "table" then core.fail("error", ("step %s: each is a list, not %s"):format(step.name, tostring(items))) end
  status.records = status.records or {}
  parallel.map(items, { at_once = step.at_once }, function(item, i)
    status.records[i] = status.records[i] or { metrics = {} }
    do_one(self, step, item, status.records[i])
  end)
  return "done"
end

local function declared(self, step)
  for name in pairs(step.outputs or {}) do core.pipeline.output(self, step, name) end
end

local function begin(self, step, attempt, group, name, limit)
  set(self, step.name, "running", attempt > 1 and ("attempt %d of %d"):format(attempt, step.retries + 1) or nil)
  local seconds = step.timeout and core.duration(step.timeout) or limit
  return core.branch({ name = name, item = { step.name, attempt }, group = group, timeout = seconds }, function()
    local how = do_step(self, step)
    self.status[step.name].state = how
    if how == "done" then declared(self, step) end
    core.join()
    return how
  end)
end

local function last_lines(status)
  for _, record in ipairs(status.records or {}) do
    for _, handle in ipairs(record.handles or {}) do
      local ok, text = pcall(handle.logs, handle, { tail = TAIL })
      if ok and type(text) == "string" and text:find "%S" then
        return "\nlast lines:\n  " .. text:gsub("%s+$", ""):gsub("\n", "\n  ")
      end
    end
  end
  return ""
end

local function cause_of(step, message, failure)
  if failure == "timeout" and (not message or tostring(message):find "interrupted$") then return ("it took longer than its timeout of %s"):format(tostring(step.timeout)) end
  if failure == "interrupted" then return "it was cancelled" end
  return tostring(message)
end

-- In the pipeline's branch: all steps but those of the end. Returns nothing, or the step that failed, why, and the kind of its
-- failure.
local function drive(self)
  local group, running, count = core.group(), {}, 0
  local looking = core.branch({ name = "look", item = "look" }, look, self)
  local failed, why, kind

  local function is_ready(step)
    if step.exit or self.status[step.name].state ~= "waiting" then return false end
    for other in pairs(step.after) do
      local state = self.status[other].state
      if state ~= "done" and state ~= "skipped" then return false end
    end
    return true
  end

  local function start(step, attempt)
    running[begin(self, step, attempt, group, step.name)] = { step = step, attempt = attempt }
    count = count + 1
  end

  local function take()
    local b = core.next(group)
    local step, attempt = running[b].step, running[b].attempt
    running[b], count = nil, count - 1
    local ok, how, failure = core.outcome(b)
    if ok then
      set(self, step.name, how)
      return
    end
    local cause = cause_of(step, how, failure)
    if failed then
      set(self, step.name, "cancelled")
    elseif failure ~= "refused" and attempt <= (step.retries or 0) then
      start(step, attempt + 1)
    else
      set(self, step.name, "failed", (cause:gsub("\n.*", "")))
      failed, why, kind = step, cause .. last_lines(self.status[step.name]), failure
      for other in pairs(running) do core.cancel(other) end
    end
  end

  repeat
    for _, name in ipairs(self.order) do
      if not failed and is_ready(self.steps[name]) then start(self.steps[name], 1) end
    end
    if count > 0 then take() end
  until count == 0 and (failed or not self:_waits(is_ready))
  core.cancel(looking)
  pcall(core.await, looking)
  return failed, why, kind
end

function flow:_waits(is_ready)
  for _, name in ipairs(self.order) do
    if is_ready(self.steps[name]) then return true end
  end
  return false
end

-- The steps of the end, one after the other; an error of one does not keep the others from it.
local function finish(self, failed)
  local problems = {}
  for _, name in ipairs(self.order) do
    local step = self.steps[name]
    if step.exit and (step.when == "always" or failed) then
      local b = begin(self, step, 1, nil, self.name .. "/" .. name, EXIT_LIMIT)
      local ok, why = pcall(core.await, b)
      set(self, name, ok and "done" or "failed", not ok and tostring(why):gsub("\n.*", "") or nil)
      if not ok then problems[#problems + 1] = ("step %s failed: %s"):format(name, tostring(why)) end
    elseif step.exit then
      set(self, name, "skipped")
    end
  end
  return problems
end

local function reset(self)
  for _, name in ipairs(self.order) do self.status[name] = { state = "waiting" } end
end

function flow:run()
  core.pipeline.check(self)
  reset(self)
  self.state = "running"
  self:watch()
  show(self)
  local main = core.branch({ name = self.name, item = self.name, timeout = self.timeout }, drive, self)
  local ok, step, why, kind = pcall(core.await, main)
  if not ok then why, kind = tostring(step), core.raised(tostring(step)) end
  local failed = not ok or step ~= nil
  for _, name in ipairs(self.order) do
    local state = self.status[name].state
    if failed and (state == "running" or state == "waiting" and not self.steps[name].exit) then
      set(self, name, "cancelled", state == "waiting" and "not run" or nil)
    end
  end
  local problems = finish(self, failed)
  self.state = (failed or #problems > 0) and "failed" or "done"
  show(self, true)
  if failed then
    table.insert(problems, 1, ok and ("step %s failed: %s"):format(step.name, why) or why)
  end
  if #problems > 0 then
    core.fail((kind == "refused" or kind == "timeout") and kind or "error",
      ("pipeline %s: %s"):format(self.name, table.concat(problems, "\nalso ")))
  end
  return self
end

-- Only the steps of the end: for a cell with when="always", after an interrupt.
function flow:clean()
  if next(self.status) == nil then reset(self) end
  self:watch()
  local problems = finish(self, true)
  show(self, true)
  if #problems > 0 then core.fail("error", ("pipeline %s: %s"):format(self.name, table.concat(problems, "\nalso "))) end
  return self
end

function flow:output(step, name)
  local s = self.steps[step]
  if not s then core.unknown("pipeline " .. self.name, "step", tostring(step), self.steps) end
  if (self.status[step] or {}).state ~= "done" then core.fail("error", ("step %s is not done"):format(step)) end
  return core.pipeline.output(self, s, name)
end

core.api([[
pipeline(options) -> flow
  A graph of steps, which is checked at once: pipeline { name, timeout = "1h", steps = { name = { … } } }. A step is one of
  apply (a manifest), image with command (a Job), trainer, call (a function) and delete; with after, with, when, retries,
  timeout, each, outputs and reaches. doc/pipelines.md has all of it.
  errors: a cycle, an unknown step or output, a parameter that nothing uses; each names the step
  example:
    flow = pipeline { "sums", steps = {
      one = function() return { n = 20 } end,
      two = { call = function(with) return { sum = with.n + 1 } end, with = { n = "${one.n}" } },
    } }
    flow:run()
    print(flow:output("two", "sum")) --> 21
flow: type -- A pipeline.
flow:run() -> flow
  Runs the steps, those at once that can be; the graph is live below the cell.
  errors: the first step that fails, with its cause and the last lines of its log; steps with when = "always" have run then
  example:
    flow = pipeline { "one", steps = { a = function() print "once" end } }
    flow:run() --> once
flow:watch() -> flow
  Leaves the graph below the cell; it is live while the pipeline runs.
  example:
    flow = pipeline { "one", steps = { a = function() end } }
    flow:watch():run()
flow:output(step, name) -> any
  An output of a step that is done.
  errors: the step is not done, or has no such output
  example:
    flow = pipeline { "one", steps = { a = function() return { n = 3 } end } }
    print(flow:run():output("a", "n")) --> 3
flow:clean() -> flow
  Runs the steps with when = "always" or "failed" alone: for a cell that runs after an interrupt.
  example:
    flow = pipeline { "one", steps = { a = function() end, b = { call = function() print "clean" end, when = "always" } } }
    flow:clean() --> clean
]], { types = { flow = flow } })
