-- SPDX-License-Identifier: MIT
-- run: what is worth remembering of a run. `firesteel runs` shows it, compares and sorts by it.
local core = ...
local NAME = 250 -- bytes of a name, as MLflow has it

run = {}

local function check_name(what, name)
  core.expect_type(what, name, "string", "a name")
  if name == "" or #name > NAME or name:find "%c" then
    core.fail("error", ("%s: a name has 1 to %d bytes and no control characters"):format(what, NAME))
  end
end

-- Calls fn for the one name and value, or for each of a table.
local function each(what, name, value, options, fn)
  if type(name) ~= "table" then return fn(name, value, options) end
  local names = {}
  for key in pairs(name) do
    check_name(what, key)
    names[#names + 1] = key
  end
  table.sort(names)
  for _, key in ipairs(names) do fn(key, name[key], value) end
end

local function plain(what, name, value)
  check_name(what, name)
  local kind = type(value)
  if kind ~= "string" and kind ~= "number" and kind ~= "boolean" then
    core.fail("error", ("%s: %q must be a text, a number or a boolean, not %s"):format(what, name,
      value == nil and "nil" or "a " .. kind))
  end
  return value
end

-- JSON has no such numbers.
local function number(value)
  if value ~= value then return "nan" end
  if value == math.huge then return "inf" end
  return value == -math.huge and "-inf" or value
end

-- run.metric(name, value, { step = 3 })      run.metric({ loss = 0.1, accuracy = 0.9 }, { step = 3 })
-- A number that says how well it went; told again, it has a history. Those of a training come by themselves.
function run.metric(name, value, options)
  each("run.metric", name, value, options, function(key, measured, with)
    check_name("run.metric", key)
    if type(measured) ~= "number" then
      core.fail("error", ("run.metric: %q must be a number, not %s"):format(key, measured == nil and "nil"
        or "a " .. type(measured)))
    end
    local step = core.check("run.metric", with).step
    core.record("metric", key, number(measured), step)
    core.children.measured(key, measured, step) -- a trial's reports
  end)
end

-- run.param(name, value)                     run.param { lr = 0.1, units = 128 }
-- What was chosen for this run, beside the notebook's parameters; the last value counts.
function run.param(name, value)
  each("run.param", name, value, nil, function(key, chosen)
    plain("run.param", key, chosen)
    core.record("param", key, type(chosen) == "number" and number(chosen) or chosen)
  end)
end

-- run.tag(name, value)                       run.tag "baseline"
-- A word to find the run by.
function run.tag(name, value)
  if type(name) ~= "table" and value == nil then value = true end
  each("run.tag", name, value, nil, function(key, word)
    plain("run.tag", key, word)
    core.record("tag", key, type(word) == "number" and number(word) or word)
  end)
end

-- run.artifact("model.safetensors", { name = "model" }) → { name, path, size, sha256 }
-- A file that the run made: its size and digest are recorded; the file stays where it is.
function run.artifact(file, options)
  core.expect_type("run.artifact", file, "string", "a file")
  local name = core.check("run.artifact", options).name or file
  check_name("run.artifact", name)
  local found = core.call("run.artifact", { file = file })
  core.record("artifact", name, found)
  found.name = name
  return found
end

core.module("run", run)

runs = {}

-- The parameters that are not the same in all runs, then all metrics.
local function compared_columns(rows)
  local seen, differ, params, metrics = {}, {}, {}, {}
  for i, row in ipairs(rows) do
    for name in pairs(row.params) do seen[name] = true end
    for name in pairs(row.metrics) do metrics[name] = true end
  end
  for name in pairs(seen) do
    for i = 2, #rows do
      if rows[i].params[name] ~= rows[1].params[name] then differ[name] = true end
    end
  end
  for name in pairs(differ) do params[#params + 1] = name end
  local measured = {}
  for name in pairs(metrics) do measured[#measured + 1] = name end
  table.sort(params)
  table.sort(measured)
  local columns = { "run", "state" }
  for _, name in ipairs(params) do columns[#columns + 1] = name end
  for _, name in ipairs(measured) do columns[#columns + 1] = name end
  return columns
end

local function compared_value(row, name)
  if row.params and row.params[name] ~= nil then return row.params[name] end
  if row.metrics and row.metrics[name] then return row.metrics[name].value end
  return row.tags and row.tags[name]
end

-- The largest first for "-name"; runs without it come last.
local function sort_by(list, field)
  local down = field:sub(1, 1) == "-"
  local name = down and field:sub(2) or field
  local place, known = {}, #list == 0
  for _, row in ipairs(list) do known = known or row[name] ~= nil end
  if not known then core.fail("error", ("runs.compare: none of these runs has a parameter, metric or tag %s to sort by"):format(name)) end
  for i, row in ipairs(list) do place[row] = i end
  table.sort(list, function(a, b)
    local x, y = a[name], b[name]
    if x == y then return place[a] < place[b] end
    if x == nil or y == nil then return y == nil end
    if type(x) ~= type(y) then return type(x) == "number" end
    if type(x) == "boolean" then x, y = tostring(x), tostring(y) end
    if down then return x > y end
    return x < y
  end)
end

-- The newest `last` runs that have a value of this name; of any name without one.
local function runs_that(has, names, last)
  local MOST = 1000
  local rows, kept = core.runs(names, has and math.max(last, MOST) or last), {}
  if not has then return rows end
  for _, row in ipairs(rows) do
    if #kept < last and compared_value(row, has) ~= nil then kept[#kept + 1] = row end
  end
  return kept
end

function runs.compare(options)
  options = options or {}
  core.expect_type("runs.compare", options, "table", "runs")
  local names, with = core.array {}, {}
  for key, value in pairs(options) do
    if type(key) == "string" then with[key] = value end
  end
  for i, name in ipairs(options) do names[i] = name end
  with = core.check("runs.compare", with)
  local last = with.last
  if last and last < 1 then core.fail("error", ("runs.compare: last is a number of runs from 1 on, not %d"):format(last)) end
  local rows = runs_that(with.has, #names > 0 and names or nil, with.last or 10)
  local columns = with.columns or compared_columns(rows)
  local list = {}
  for i, row in ipairs(rows) do
    local line = { run = row.run, state = row.state, seconds = row.seconds, started = row.started }
    for _, kind in ipairs { "tags", "metrics", "params" } do
      for name in pairs(row[kind] or {}) do line[name] = compared_value(row, name) end
    end
    list[i] = line
  end
  if with.by then sort_by(list, with.by) end
  return setmetatable(list, { __name = "runs", __display = function(l)
    if #l > 0 then display.table(l, { columns = columns }) end
  end })
end

core.module("runs", runs)

core.api [[
run: module -- What is worth remembering of a run; `firesteel runs` shows it, compares and sorts by it.
run.metric(name, value, {step: integer=})
  Records a number that says how well it went, or each of a table of them; told again, it has a history.
  The metrics of a training come by themselves.
  step: the step or epoch at which it was measured
  errors: a value that is no number
  example:
    for epoch = 1, 3 do run.metric("loss", 1 / epoch, { step = epoch }) end
    run.metric { accuracy = 0.97, f1 = 0.95 }
run.param(name, value)
  Records what was chosen for this run, beside the notebook's parameters; the last value counts.
  errors: a value that is neither a text, a number nor a boolean
  example:
    run.param("units", 128)
    run.param { optimizer = "adam", lr = 0.01 }
run.tag(name, value)
  Records a word to find the run by; without a value it is true.
  example:
    run.tag "baseline"
    run.tag("dataset", "mnist")
run.artifact(file, {name: string=}) -> table
  Records a file that the run made, with its size and digest; the file stays where it is.
  name: what it is called in the record; its path unless it is said
  result: {name, path, size, sha256}
  errors: a file that is not there, or is none
  example:
    io.open("model.bin", "w"):write("weights"):close()
    made = run.artifact("model.bin", { name = "model" })
    print(made.size) --> 7
runs: module -- Earlier runs of this folder.
runs.compare{names, last: integer=10, has: string=, by: string=, columns: list=} -> table
  Runs side by side, as a table of their parameters that differ and their metrics: of these names (as `firesteel diff`
  takes them: a name, its beginning or end, "newest", "-2", a notebook's file), or the last ones that have ended.
  last: how many, from 1 on, when no names are given
  has: only runs that have this parameter, metric or tag, of the last 1000; there may be none
  by: the parameter or metric they are sorted by; "-accuracy": the largest first
  columns: other columns
  result: a list of {run, state, started, seconds, and each parameter and metric by its name}; best[1].lr is a value
  errors: a name that no run has; by something that none of them has; last below 1
  example:
    best = runs.compare { last = 5, by = "-accuracy" }
    for _, r in ipairs(best) do print(r.run, r.lr, r.accuracy) end
]]
