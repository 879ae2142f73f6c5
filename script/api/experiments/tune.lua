-- SPDX-License-Identifier: MIT
-- tune: trials of a function with other parameters each, side by side, as child records of the run.
local core = ...
local children, search = core.children, core.search
local KIND = "application/vnd.firesteel.table+json"
local POLL = 0.2      -- seconds between looks at what trainings show
local SHOW_EVERY = 0.5 -- seconds between changes of the table
local CURVES, WIDTH = 8, 24 -- curves in the plot, values in a row's curve
local LIMIT = 10      -- seconds for what is to be done after an interrupt

local trial = { __name = "trial" }
trial.__index = function(t, key)
  if trial[key] ~= nil then return trial[key] end
  return rawget(t, "record")[key]
end
trial.__tostring = function(t) return t.name end
trial.__display = function(t) return ("%s  %s%s"):format(t.name, t.state, t.note and "  " .. t.note or "") end

local trials = { __name = "trials" }
trials.__index = function(self, key)
  if math.type(key) == "integer" then return rawget(self, "list")[key] end
  return trials[key]
end
trials.__len = function(self) return #rawget(self, "list") end
trials.__display = function() return nil end -- its table stands below the cell that made it

-- The methods of a trial, which its function gets.

function trial:report(metrics, step)
  core.expect_type("trial:report", metrics, "table", "metrics by name, { loss = 0.3 }")
  if step ~= nil and type(step) ~= "number" then core.fail("error", "trial:report: the step is a number") end
  local record, points, shown = self.record, {}, nil
  if record.state ~= "running" then core.fail("error", ("trial:report: %s has ended"):format(record.name)) end
  for name, value in pairs(metrics) do
    if type(name) ~= "string" or type(value) ~= "number" then
      core.fail("error", ("trial:report: %s must be a number with a name, not %s"):format(display.inspect(name), display.inspect(value)))
    end
    shown = children.point(record, name, step, value)
    points[name] = value
    core.record("metric", name, value ~= value and "nan" or value == math.huge and "inf" or value == -math.huge and "-inf" or value,
      math.tointeger(shown))
  end
  if shown then record.on_points(record, shown, points) end
  core.sleep(0) -- others go on, and a trial that stops ends here
end

function trial:path(name) return children.path(self.record, name) end

function trial:finally(fn)
  core.expect_type("trial:finally", fn, "function", "a function")
  table.insert(self.record.finals, fn)
end

-- Options.

local searches = { grid = true, random = true, halving = true }
local of_halving = { max_t = true, grace_period = true, reduction_factor = true }

-- As Keras takes it: what is called acc or auc is to be large.
local function direction(name)
  return (name:find "acc" or name:find "auc" or name:find "f1" or name:find "precision" or name:find "recall") and 1 or -1
end

local function positive(what, name, value)
  if value ~= nil and (math.type(value) ~= "integer" or value < 1) then
    core.fail("error", ("%s: %s must be an integer from 1 on, not %s"):format(what, name, display.inspect(value)))
  end
  return value
end

-- Does a trial stop here? A function, or values at which it does: { val_accuracy = 0.99, step = 20 }.
local function stopper(what, stop, by, sign)
  if stop == nil then return function() end end
  if type(stop) == "function" then
    return function(self, step, metrics) return stop(self, metrics, step) and "stop said so" or nil end
  end
  core.expect_type(what .. ": stop", stop, "table", "a function, or values to reach, { val_accuracy = 0.99 }")
  for name, value in pairs(stop) do
    if type(name) ~= "string" or type(value) ~= "number" then
      core.fail("error", ("%s: stop has metrics with the value to reach, { val_accuracy = 0.99 }"):format(what))
    end
  end
  return function(_, step, metrics)
    for name, value in pairs(stop) do
      local up = name == "step" and 1 or name == by and sign or direction(name)
      local now = name == "step" and step or metrics[name]
      if now and (now - value) * up >= 0 then return ("reached %s = %s"):format(name, value) end
    end
  end
end

local function read(options)
  local name, what = children.read_name("tune", options)
  local how = options.search or "grid"
  if not searches[how] then core.unknown("tune", "search", how, searches) end
  for key in pairs(of_halving) do
    if options[key] ~= nil and how ~= "halving" then
      core.fail("error", ("%s: %s belongs to search = \"halving\""):format(what, key))
    end
  end
  if options.samples ~= nil and how == "grid" then
    core.fail("error", ("%s: samples belongs to search = \"random\" or \"halving\"; a grid has every combination"):format(what))
  end
  if type(options.by) ~= "string" or options.by == "" then
    core.fail("error", ("%s: by is the metric to go by, by = \"val_accuracy\""):format(what))
  end
  local mode = options.mode
  if mode ~= nil and mode ~= "max" and mode ~= "min" then core.fail("error", ("%s: mode is \"max\" or \"min\", not %q"):format(what, mode)) end
  return { name = name, what = what, how = how, by = options.by, sign = mode == "max" and 1 or mode == "min" and -1 or direction(options.by),
    at_once = positive(what, "at_once", options.at_once) or 1, samples = positive(what, "samples", options.samples),
    timeout = options.timeout and core.duration(options.timeout), fail_fast = options.fail_fast,
    fn = children.read_function("tune", options, 'a function that does one trial: tune { over = {…}, by = "loss", function(trial) … end }'),
    seed = options.seed or math.random(0, 0x7fffffff), options = options }
end

local function plan(self)
  local o, how = self.options, self.how
  local random = how ~= "grid"
  local space = search.space(self.what, o.over, random)
  local drawn = false
  for _, one in ipairs(space) do drawn = drawn or one.draw ~= nil end
  self.names = {}
  for _, one in ipairs(space) do
    if one.draw or #one.values > 1 then self.names[#self.names + 1] = one.name end
  end
  if how == "halving" and not drawn and not self.samples then return search.grid(self.what, space) end
  if random then return search.random(self.what, space, self.samples or 10, self.seed) end
  return search.grid(self.what, space)
end

-- The table.

local MARKS = { waiting = "·", running = "●", done = "✓", failed = "✗", stopped = "-", interrupted = "!" }

local function text_of(value)
  if value == nil then return "" end
  if value ~= value then return "nan" end
  return type(value) == "number" and ("%.6g"):format(value) or tostring(value)
end

local function value_of(self, one) return one.record.metrics[self.by] end

-- The trials, the best first. Failed ones, and those whose value is NaN, come last.
local function ordered(self)
  local list, key = {}, {}
  for i, one in ipairs(self.list) do
    local value = value_of(self, one)
    list[i] = one
    key[one] = value and value == value and one.record.state ~= "failed" and value * self.sign or -math.huge
  end
  table.sort(list, function(a, b)
    if key[a] ~= key[b] then return key[a] > key[b] end
    return a.record.index < b.record.index
  end)
  return list
end

local function thinned(values)
  if #values <= WIDTH then return values end
  local some = {}
  for i = 1, WIDTH do some[i] = values[1 + math.floor((i - 1) * (#values - 1) / (WIDTH - 1) + 0.5)] end
  return some
end

-- One scale for the curves of all trials, so that they can be compared.
local function scale_of(self)
  local low, high = math.huge, -math.huge
  for _, one in ipairs(self.list) do
    for _, value in ipairs((one.record.curves[self.by] or {}).values or {}) do
      if value == value and math.abs(value) < math.huge then low, high = math.min(low, value), math.max(high, value) end
    end
  end
  return low, high
end

local function row_of(self, one, low, high)
  local r = one.record
  local curve = r.curves[self.by]
  local cells = core.array { MARKS[r.state] .. " " .. r.index }
  for _, name in ipairs(self.names) do cells[#cells + 1] = text_of(r.params[name]) end
  cells[#cells + 1] = r.state .. (r.kept and " before" or "")
  cells[#cells + 1] = text_of(value_of(self, one))
  cells[#cells + 1] = curve and text_of(curve.steps[#curve.steps]) or ""
  cells[#cells + 1] = r.seconds and core.span(r.seconds) or r.since and { since = r.since } or ""
  cells[#cells + 1] = r.note or ""
  cells[#cells + 1] = curve and #curve.values > 1 and core.sparkline(thinned(curve.values), low, high) or ""
  return { uid = r.name, cells = cells, sick = r.state == "failed" and 1 or nil, news = r.state == "waiting" and "" or r.state }
end

local function columns_of(self)
  local columns = core.array { "TRIAL" }
  for _, name in ipairs(self.names) do columns[#columns + 1] = { name = name, align = "right" } end
  columns[#columns + 1] = "STATE"
  columns[#columns + 1] = { name = self.by, align = "right" }
  columns[#columns + 1] = { name = "STEP", align = "right" }
  columns[#columns + 1] = "TIME"
  columns[#columns + 1] = "WHAT"
  columns[#columns + 1] = { name = "CURVE", wide = true }
  return columns
end

local function title_of(self)
  local counts, parts = {}, {}
  for _, one in ipairs(self.list) do counts[one.record.state] = (counts[one.record.state] or 0) + 1 end
  for _, state in ipairs { "running", "done", "stopped", "failed", "interrupted", "waiting" } do
    if counts[state] then parts[#parts + 1] = ("%d %s"):format(counts[state], state) end
  end
  return ("%s: %s"):format(self.name, table.concat(parts, ", "))
end

local function picture(self)
  local rows, lines = core.array {}, { title_of(self) }
  local low, high = scale_of(self)
  for i, one in ipairs(ordered(self)) do
    rows[i] = row_of(self, one, low, high)
    local texts = {}
    for k, cell in ipairs(rows[i].cells) do texts[k] = type(cell) == "string" and cell or "" end
    lines[#lines + 1] = table.concat(texts, "  ", 1, #texts - 1):gsub("%s+$", "") .. ""
  end
  return { ["text/plain"] = table.concat(lines, "\n"), [KIND] = { title = lines[1], columns = columns_of(self), rows = rows } }
end

local function show(self, close)
  local now = core.now()
  if not close and self.shown and now - self.shown < SHOW_EVERY then
    self.late = true
    return
  end
  self.shown, self.late = now, false
  if self.display then
    core.update(self.display, picture(self), close)
  else
    self.display = core.display(picture(self), true)
  end
  if close then self.display = nil end
end

local function show_curves(self)
  local plot, n = { title = ("%s: %s"):format(self.name, self.by), x_label = "step", y_label = self.by }, 0
  for _, one in ipairs(ordered(self)) do
    local curve = one.record.curves[self.by]
    if curve and #curve.values > 1 and n < CURVES then
      n = n + 1
      plot[("%2d %s"):format(one.record.index, one.record.label)] = curve.values
    end
  end
  if n > 0 then display.plot(plot) end
end

-- Running.

local function label_of(self, params)
  local parts = {}
  for _, name in ipairs(self.names) do parts[#parts + 1] = ("%s=%s"):format(name, text_of(params[name])) end
  return table.concat(parts, " ")
end

local function stop_trial(record, decision)
  if record.stopping then return end
  record.stopping = decision
  core.cancel(record.handle)
end

-- A trial has new values at a step: does it go on?
local function judge(self, record, step, points, looked)
  if record.stopping then return end
  local why = self.stops(record.trial, step, record.metrics)
  if why then return stop_trial(record, { state = "done", why = why }) end
  local value = points[self.by]
  if self.halving and value then
    local decision = self.halving:judge(record, step, value, looked)
    if decision then stop_trial(record, decision) end
  end
end

-- The seed of trial i: an integer from 1 on, another one for each trial.
local function seed_of(self, i) return core.random(self.seed * 1000003 + i):integer(1, 0x7fffffff) end

local function make(self, i, params, suffix)
  local record = children.new { name = ("%s/%d%s"):format(self.name, i, suffix and " " .. suffix or ""), of = self.name, index = i, params = params,
    label = label_of(self, params), by = self.by, mode = self.sign > 0 and "max" or "min", folder = ("%s.trials/%d%s"):format(self.name, i, suffix and "-" .. suffix or "") }
  record.on_points = function(r, step, points, looked)
    judge(self, r, step, points, looked)
    if not suffix then show(self) end
  end
  record.trial = setmetatable({ record = record, seed = seed_of(self, i), max_t = self.halving and self.halving.most or nil }, trial)
  return record.trial
end

local function poll(self)
  while true do
    core.sleep(POLL)
    for _, one in ipairs(self.list) do
      if one.record.state == "running" and not one.record.kept then children.poll(one.record) end
    end
    if self.late then show(self) end
  end
end

-- An error when a trial has ended well without a value of the metric: the others will have none either.
local function check_by(self, record)
  local missing = record.state == "done" and children.without(record, self.by)
  return missing and ("%s: %s%s"):format(self.what, missing,
    next(record.metrics) == nil and ": return one, trial:report{…}, or show a training" or "") or nil
end

local function start(self, group, one)
  local record = one.record
  record.handle = children.begin(record, function() return self.fn(one) end, { group = group, timeout = self.timeout })
  return record.handle
end

-- Runs those that have not ended; returns an error that ends all.
local function drive(self)
  local group, running, count, wrong = core.group(), {}, 0, nil
  local looking = core.branch({ name = self.name .. " look", item = "look" }, poll, self)
  local function take()
    local branch = core.next(group)
    local one = running[branch]
    running[branch], count = nil, count - 1
    local record = one.record
    local failed, kind = children.ended(record, branch)
    if record.stopping and record.stopping.halt then record.state = "interrupted" end
    local missing = not wrong and check_by(self, record)
    if not wrong and (missing or failed and (self.fail_fast or kind == "refused")) then
      wrong = { message = missing or ("%s: %s failed: %s"):format(self.what, record.name, failed), kind = kind }
      for other in pairs(running) do stop_trial(running[other].record, { state = "interrupted", why = "another one has ended all" }) end
    end
    show(self)
  end
  for _, one in ipairs(self.list) do
    while count >= self.at_once and not wrong do take() end
    if wrong then break end
    running[start(self, group, one)] = one
    count = count + 1
    show(self)
  end
  while count > 0 do take() end
  core.cancel(looking)
  pcall(core.await, looking)
  return wrong
end

local function close(self)
  for _, one in ipairs(self.list) do children.abandon(one.record) end
  show(self, true)
end

-- Takes over the trials that an earlier kernel of the run has done. Halving compares with their values, too.
local function take_over(self)
  local past = core.past_children()
  for _, one in ipairs(past and self.list or {}) do
    local record = one.record
    if children.take_over(record, past) and self.halving then
      local curve = record.curves[self.by] or { values = {} }
      for k, value in ipairs(curve.values) do self.halving:judge(record, curve.steps[k], value) end
    end
  end
end

local function raise(kind, message)
  core.fail((kind == "refused" or kind == "timeout") and kind or "error", message)
end

-- All have failed: the first one's error says why.
local function check_any(self)
  local first, failed = nil, 0
  for _, one in ipairs(self.list) do
    if one.record.state == "failed" then
      first, failed = first or one, failed + 1
    end
  end
  if failed == #self.list then
    core.fail("error", ("%s: %s failed; %s: %s"):format(self.what, failed == 1 and "the only trial" or ("all %d trials"):format(failed),
      first.name, first.record.error))
  end
end

local function run(self)
  show(self)
  local deed = core.owe(LIMIT, function() close(self) end)
  local wrong = drive(self)
  core.settle(deed)
  show(self, true)
  core.trainings_end(self.name) -- waits for the loop: the table's last state comes before the plot
  show_curves(self)
  if wrong then raise(wrong.kind, wrong.message) end
  check_any(self)
end

-- What comes out.

function trials:best()
  local best
  for _, one in ipairs(ordered(self)) do
    if value_of(self, one) then
      if one.record.state == "done" then return one end
      best = best or one.record.state ~= "failed" and one
    end
  end
  if best then return best end
  core.fail("error", ("%s: no trial gave %q"):format(self.what, self.by))
end

-- Rows, the best first; shown as a table when it is a cell's value.
function trials:table()
  local rows, columns = {}, core.array { "trial" }
  local metrics = {}
  for _, one in ipairs(self.list) do
    for name in pairs(one.record.metrics) do
      if name ~= self.by then metrics[name] = true end
    end
  end
  for _, name in ipairs(self.names) do columns[#columns + 1] = name end
  columns[#columns + 1] = "state"
  columns[#columns + 1] = self.by
  for _, name in ipairs(children.names_of(metrics)) do columns[#columns + 1] = name end
  columns[#columns + 1] = "seconds"
  for i, one in ipairs(ordered(self)) do
    local r = one.record
    rows[i] = { trial = r.index, name = r.name, state = r.state, seconds = r.seconds, error = r.error }
    for _, list in ipairs { r.metrics, r.params } do
      for name, value in pairs(list) do rows[i][name] = value end
    end
  end
  return setmetatable(rows, { __name = "trials", __display = function(list) display.table(list, { columns = columns }) end })
end

function trials:curves() show_curves(self) end

-- Does the trial again, with its parameters, its seed, and a folder of its own, and compares what it gives to the last bit.
function trial:run(options)
  options = core.check("trial:run", options)
  local first, self = self.record, self.record.trials
  if first.state ~= "done" and first.state ~= "stopped" then
    core.fail("error", ("trial:run: %s is %s; only a trial that is done or stopped can be compared"):format(first.name, first.state))
  end
  local ignored = {}
  for _, name in ipairs(options.ignore or {}) do ignored[name] = true end
  self.agains = self.agains + 1
  local again = make(self, first.index, first.params, self.agains > 1 and "again " .. self.agains or "again")
  again.record.trials = self
  local curve, last = first.curves[self.by], nil
  if first.stopping or first.note then last = curve and curve.steps[#curve.steps] end
  again.record.on_points = function(record, step, _, looked)
    if last and (step > last or step == last and not looked) then stop_trial(record, { state = first.state, why = first.note }) end
  end
  local group = core.group()
  local deed = core.owe(LIMIT, function() children.abandon(again.record) end)
  children.take_over(again.record, core.past_children())
  local branch = start(self, group, again)
  core.next(group, branch)
  local failed, kind = children.ended(again.record, branch)
  core.settle(deed)
  if failed then raise(kind, ("trial:run: %s failed: %s"):format(again.name, failed)) end
  local same, differ, compared = children.compare(first, again.record, ignored)
  again.same = #differ == 0 and compared > 0
  if again.same then
    print(("%s: the same bits as %s: %s"):format(again.name, first.name, same))
  elseif options.check ~= false then
    core.fail("assertion", compared == 0 and ("%s: there is nothing to compare with %s"):format(again.name, first.name)
      or ("%s: not the same as %s: %s"):format(again.name, first.name, table.concat(differ, "; ")))
  else
    print(("%s: not the same as %s: %s"):format(again.name, first.name, table.concat(differ, "; ")))
  end
  again.differ = differ
  return again
end

local function tune_run(_, options)
  local self = read(options)
  self.halving = self.how == "halving" and search.halving(self.what, options, self.sign) or nil
  self.stops = stopper(self.what, options.stop, self.by, self.sign)
  self.list, self.agains = {}, 0
  local planned = plan(self)
  self.name = children.own_name(self.name)
  for i, params in ipairs(planned) do
    self.list[i] = make(self, i, params)
    self.list[i].record.trials = self
  end
  setmetatable(self, trials)
  take_over(self)
  run(self)
  return self
end

tune = setmetatable({
  uniform = search.uniform, loguniform = search.loguniform, randint = search.randint, choice = search.choice,
}, { __call = tune_run })
core.module("tune", tune)

core.api([[
tune{name, over: table=, by: string=, mode: string=, search: string="grid", samples: integer=10, at_once: integer=1, stop: table|function=, max_t: number=100, grace_period: number=1, reduction_factor: number=4, seed: integer=, timeout: duration=, fail_fast=false, fn: function=, name: string=} -> trials
  Trials of a function, fn(trial), with other parameters each: trial.params, trial.name, trial.seed. What it reports
  (trial:report, run.metric), what its trainings show by epoch, and the numbers that it returns are the trial's metrics. A
  live table has the trials, the best first. doc/experiments.md has all of it.
  over: values by parameter, { lr = { 0.1, 0.01 }, units = tune.randint(16, 128) }; a value that is no list is the same in all
  by: the metric to go by; its last value counts
  mode: "max" or "min"; unless it is said "max" for what is called acc, auc, f1, precision or recall, else "min"
  search: "grid": every combination; "random": samples of them; "halving": random or the grid, and weak ones are stopped early
  samples: how many; halving has the grid when over has lists alone and nothing is said
  at_once: how many go on at a time
  stop: when a trial is done: { val_accuracy = 0.99, step = 20 }, or a function of trial, metrics and step
  max_t: of halving: a trial is done at this step
  grace_period: of halving: no trial is stopped before this step
  reduction_factor: of halving: the best 1/reduction_factor of those that reach a rung go on
  seed: of the samples and of trial.seed; unless it is said the run's (math.random)
  timeout: for each trial; one that takes longer has failed
  fail_fast: the first trial that fails ends all; else the others go on
  fn: what does a trial; it can stand without a name as well
  name: of the trials; it can stand first without a name
  result: the trials: #trials, trials[i], trials:best(), trials:table()
  errors: nothing to try, a metric that no trial gives, all trials have failed
  example:
    trials = tune { "line", over = { slope = { 1, 2, 3 } }, by = "error", function(trial)
      return { error = math.abs(trial.params.slope - 2) }
    end }
    print(trials:best().params.slope)
tune.uniform(lower, upper) -> distribution
  Numbers between two bounds, each as likely as another; for over with search = "random" or "halving".
  example:
    print(tune.uniform(0, 0.5)) --> uniform(0, 0.5)
tune.loguniform(lower, upper) -> distribution
  Numbers between two bounds above 0 whose logarithms are uniform: learning rates.
  example:
    print(tune.loguniform(1e-4, 0.1)) --> loguniform(0.0001, 0.1)
tune.randint(lower, upper) -> distribution
  Integers from lower on, below upper.
  example:
    print(tune.randint(16, 128)) --> randint(16, 128)
tune.choice(list) -> distribution
  One of the values of a list.
  example:
    print(tune.choice { "relu", "tanh" }) --> choice({"relu", "tanh"})
trials: type -- What tune gives: trials[1], #trials, in the order in which they were begun.
trials:best() -> trial
  The best one of those that are done, by the metric's last value.
  errors: no trial gave the metric
  example:
    trials = tune { over = { x = { 1, 2 } }, by = "loss", function(trial) return trial.params.x end }
    print(trials:best().name, trials:best().metrics.loss)
trials:table() -> table
  Rows with parameters and metrics, the best first; as the value of a cell they are a table.
  example:
    trials = tune { over = { x = { 1, 2 } }, by = "loss", function(trial) return trial.params.x end }
    print(#trials:table(), trials:table()[1].x)
trials:curves()
  Shows the curves of the best trials in one plot.
  example:
    trials = tune { over = { x = { 1, 2 } }, by = "loss", function(trial)
      for step = 1, 3 do trial:report { loss = trial.params.x / step } end
    end }
    trials:curves()
trial: type -- One of the trials: trial.name, trial.params, trial.seed, trial.state, trial.metrics, trial.curves, trial.error, trial.seconds.
trial:report(metrics, step)
  Tells metrics of the running trial, as a training does of each epoch; a trial that is weak, or done, ends here.
  step: at which they were measured, 1, 2, … unless it is said
  errors: a metric that is no number
  example:
    trials = tune { over = { x = { 1, 2 } }, by = "loss", function(trial)
      for step = 1, 3 do trial:report { loss = trial.params.x / step } end
    end }
    print(#trials[1].curves.loss.values)
trial:path(name) -> string
  The path of a file in the trial's own folder, which is made. When the trial ends the file's size and digest are recorded.
  errors: a name that leads out of the folder
  example:
    trials = tune { over = { x = { 1, 2 } }, by = "loss", function(trial)
      fs.write(trial:path "out.txt", "x")
      return trial.params.x
    end }
    print(trials[2].files["out.txt"].size)
trial:finally(fn)
  fn() is called when the trial has ended, in whatever way, also when it was stopped: to delete what it has made elsewhere.
  example:
    trials = tune { over = { x = { 1 } }, by = "loss", function(trial)
      trial:finally(function() print "removed" end)
      return 1
    end }
trial:run{check=true, ignore: list={}} -> trial
  Does the trial again, with its parameters and its seed, in a folder of its own, and compares metrics, curves and files to
  the last bit; it says so.
  check: whether a difference is an error
  ignore: metrics and files that are not compared, such as times
  result: the trial of now; trial.same, and trial.differ: the differences, as texts
  errors: something is not the same, unless check = false
  example:
    trials = tune { over = { x = { 1, 2 } }, by = "loss", function(trial) return trial.params.x end }
    again = trials:best():run()
    print(again.same)
distribution: type -- What tune.uniform and its like give, for over.
  example:
    print(tune.uniform(0, 1)) --> uniform(0, 1)
]], { types = { trials = trials, trial = trial } })
