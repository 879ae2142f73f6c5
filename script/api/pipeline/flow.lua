-- SPDX-License-Identifier: MIT
-- Runs a pipeline: steps that can run at once do, in branches of the cell; shows its graph; and ends it at the first failure.
local core = ...
local flow, kinds = core.pipeline.flow, core.pipeline.kinds
local KIND = "application/vnd.firesteel.table+json"
local LOOK_EVERY = 2      -- seconds, at the objects of running steps
local EXIT_LIMIT = 120    -- seconds for a step that runs at the end
local TAIL = 15           -- lines of a log in an error
local PARTS = 12          -- a fan-out of more parts has one row
core.pipeline.telling = {} -- name of a branch -> its step's record

-- The picture.

local MARKS = { waiting = "·", running = "●", done = "✓", failed = "✗", skipped = "-", cancelled = "!" }

local function progress_of(handle)
  local ok, status = pcall(handle.status, handle)
  if not ok or type(status) ~= "table" then return nil end
  local parts = {}
  for _, path in ipairs((core.pipeline.known(handle) or { words = { "status.phase" } }).words) do
    local value = { status = status }
    for name in path:gmatch "[^.]+" do value = type(value) == "table" and value[name] or nil end
    if type(value) == "string" and value ~= "" and #parts == 0 then parts[1] = value end
  end
  for _, field in ipairs { "active", "succeeded", "failed" } do -- as Jobs count their pods
    if type(status[field]) == "number" and status[field] > 0 then parts[#parts + 1] = ("%d %s"):format(status[field], field) end
  end
  local executors, states = {}, {}
  for _, state in pairs(status.executorState or {}) do executors[state] = (executors[state] or 0) + 1 end
  for state in pairs(executors) do states[#states + 1] = state end
  table.sort(states, function(a, b) return a > b end)
  for _, state in ipairs(states) do parts[#parts + 1] = ("%d executors %s"):format(executors[state], state) end
  if status.replicas and #parts == 0 then parts[1] = ("%d/%d ready"):format(status.readyReplicas or 0, status.replicas) end
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

local function last_handle(record)
  return record and record.handles and record.handles[#record.handles]
end

local function point_at(row, record)
  local handle = last_handle(record)
  if handle then
    row.name, row.namespace = handle.name, handle.namespace
    row.about = { apiVersion = handle.apiVersion, kind = handle.kind, cluster = handle.cluster }
  end
  return row
end

local function time_of(what)
  return what.took and seconds_text(what.took) or what.since and { since = what.since } or ""
end

-- Of a fan-out: "3/8", and the items that failed.
local function count_of(parts)
  local done, failed = 0, {}
  for _, part in ipairs(parts) do
    if part.state == "done" then done = done + 1 end
    if part.state == "failed" then failed[#failed + 1] = ("%s: %s"):format(part.label, part.note) end
  end
  return ("%d/%d"):format(done, #parts) .. (#failed > 0 and ", " .. table.concat(failed, "; ") or "")
end

local function row_of(self, name, depths)
  local step, status = self.steps[name], self.status[name] or { state = "waiting" }
  local after = {}
  for other in pairs(step.after) do after[#after + 1] = other end
  table.sort(after)
  local note = status.parts and count_of(status.parts) or status.note or (status.state == "waiting" and (step.exit and "when " .. step.when
    or #after > 0 and "after " .. table.concat(after, ", "))) or ""
  local row = { uid = name, cells = { ("  "):rep(depth_of(self, name, depths)) .. MARKS[status.state] .. " " .. name, status.state, time_of(status), note },
    sick = status.state == "failed" and 1 or nil }
  return status.parts and row or point_at(row, (status.records or {})[1])
end

local function part_row(self, name, i, depths)
  local status, part = self.status[name], self.status[name].parts[i]
  local state = part.state
  if status.state ~= "running" and (state == "running" or state == "waiting") then state = "cancelled" end
  return point_at({ uid = ("%s/%d"):format(name, i), cells = {
    ("  "):rep(1 + depth_of(self, name, depths)) .. MARKS[state] .. " " .. part.label, state, state == "cancelled" and "" or time_of(part), part.note or "" },
    sick = state == "failed" and 1 or nil }, (status.records or {})[i])
end

local function picture(self)
  local rows, lines = core.array {}, { ("%s  %s"):format(self.name, self.state or "waiting") }
  local actions
  local depths = {}
  local function add(row)
    rows[#rows + 1], actions = row, actions or row.about
    local took = row.cells[3]
    lines[#lines + 1] = ("%s  %-9s  %-7s  %s"):format(row.cells[1] .. (" "):rep(24 - utf8.len(row.cells[1])), row.cells[2],
      type(took) == "string" and took or "", row.cells[4]):gsub("%s+$", "")
  end
  for _, name in ipairs(self.order) do
    add(row_of(self, name, depths))
    local parts = (self.status[name] or {}).parts or {}
    for i = 1, #parts <= PARTS and #parts or 0 do add(part_row(self, name, i, depths)) end
  end
  return { ["text/plain"] = table.concat(lines, "\n"), [KIND] = {
    title = ("%s: %s"):format(self.name, self.state or "waiting"), columns = core.array { "STEP", "STATE", "TIME", "WHAT" }, rows = rows,
    actions = actions and core.array { "describe", "why", "yaml", "logs" } or nil,
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

-- What has an object and a note: a running step, or a running part of it. fn(what, record)
local function each_running(self, fn)
  for _, name in ipairs(self.order) do
    local status = self.status[name]
    for i, record in ipairs(status.state == "running" and status.records or {}) do
      local what = status.parts and status.parts[i] or status
      if what.state == "running" then fn(what, record) end
    end
  end
end

-- Looks at the objects of running steps, for the picture alone.
local function look(self)
  while true do
    core.sleep(LOOK_EVERY)
    local changed = false
    each_running(self, function(what, record)
      local handle = last_handle(record)
      local note = handle and progress_of(handle)
      if note and note ~= what.note and what.state == "running" then what.note, changed = note, true end
    end)
    if changed then show(self) end
  end
end

-- Running a step.

-- The variables of its expressions: its parameters, outputs of other steps, the item, then the globals.
local function env_of(self, step, item)
  local env = { item = item }
  for other, names in pairs(step.refs) do
    env[other] = {}
    for name in pairs(names) do env[other][name] = core.pipeline.output(self, self.steps[other], name, step.kind == "call") end
  end
  setmetatable(env, { __index = _G })
  local all = setmetatable({ item = item }, { __index = env })
  for name, value in pairs(step.with or {}) do all[name] = core.pipeline.filled(value, env, step.name) end
  return all
end

local function do_one(self, step, item, record)
  local branch = core.branch_name()
  core.pipeline.telling[branch] = record
  local env = env_of(self, step, item)
  kinds[step.kind](self, step, env, record)
  core.pipeline.telling[branch] = nil
end

local function label_of(item, i)
  local plain = type(item) == "string" or type(item) == "number" or type(item) == "boolean"
  return plain and tostring(item):gsub("%c", " ") or "#" .. i
end

-- A part of a fan-out: one item. What an attempt before this one has done stays done.
local function do_part(self, step, item, i)
  local status = self.status[step.name]
  local part, record = status.parts[i], status.records[i]
  if part.state == "done" then return end
  local began = core.now()
  part.state, part.since, part.took, part.note = "running", core.iso(core.wall()), nil, nil
  show(self)
  local ok, why = pcall(do_one, self, step, item, record)
  part.state, part.took = ok and "done" or "failed", core.now() - began
  if not ok then part.note = core.error_text(why):gsub("\n.*", "") end
  show(self)
  if not ok then error(why, 0) end
end

-- In the step's branch: "skipped" or "done".
local function do_step(self, step)
  local status = self.status[step.name]
  if step.when and not step.exit and not core.pipeline.holds(step, env_of(self, step)) then return "skipped" end
  local items = step.each
  if items == nil then
    status.records = { status.records and status.records[1] or { metrics = {} } }
    do_one(self, step, nil, status.records[1])
    return "done"
  end
  local plain = { name = step.name, refs = step.refs }
  if type(items) == "string" then items = core.pipeline.filled(items, env_of(self, plain), step.name) end
  if type(items) ~= "table" then core.fail("error", ("step %s: each must be a list, not %s"):format(step.name, tostring(items))) end
  status.records, status.parts = status.records or {}, status.parts or {}
  for i, item in ipairs(items) do
    status.records[i] = status.records[i] or { metrics = {} }
    status.parts[i] = status.parts[i] or { state = "waiting", label = label_of(item, i) }
  end
  show(self)
  parallel.map(items, { at_once = step.at_once }, function(item, i) do_part(self, step, item, i) end)
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
  for i, record in ipairs(status.records or {}) do
    local part = status.parts and status.parts[i]
    for _, handle in ipairs(part and part.state ~= "failed" and {} or record.handles or {}) do
      local ok, text = pcall(handle.logs, handle, { tail = TAIL })
      if ok and type(text) == "string" and text:find "%S" then
        return "\nlast lines:\n  " .. text:gsub("%s+$", ""):gsub("\n", "\n  ")
      end
    end
  end
  return ""
end

local function cause_of(step, message, failure)
  if failure == "timeout" and (not message or core.error_text(message):find "interrupted$") then return ("it took longer than its timeout of %s"):format(tostring(step.timeout)) end
  if failure == "interrupted" then return "it was cancelled" end
  return core.error_text(message)
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

-- A step of the end, with its attempts: nothing, or why it failed.
local function finish_step(self, step)
  for attempt = 1, 1 + (step.retries or 0) do
    local b = begin(self, step, attempt, nil, self.name .. "/" .. step.name, EXIT_LIMIT)
    local ok, why = pcall(core.await, b)
    local _, _, failure = core.outcome(b)
    set(self, step.name, ok and "done" or "failed", not ok and core.error_text(why):gsub("\n.*", "") or nil)
    if ok then return nil end
    if failure == "refused" or attempt > (step.retries or 0) then return ("step %s failed: %s"):format(step.name, core.error_text(why)) end
  end
end

-- The steps of the end that have not run, one after the other; an error of one does not keep the others from it.
local function finish(self, failed)
  local problems = {}
  for _, name in ipairs(self.order) do
    local step, state = self.steps[name], self.status[name].state
    if step.exit and state ~= "done" and state ~= "failed" then
      if step.when == "always" or failed then
        problems[#problems + 1] = finish_step(self, step)
      else
        set(self, name, "skipped")
      end
    end
  end
  return problems
end

-- The seconds that all steps of the end may take.
local function limit_of_end(self)
  local seconds = 0
  for _, step in pairs(self.steps) do
    if step.exit then
      seconds = seconds + (step.timeout and core.duration(step.timeout) or EXIT_LIMIT) * (1 + (step.retries or 0))
    end
  end
  return seconds
end

-- What has begun is over, and what has not does not begin.
local function cancel_rest(self)
  for _, name in ipairs(self.order) do
    local state = self.status[name].state
    if state == "running" or state == "waiting" and not self.steps[name].exit then
      set(self, name, self.steps[name].exit and "waiting" or "cancelled", state == "waiting" and "not run" or nil)
    end
  end
end

local function raise(self, kind, problems)
  core.fail((kind == "refused" or kind == "timeout") and kind or "error",
    ("pipeline %s: %s"):format(self.name, table.concat(problems, "\nalso ")))
end

-- After an interrupt or a time-out of the cell, which has ended all that ran: the steps of the end.
local function finish_interrupted(self)
  cancel_rest(self)
  self.state = "interrupted"
  local problems = finish(self, true)
  show(self, true)
  if #problems > 0 then raise(self, "error", problems) end
end

local function reset(self)
  for _, name in ipairs(self.order) do self.status[name] = { state = "waiting" } end
end

core.pipeline.view = { reset = reset, show = show, progress_of = progress_of, last_lines = last_lines } -- for argorun.lua

function flow:run()
  core.pipeline.check(self, true)
  reset(self)
  self.state = "running"
  self:watch()
  show(self)
  local seconds = limit_of_end(self)
  local deed = seconds > 0 and core.owe(seconds, function() finish_interrupted(self) end)
  local main = core.branch({ name = self.name, item = self.name, timeout = self.timeout }, drive, self)
  local ok, step, why, kind = pcall(core.await, main)
  if not ok then why, kind = tostring(step), core.raised(tostring(step)) end
  local failed = not ok or step ~= nil
  if failed then cancel_rest(self) end
  local problems = finish(self, failed)
  if deed then core.settle(deed) end
  self.state = (failed or #problems > 0) and "failed" or "done"
  show(self, true)
  if failed then
    table.insert(problems, 1, ok and ("step %s failed: %s"):format(step.name, why) or why)
  end
  if #problems > 0 then raise(self, kind, problems) end
  return self
end

-- Only the steps of the end that have not run yet.
function flow:clean()
  if self.workflow then
    self.workflow:delete { propagation = "Foreground" }
    self.workflow = nil
    return self
  end
  if next(self.status) == nil then reset(self) end
  self:watch()
  local problems = finish(self, true)
  show(self, true)
  if #problems > 0 then raise(self, "error", problems) end
  return self
end

function flow:output(step, name)
  local s = self.steps[step]
  if not s then core.unknown("pipeline " .. self.name, "step", tostring(step), self.steps) end
  if (self.status[step] or {}).state ~= "done" then core.fail("error", ("step %s is not done"):format(step)) end
  return core.pipeline.output(self, s, name, true)
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
  Runs the steps with when = "always" or "failed" alone: for a cell that runs after an interrupt. After flow:submit it deletes
  the Workflow, with all that its steps made.
  example:
    flow = pipeline { "one", steps = { a = function() end, b = { call = function() print "clean" end, when = "always" } } }
    flow:clean() --> clean
]], { types = { flow = flow } })
