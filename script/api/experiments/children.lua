-- SPDX-License-Identifier: MIT
-- Child records of a run: trials and measurements. Each is a branch of the cell with parameters, metrics, files and a
-- state of its own (script/journal/fold/fold_children.c), and is taken over as it is by a run that is resumed.
--
-- A record is { name, of, params, state, metrics = {name = last value}, curves = {name = {steps =, values =}}, files,
-- began, seconds, error }. States: waiting, running, done, failed, stopped, interrupted.
local core = ...
local live = {} -- name of a branch -> the record of its child

core.children = {}
local children = core.children

-- What tune and study are given, checked: the name, and how errors call it.
function children.read_name(verb, options)
  core.expect_type(verb, options, "table", "its options in a table")
  core.check(verb, options)
  local name = type(options[1]) == "string" and options[1] or options.name or verb
  if name:find "[/%c]" or name == "" or #name > 60 then core.fail("error", verb .. ": a name has 1 to 60 bytes and no slash") end
  return name, name == verb and name or verb .. " " .. name
end

-- Their function, which stands in the list.
function children.read_function(verb, options, expected)
  local fn = options.fn
  for _, value in ipairs(options) do
    if type(value) == "function" then fn = value end
  end
  return core.expect_type(verb, fn, "function", expected)
end

-- JSON has no such numbers.
local function number(value)
  if value ~= value then return "nan" end
  if value == math.huge then return "inf" end
  return value == -math.huge and "-inf" or value
end

local function as_number(value)
  if value == "nan" then return 0 / 0 end
  return value == "inf" and math.huge or value == "-inf" and -math.huge or value
end

-- The same bits? NaN is NaN.
local function same(a, b) return a == b or a ~= a and b ~= b end

local function mapped(list, fn)
  local copy = core.array {}
  for i, value in ipairs(list) do copy[i] = fn(value) end
  return copy
end

-- What the journal keeps, for people and for who resumes.
local function told(record)
  local value = { state = record.state, of = record.of, source = core.cell_source(), params = record.params,
    note = record.note, error = record.error, seconds = record.seconds, started = record.since, by = record.mode and record.by, mode = record.mode, metrics = {}, curves = {}, files = {} }
  if record.state ~= "running" then
    for name, measured in pairs(record.metrics) do value.metrics[name] = number(measured) end
    for name, curve in pairs(record.curves) do
      value.curves[name] = { steps = mapped(curve.steps, number), values = mapped(curve.values, number) }
    end
    for name, file in pairs(record.files) do value.files[name] = file end
  end
  return value
end

local function tell(record)
  core.record("child", record.branch, told(record), nil, record.branch)
end

-- The child in whose branch this is; nil: none.
local function current()
  local name = core.branch_name()
  while name do
    if live[name] then return live[name] end
    name = name:match "^(.*)/[^/]*$"
  end
end

-- A value at a step: of a report, of run.metric, of a training's epoch.
function children.point(record, name, step, value)
  local curve = record.curves[name]
  if not curve then
    curve = { steps = {}, values = {} }
    record.curves[name] = curve
  end
  step = step or #curve.steps + 1
  curve.steps[#curve.steps + 1], curve.values[#curve.values + 1] = step, value
  record.metrics[name] = value
  return step
end

-- run.metric tells of each value.
function children.measured(name, value, step)
  local record = current()
  if not record then return end
  step = children.point(record, name, step, value)
  if record.on_points then record.on_points(record, step, { [name] = value }) end
end

local function sorted_ids(shown)
  local ids = {}
  for id in pairs(shown) do ids[#ids + 1] = math.tointeger(tonumber(id)) end
  table.sort(ids)
  return ids
end

local function numbers_of(metrics)
  local found = {}
  for name, value in pairs(metrics or {}) do
    value = as_number(value)
    if type(value) == "number" then found[name] = value end
  end
  return found
end

-- What the trainings below the child have shown since it was looked at last. The evaluation of one counts when it ends.
function children.poll(record)
  if not record.branch then return end
  local shown, version = core.trainings(record.branch, record.seen)
  if not shown then return end
  record.seen = version
  for _, id in ipairs(sorted_ids(shown)) do
    local data, last = shown[tostring(id)], record.epochs[id] or 0
    for _, epoch in ipairs(data.history or {}) do
      if epoch.epoch > last then
        last = epoch.epoch
        local points = numbers_of(epoch.metrics)
        for name, value in pairs(points) do children.point(record, name, last, value) end
        if record.on_points then record.on_points(record, last, points, true) end
      end
    end
    record.epochs[id] = last
    for name, value in pairs(numbers_of(data.evaluated)) do record.metrics[name] = value end
  end
end

-- A number is the metric `by`; a table has metrics by name, or is a training's job, which has them in `metrics`.
local function take_returned(record, value)
  if type(value) == "number" and record.by then value = { [record.by] = value } end
  if type(value) ~= "table" then return end
  local metrics = rawget(value, "metrics")
  for name, measured in pairs(type(metrics) == "table" and metrics or value) do
    if type(name) == "string" and type(measured) == "number" and not same(record.metrics[name], measured) then
      core.record("metric", name, number(measured))
      record.metrics[name] = measured
    end
  end
end

-- The files that the child was told to write, with their digests.
local function take_files(record)
  for _, name in ipairs(record.paths) do
    local path = record.folder .. "/" .. name
    local stat = core.call("fs.stat", { path = path })
    if stat and stat.type == "file" then
      local found = core.call("run.artifact", { file = path })
      core.record("artifact", name, found)
      record.files[name] = found
    end
  end
end

-- The path of a file of the child, in a folder of its own.
function children.path(record, name)
  core.expect_type("trial:path", name, "string", "the name of a file")
  if name == "" or name:find "^/" or ("/" .. name .. "/"):find("/../", 1, true) then
    core.fail("error", ("trial:path(%q): it is the name of a file in the trial's own folder"):format(name))
  end
  if not record.known[name] then
    record.known[name], record.paths[#record.paths + 1] = true, name
    core.call("fs.mkdir", { path = (record.folder .. "/" .. name):match "^(.*)/" })
  end
  return record.folder .. "/" .. name
end

local taken = {} -- names of tunes and studies -> { the cell, its execution }

-- A name that is free in this run: "digits", else "digits-2". A cell that runs again has its names again.
function children.own_name(name)
  local cell, execution = core.cell_run()
  local own, n = name, 1
  while taken[own] and not (taken[own].cell == cell and taken[own].execution ~= execution) do
    n = n + 1
    own = ("%s-%d"):format(name, n)
  end
  taken[own] = { cell = cell, execution = execution }
  return own
end

function children.new(fields)
  for name, empty in pairs { metrics = {}, curves = {}, files = {}, epochs = {}, paths = {}, known = {}, finals = {} } do
    fields[name] = fields[name] or empty
  end
  fields.state = "waiting"
  return fields
end

local function record_params(record)
  for name, value in pairs(record.params) do core.record("param", name, type(value) == "number" and number(value) or value) end
end

-- A resumed run takes over what was told of a child: its metrics and files are recorded as its own again.
local function retell(record)
  core.keep_branch()
  for name, curve in pairs(record.curves) do
    for i, value in ipairs(curve.values) do core.record("metric", name, number(value), math.tointeger(curve.steps[i])) end
  end
  for name, value in pairs(record.metrics) do
    local curve = record.curves[name]
    if not curve or curve.values[#curve.values] ~= value then core.record("metric", name, number(value)) end
  end
  for name, file in pairs(record.files) do core.record("artifact", name, file) end
end

-- Begins a branch that runs fn(record), or tells again what an earlier kernel had of it.
function children.begin(record, fn, options)
  return core.branch({ name = record.name, item = { record.name, record.params }, group = options.group, timeout = options.timeout }, function()
    record.branch = core.branch_name()
    live[record.branch] = record
    if record.kept then
      local state = record.state
      record.state = "running"
      tell(record)
      record_params(record)
      retell(record)
      record.state = state
      return
    end
    record.state, record.began, record.since = "running", core.now(), core.iso(core.wall())
    tell(record)
    record_params(record)
    core.trainings(record.branch)
    local value = fn(record)
    core.join()
    children.poll(record)
    take_returned(record, value)
    take_files(record)
    return value
  end)
end

-- The branch has ended: its state, and what the journal says of it. Returns its error; nil: it has none.
function children.ended(record, branch)
  local ok, why, failure = core.outcome(branch)
  if record.branch then
    if not record.kept then children.poll(record) end
    live[record.branch] = nil
    core.trainings_end(record.branch)
  end
  if record.kept then
    if record.branch then tell(record) end
    return nil
  end
  record.seconds = record.began and core.now() - record.began or 0
  if ok then
    record.state = "done"
  elseif record.stopping then
    record.state, record.note = record.stopping.state, record.stopping.why
  else
    record.state = failure == "interrupted" and "interrupted" or "failed"
    record.error = failure == "timeout" and "it took longer than its timeout" or core.error_text(why)
    record.note = record.error:gsub("\n.*", "")
  end
  if record.branch then tell(record) end
  for i = #record.finals, 1, -1 do
    local done, wrong = pcall(record.finals[i])
    if not done then core.output("stderr", ("%s: %s\n"):format(record.name, core.error_text(wrong))) end
  end
  return not ok and not record.stopping and record.error or nil, failure
end

-- Of those that still run when their cell ends in whatever way.
function children.abandon(record)
  if record.state ~= "running" or not record.branch then return end
  record.state, record.note = "interrupted", "interrupted"
  record.seconds = core.now() - record.began
  live[record.branch] = nil
  core.trainings_end(record.branch)
  tell(record)
  for i = #record.finals, 1, -1 do pcall(record.finals[i]) end
end

function children.names_of(metrics)
  local names = {}
  for name in pairs(metrics) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- What is wrong when a child that ended well has not this metric; nil: it has.
function children.without(record, metric)
  if record.metrics[metric] ~= nil then return nil end
  local names = children.names_of(record.metrics)
  local near = core.nearest(metric, names)
  return ("%s gave no metric %q; it gave %s%s"):format(record.name, metric, #names > 0 and table.concat(names, ", ") or "none",
    near and ("; did you mean %s?"):format(near) or "")
end

local function same_files(files)
  for _, file in pairs(files or {}) do
    local ok, found = pcall(core.call, "fs.sha256", { path = file.path })
    if not ok or found ~= file.sha256 then return false end
  end
  return true
end

local function same_params(old, new)
  for name, value in pairs(new) do
    if not same(as_number(old[name]), value) then return false end
  end
  for name in pairs(old) do
    if new[name] == nil then return false end
  end
  return true
end

-- Takes over from an earlier kernel what still holds of a record: it has ended, the cell and the parameters are the same,
-- and so are its files. past: core.past_children().
function children.take_over(record, past)
  local old = (past or {})[record.name]
  if not old or (old.state ~= "done" and old.state ~= "stopped") or old.source ~= core.cell_source() then return false end
  if not same_params(old.params, record.params) or not same_files(old.files) then return false end
  record.kept, record.state, record.note, record.seconds = true, old.state, old.note, old.seconds
  record.since = old.started
  for name, value in pairs(old.metrics) do record.metrics[name] = as_number(value) end
  for name, curve in pairs(old.curves) do
    record.curves[name] = { steps = mapped(curve.steps, as_number), values = mapped(curve.values, as_number) }
  end
  record.files = old.files
  return true
end

local function compare_curves(a, b, ignored, counts, differ)
  for name, curve in pairs(a.curves) do
    local other = b.curves[name] or { values = {} }
    for i = 1, ignored[name] and 0 or math.min(#curve.values, #other.values) do
      counts.values = counts.values + 1
      if not same(curve.values[i], other.values[i]) then
        differ[#differ + 1] = ("%s at %s: %.17g, then %.17g"):format(name, curve.steps[i], curve.values[i], other.values[i])
        break
      end
    end
  end
end

-- The header of a safetensors file without its metadata, which tell of arguments and so of paths; the file is at its tensors
-- then. nil: it is none.
local function open_tensors(path)
  local file = io.open(path, "rb")
  local length = file and file:read(8)
  local n = length and #length == 8 and string.unpack("<I8", length) or 0
  local text = n > 0 and n < 1 << 26 and file:read(n)
  local ok, header = pcall(core.parse, text or "")
  if not ok or type(header) ~= "table" then
    if file then file:close() end
    return nil
  end
  header.__metadata__ = nil
  return file, core.json(header)
end

-- Do two files hold the same tensors?
local function same_tensors(a, b)
  local x, head_x = open_tensors(a)
  local y, head_y = open_tensors(b)
  local same_so_far = x and y and head_x == head_y
  while same_so_far do
    local p, q = x:read(1 << 20), y:read(1 << 20)
    same_so_far = p == q
    if not p then break end
  end
  if x then x:close() end
  if y then y:close() end
  return same_so_far or false
end

local function same_file(name, a, b)
  return b and (a.sha256 == b.sha256 or name:find "%.safetensors$" and same_tensors(a.path, b.path))
end

-- Did b give what a gave? → what was the same, as a text, and a list of what was not. A stopped one is compared as far as it
-- went.
function children.compare(a, b, ignored)
  local counts, differ = { metrics = 0, values = 0, files = 0 }, {}
  for name, value in pairs(a.state == "done" and not a.stopping and a.metrics or {}) do
    if not ignored[name] then
      counts.metrics = counts.metrics + 1
      if b.metrics[name] == nil then
        differ[#differ + 1] = ("%s: %.17g, then none"):format(name, value)
      elseif not same(value, b.metrics[name]) then
        differ[#differ + 1] = ("%s: %.17g, then %.17g"):format(name, value, b.metrics[name])
      end
    end
  end
  compare_curves(a, b, ignored, counts, differ)
  for name, file in pairs(a.files) do
    local other = b.files[name]
    if not ignored[name] then
      counts.files = counts.files + 1
      if not same_file(name, file, other) then
        differ[#differ + 1] = ("the file %s: sha256 %s, then %s"):format(name, file.sha256:sub(1, 12), other and other.sha256:sub(1, 12) or "none")
      end
    end
  end
  table.sort(differ)
  local parts = {}
  for _, kind in ipairs { "metrics", "values", "files" } do
    local n = counts[kind]
    if n > 0 then
      local noun = kind == "values" and "values of curves" or n == 1 and kind:sub(1, -2) or kind
      parts[#parts + 1] = ("%d %s"):format(n, noun)
    end
  end
  return table.concat(parts, ", "), differ, counts.metrics + counts.values + counts.files
end
