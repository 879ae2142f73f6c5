-- SPDX-License-Identifier: MIT
-- study: measurements of a function with other parameters each, repeated in an order by chance; medians with intervals.
local core = ...
local children, search, statistics = core.children, core.search, core.statistics
local KIND = "application/vnd.firesteel.table+json"
local BAR = 30    -- columns of an interval that is drawn
local LIMIT = 10  -- seconds for what is to be done after an interrupt
local REPEATS = 1000

local study_of = { __name = "study" }
study_of.__index = function(self, key)
  if math.type(key) == "integer" then return rawget(self, "points")[key] end
  return study_of[key]
end
study_of.__len = function(self) return #rawget(self, "points") end
study_of.__display = function() return nil end -- its table stands below the cell that made it

local ratio = { __name = "ratio" }
ratio.__index = ratio
ratio.__tostring = function(r)
  return ("%.4g [%.4g, %.4g] (%.1f %% sure; %s: %.6g, %s: %.6g)"):format(r.ratio, r.low, r.high, r.confidence * 100, r.a, r.median_a, r.b, r.median_b)
end
ratio.__display = tostring

-- Options.

local function count(what, name, value, least, otherwise)
  value = value == nil and otherwise or value
  if math.type(value) ~= "integer" or value < least or value > REPEATS then
    core.fail("error", ("%s: %s must be an integer from %d to %d, not %s"):format(what, name, least, REPEATS, display.inspect(value)))
  end
  return value
end

local function confidence_of(what, value)
  value = value or 0.95
  core.check_kind(what, "confidence", value, "number")
  if value <= 0 or value >= 1 then core.fail("error", ("%s: confidence is between 0 and 1, as 0.95, not %s"):format(what, value)) end
  return value
end

local function read(options)
  local name, what = children.read_name("study", options)
  local space = search.space(what, options.over, false)
  local self = { name = name, what = what, repeats = count(what, "repeats", options.repeats, 1, 5),
    warm_up = count(what, "warm_up", options.warm_up, 0, 1), confidence = confidence_of(what, options.confidence),
    timeout = options.timeout and core.duration(options.timeout), fail_fast = options.fail_fast,
    fn = children.read_function("study", options, "a function that measures once: study { over = {…}, function(point) … end }"),
    seed = options.seed or math.random(0, 0x7fffffff), by = options.metric, names = {}, points = {}, measurements = {} }
  for _, one in ipairs(space) do
    if #one.values > 1 then self.names[#self.names + 1] = one.name end
  end
  for i, params in ipairs(search.grid(what, space)) do self.points[i] = { index = i, params = params, values = {}, failed = 0, errors = {} } end
  return self
end

local function text_of(value)
  if value == nil then return "" end
  return type(value) == "number" and ("%.6g"):format(value) or tostring(value)
end

local function label_of(self, params)
  local parts = {}
  for _, name in ipairs(self.names) do parts[#parts + 1] = ("%s=%s"):format(name, text_of(params[name])) end
  return #parts > 0 and table.concat(parts, " ") or "all"
end

-- The order: warm-ups first, then rounds in which each combination comes once, each round shuffled for itself. So what
-- drifts with time (a machine that becomes warm, a neighbour) falls upon all of them alike.
local function plan(self)
  local g = core.random(self.seed)
  local function round(label, warm)
    local places = {}
    for i = 1, #self.points do places[i] = i end
    for _, i in ipairs(g:shuffle(places)) do
      local point = self.points[i]
      local record = children.new { name = ("%s/%d.%s"):format(self.name, i, label), of = self.name, params = point.params, by = self.by or "value" }
      record.folder = ("%s.study/%d.%s"):format(self.name, i, label)
      record.tags = { ["repeat"] = not warm and math.tointeger(tonumber(label)) or nil, warm_up = warm or nil, order = #self.measurements + 1 }
      self.measurements[#self.measurements + 1] = { record = record, point = point, warm = warm }
    end
  end
  for i = 1, self.warm_up do round("w" .. i, true) end
  for i = 1, self.repeats do round(tostring(i), false) end
end

-- Statistics.

local function summary(self, point, metric)
  return statistics.median(point.values[metric] or {}, self.confidence)
end

local function metrics_of(self)
  local seen = {}
  for _, point in ipairs(self.points) do
    for name in pairs(point.values) do seen[name] = true end
  end
  return children.names_of(seen)
end

-- The metric that tables and ratios are about, unless another one is said.
local function main_metric(self)
  if self.by then return self.by end
  return metrics_of(self)[1] or "value"
end

local function check_metric(self, metric)
  if metric == nil then return main_metric(self) end
  local known = {}
  for _, name in ipairs(metrics_of(self)) do known[name] = true end
  if not known[metric] then core.unknown(self.what, "metric", metric, known) end
  return metric
end

-- The table.

local function rows_of(self)
  local metric, low, high = main_metric(self), math.huge, -math.huge
  local all = {}
  for i, point in ipairs(self.points) do
    all[i] = summary(self, point, metric)
    if all[i] then low, high = math.min(low, all[i].low), math.max(high, all[i].high) end
  end
  local rows = core.array {}
  for i, point in ipairs(self.points) do
    local s, cells = all[i], core.array {}
    for _, name in ipairs(self.names) do cells[#cells + 1] = text_of(point.params[name]) end
    if #self.names == 0 then cells[1] = "all" end
    cells[#cells + 1] = ("%d/%d"):format(#(point.values[metric] or {}), self.repeats)
    cells[#cells + 1] = s and text_of(s.median) or ""
    cells[#cells + 1] = s and ("%s … %s"):format(text_of(s.low), text_of(s.high)) or ""
    cells[#cells + 1] = s and ("%.1f %%"):format(s.confidence * 100) or ""
    cells[#cells + 1] = point.failed > 0 and ("%d failed: %s"):format(point.failed, point.errors[1]) or ""
    cells[#cells + 1] = s and core.interval(s.low, s.median, s.high, low, high, BAR) or ""
    rows[i] = { uid = ("%s/%d"):format(self.name, i), cells = cells, sick = point.failed > 0 and point.failed or nil,
      news = not s and point.failed == 0 and "" or nil }
  end
  return rows, metric
end

local function columns_of(self, metric)
  local columns = core.array {}
  for _, name in ipairs(self.names) do columns[#columns + 1] = { name = name, align = "right" } end
  if #self.names == 0 then columns[1] = "over" end
  for _, name in ipairs { "N", metric, "INTERVAL", "SURE" } do columns[#columns + 1] = { name = name, align = "right" } end
  columns[#columns + 1] = "FAILED"
  columns[#columns + 1] = { name = "", wide = true }
  return columns
end

local function picture(self)
  local rows, metric = rows_of(self)
  local lines = { ("%s: %d of %d measurements, seed %d"):format(self.name, self.done, #self.measurements, self.seed) }
  for _, row in ipairs(rows) do lines[#lines + 1] = table.concat(row.cells, "  ", 1, #row.cells - 1):gsub("%s+$", "") .. "" end
  return { ["text/plain"] = table.concat(lines, "\n"), [KIND] = { title = lines[1], columns = columns_of(self, metric), rows = rows } }
end

local function show(self, close)
  if self.display then
    core.update(self.display, picture(self), close)
  else
    self.display = core.display(picture(self), true)
  end
  if close then self.display = nil end
end

-- Running.

local function keep(self, one)
  local record, point = one.record, one.point
  self.done = self.done + 1
  if one.warm then return end
  if record.state ~= "done" then
    point.failed = point.failed + 1
    point.errors[#point.errors + 1] = record.note or record.state
    return
  end
  for _, name in ipairs(children.names_of(record.metrics)) do
    local value = record.metrics[name]
    if value == value then
      point.values[name] = point.values[name] or {}
      table.insert(point.values[name], value)
    elseif name == (self.by or "value") then
      point.failed = point.failed + 1
      point.errors[#point.errors + 1] = name .. " is no number (nan)"
    end
  end
end

local function measure(self, one)
  local record = one.record
  local group = core.group()
  local branch = children.begin(record, function()
    for name, value in pairs(record.tags) do core.record("tag", name, value) end
    local began = core.now()
    local value = self.fn(one.handle)
    if value == nil and next(record.metrics) == nil then return { seconds = core.now() - began } end
    return value
  end, { group = group, timeout = self.timeout })
  core.next(group)
  local failed, kind = children.ended(record, branch)
  if not failed and record.state == "done" and next(record.metrics) == nil then
    core.fail("error", ("%s: %s returned no number; return one, or numbers by name"):format(self.what, record.name))
  end
  local missing = record.state == "done" and self.by and children.without(record, self.by)
  if missing then core.fail("error", ("%s: %s"):format(self.what, missing)) end
  if failed and (kind == "refused" or self.fail_fast) then
    core.fail(kind == "refused" and kind or "error", ("%s: %s failed: %s"):format(self.what, record.name, failed))
  end
end

-- Takes over what an earlier kernel measured, whose order was the same.
local function take_over(self)
  local past = core.past_children()
  for _, one in ipairs(past and self.measurements or {}) do children.take_over(one.record, past) end
end

local function show_plot(self, metric)
  local places, series, n = {}, {}, 0
  local medians, intervals = {}, {}
  for i, point in ipairs(self.points) do
    local s = summary(self, point, metric)
    places[i], medians[i] = i, s and s.median or 0 / 0
    intervals[i] = s and { s.low, s.high } or false
    n = math.max(n, #(point.values[metric] or {}))
  end
  if n == 0 then return end
  for k = 1, n do
    local values = {}
    for i, point in ipairs(self.points) do values[i] = (point.values[metric] or {})[k] or 0 / 0 end
    series[("repeat %d"):format(k)] = values
  end
  series.median, series.error = medians, { median = intervals }
  series.kind, series.x, series.title, series.y_label, series.x_label = "scatter", places, ("%s: %s"):format(self.name, metric), metric, "combination"
  display.plot(series)
end

local function check_any(self)
  for _, point in ipairs(self.points) do
    if next(point.values) then return end
  end
  core.fail("error", ("%s: no measurement succeeded; the first: %s"):format(self.what, self.points[1].errors[1] or "none was made"))
end

local function close(self)
  for _, one in ipairs(self.measurements) do children.abandon(one.record) end
  show(self, true)
end

local function study_run(_, options)
  local self = read(options)
  self.done = 0
  self.name = children.own_name(self.name)
  plan(self)
  for _, one in ipairs(self.measurements) do
    local record, point = one.record, one.point
    one.handle = setmetatable({ params = point.params, name = record.name, warm_up = one.warm, ["repeat"] = record.tags["repeat"] }, { __index = {
      path = function(_, name) return children.path(record, name) end,
      finally = function(_, fn) table.insert(record.finals, core.expect_type("point:finally", fn, "function", "a function")) end,
    } })
  end
  setmetatable(self, study_of)
  core.record("param", self.name .. ".seed", self.seed)
  take_over(self)
  show(self)
  local deed = core.owe(LIMIT, function() close(self) end)
  local ok, why = pcall(function()
    for _, one in ipairs(self.measurements) do
      measure(self, one)
      keep(self, one)
      show(self)
    end
  end)
  core.settle(deed)
  close(self)
  if not ok then error(why, 0) end
  core.trainings_end(self.name) -- waits for the loop: the table's last state comes before the plot
  check_any(self)
  show_plot(self, main_metric(self))
  return self
end

-- What comes out.

-- The one combination that a table of parameters means; some may be left out.
local function find(self, wanted, what)
  if math.type(wanted) == "integer" and self.points[wanted] then return self.points[wanted] end
  core.expect_type(what, wanted, "table", "parameters of the study, { executors = 1 }")
  local found
  for name, value in pairs(wanted) do
    if self.points[1].params[name] == nil then core.unknown(self.what, "parameter", name, self.points[1].params) end
  end
  for _, point in ipairs(self.points) do
    local same = true
    for name, value in pairs(wanted) do same = same and point.params[name] == value end
    if same and found then
      core.fail("error", ("%s: %s is more than one combination: %s, and %s"):format(what, display.inspect(wanted), label_of(self, found.params), label_of(self, point.params)))
    end
    found = same and point or found
  end
  if not found then core.fail("error", ("%s: %s is none of the combinations"):format(what, display.inspect(wanted))) end
  return found
end

local function ratio_of(self, what, metric, a, b)
  for label, values in pairs { [a.label] = a.values, [b.label] = b.values } do
    if #values == 0 then core.fail("error", ("%s: %s has no %s: all its measurements failed"):format(what, label, metric)) end
    for _, value in ipairs(values) do
      if not (value > 0) then core.fail("error", ("%s: a ratio is of numbers above 0; %s has %s = %s"):format(what, label, metric, value)) end
    end
  end
  local r = statistics.ratio(a.values, b.values, self.confidence)
  r.a, r.b, r.metric = a.label, b.label, metric
  r.median_a, r.median_b = statistics.median(a.values, self.confidence).median, statistics.median(b.values, self.confidence).median
  return setmetatable(r, ratio)
end

function study_of:ratio(a, b, options)
  options = core.check("study:ratio", options)
  local x, y, metric = find(self, a, "study:ratio"), find(self, b, "study:ratio"), check_metric(self, options.metric)
  return ratio_of(self, "study:ratio", metric, { label = label_of(self, x.params), values = x.values[metric] or {} },
    { label = label_of(self, y.params), values = y.values[metric] or {} })
end

-- Rows of medians with their intervals; shown as a table when it is a cell's value.
function study_of:table()
  local rows, columns = {}, core.array {}
  for _, name in ipairs(self.names) do columns[#columns + 1] = name end
  for _, metric in ipairs(metrics_of(self)) do
    for _, suffix in ipairs { "", " low", " high" } do columns[#columns + 1] = metric .. suffix end
  end
  for _, name in ipairs { "sure", "n", "failed" } do columns[#columns + 1] = name end
  for i, point in ipairs(self.points) do
    local row = { failed = point.failed, n = 0 }
    for name, value in pairs(point.params) do row[name] = value end
    for _, metric in ipairs(metrics_of(self)) do
      local s = summary(self, point, metric)
      if s then
        row[metric], row[metric .. " low"], row[metric .. " high"] = s.median, s.low, s.high
        row.sure, row.n = s.confidence, s.n
      end
    end
    rows[i] = row
  end
  return setmetatable(rows, { __name = "study", __display = function(list)
    display.table(list, { columns = columns, types = { sure = "percent" } })
  end })
end

function study_of:plot(metric) show_plot(self, check_metric(self, metric)) end

-- Values of an earlier study of this name, by what core.json says of its parameters.
local function earlier(self, run)
  local row = core.runs({ run }, 1)[1]
  local found = {}
  for _, child in ipairs(row and row.children or {}) do
    if child.of == self.name and child.state == "done" and not (child.tags or {}).warm_up then
      found[#found + 1] = child
    end
  end
  if #found == 0 then core.fail("error", ("study:compare: the run %s has no measurements of a study %s"):format(row and row.run or run, self.name)) end
  return found, row.run
end

local function same_params(a, b)
  for name, value in pairs(a) do
    if b[name] ~= value then return false end
  end
  for name in pairs(b) do
    if a[name] == nil then return false end
  end
  return true
end

function study_of:compare(run, options)
  core.expect_type("study:compare", run, "string", "the name of a run")
  options = core.check("study:compare", options)
  local metric, found, name = check_metric(self, options.metric), earlier(self, run)
  local rows, columns = {}, core.array {}
  for _, param in ipairs(self.names) do columns[#columns + 1] = param end
  for _, column in ipairs { "then", "now", "ratio", "low", "high", "sure" } do columns[#columns + 1] = column end
  for _, point in ipairs(self.points) do
    local values = {}
    for _, child in ipairs(found) do
      local measured = child.metrics[metric]
      if same_params(point.params, child.params) and measured and type(measured.value) == "number" then values[#values + 1] = measured.value end
    end
    local row = {}
    for param, value in pairs(point.params) do row[param] = value end
    local mine = point.values[metric] or {}
    row.now = #mine > 0 and statistics.median(mine, self.confidence).median or nil
    row["then"] = #values > 0 and statistics.median(values, self.confidence).median or nil
    if #mine > 0 and #values > 0 then
      local r = ratio_of(self, "study:compare", metric, { label = "now", values = mine }, { label = "then", values = values })
      row.ratio, row.low, row.high, row.sure = r.ratio, r.low, r.high, r.confidence
    end
    rows[#rows + 1] = row
  end
  return setmetatable(rows, { __name = "study", __display = function(list)
    print(("%s: %s now, and then (%s)"):format(self.name, metric, name))
    display.table(list, { columns = columns, types = { sure = "percent" } })
  end })
end

local function check_values(what, values)
  core.expect_type(what, values, "table", "a list of numbers")
  for i, value in ipairs(values) do
    if type(value) ~= "number" or value ~= value then core.fail("error", ("%s: value %d is no number"):format(what, i)) end
  end
  if #values == 0 then core.fail("error", what .. ": there are no values") end
  return values
end

study = setmetatable({
  median = function(values, confidence)
    return statistics.median(check_values("study.median", values), confidence_of("study.median", confidence))
  end,
}, { __call = study_run })
core.module("study", study)

core.api([[
study{name, over: table=, repeats: integer=5, warm_up: integer=1, metric: string=, confidence: number=0.95, seed: integer=, timeout: duration=, fail_fast=false, fn: function=, name: string=} -> study
  Measures every combination of parameters several times, one after the other in an order by chance, with fn(point):
  point.params, point.name. It returns a number, or numbers by name; of nothing the seconds it took count. A live table has
  the medians with their intervals. doc/experiments.md has all of it.
  over: values by parameter, { master = { "local[1]", "local[2]" }, executors = { 1, 2 } }
  repeats: how often each combination counts
  warm_up: how often each is done before that, and does not count
  metric: what a number that is returned is called; of several the one that tables and ratios are about
  confidence: how sure an interval is to be; with few values it says how sure it can be
  seed: of the order; unless it is said the run's (math.random)
  timeout: for each measurement; one that takes longer has failed
  fail_fast: the first measurement that fails ends all; else it is counted, and shown
  fn: what measures; it can stand without a name as well
  name: of the study; it can stand first without a name
  result: #study combinations, study[i].values, study:table(), study:ratio(a, b), study:compare(run)
  errors: nothing to measure; no measurement succeeded
  example:
    s = study { "sums", over = { n = { 100, 200 } }, repeats = 3, metric = "steps", function(point) return point.params.n end }
    print(s:ratio({ n = 200 }, { n = 100 }).ratio)
study.median(values, confidence) -> table
  The median of numbers with its interval between two of them, which holds for any distribution.
  confidence: how sure it is to be: 0.95
  result: {median, low, high, confidence, n}; confidence is how sure it is
  example:
    print(study.median({ 3, 1, 2, 5, 4, 6, 8, 7 }).low) --> 1
study: type -- What study gives: study[1].values.seconds, #study combinations.
study:ratio(a, b, {metric: string=}) -> ratio
  By which factor one combination is above another one, with its interval: ratio, low, high, confidence.
  metric: which one, when there are several
  errors: parameters of no or of several combinations; values that are not above 0
  example:
    s = study { over = { n = { 1, 2 } }, repeats = 3, function(point) return point.params.n end }
    print(s:ratio({ n = 2 }, { n = 1 }).ratio)
study:table() -> table
  Rows with the medians and intervals of all metrics; as the value of a cell they are a table.
  example:
    s = study { over = { n = { 1, 2 } }, repeats = 3, function(point) return point.params.n end }
    print(s:table()[2].value)
study:plot(metric)
  Shows all measurements and the medians.
  metric: which one, when there are several
  example:
    s = study { over = { n = { 1, 2 } }, repeats = 3, function(point) return point.params.n end }
    s:plot()
study:compare(run, {metric: string=}) -> table
  Beside the study of this name of an earlier run: medians of then and now, and their ratio with its interval.
  metric: which one, when there are several
  errors: the run has no such study
  example:
    s = study { over = { n = { 1, 2 } }, repeats = 3, function(point) return point.params.n end }
    print((select(2, pcall(s.compare, s, "newest"))))
ratio: type -- What study:ratio gives: ratio, low, high, confidence.
]], { types = { study = study_of, ratio = ratio } })
