-- SPDX-License-Identifier: MIT
-- trainer.run: runs a trainer file in a process of its own, in local mode. Also how all that has trained looks.
local core = ...

local METRICS = 6 -- that are told in a line
-- What display.plot takes for something else.
local taken = { x = true, kind = true, title = true, x_label = true, y_label = true, bins = true, error = true }

local function took(seconds)
  if seconds < 60 then return ("%.1fs"):format(seconds) end
  local minutes = math.floor(seconds / 60)
  return minutes < 60 and ("%dm%02ds"):format(minutes, math.floor(seconds % 60)) or ("%dh%02dm"):format(minutes // 60, minutes % 60)
end

-- "ok, 4 epochs, 5.4s, loss 0.0311, val_accuracy 0.958": its output and progress were shown below the cell already.
local function line(j)
  local words, names, epochs = {}, {}, #(j.history or {})
  words[1] = j.signal and "ended by signal " .. j.signal or j.state or j.code == 0 and "ok" or "exited with " .. tostring(j.code)
  if epochs > 0 then words[#words + 1] = ("%d epoch%s"):format(epochs, epochs == 1 and "" or "s") end
  if type(j.seconds) == "number" then words[#words + 1] = took(j.seconds) end
  for name, value in pairs(j.metrics or {}) do
    if type(value) == "number" then names[#names + 1] = name end
  end
  table.sort(names)
  for i = 1, math.min(#names, METRICS) do words[#words + 1] = ("%s %.4g"):format(names[i], j.metrics[names[i]]) end
  if #names > METRICS then words[#words + 1] = ("%d more metrics"):format(#names - METRICS) end
  return table.concat(words, ", ")
end

-- What display.plot draws of it: a series for each metric; what an epoch has not told is a gap.
local function curves(j)
  local data, n = { x = {}, x_label = "epoch" }, #(j.history or {})
  for i, epoch in ipairs(j.history or {}) do
    data.x[i] = type(epoch.epoch) == "number" and epoch.epoch or i
    for name, value in pairs(type(epoch.metrics) == "table" and epoch.metrics or {}) do
      if taken[name] then name = "metric " .. name end
      local series = data[name] or {}
      data[name] = series
      for k = #series + 1, n do series[k] = 0 / 0 end
      if type(value) == "number" then series[i] = value end
    end
  end
  if n == 0 then core.fail("error", "display.plot: this has told of no epochs, so it has no history to draw; model:fit in its trainer tells of each") end
  return data
end

-- Gives a job, an application or results their looks.
function core.training_looks(meta)
  meta.__display = meta.__display or line
  meta.__plot = curves
end

local job = { __name = "training job" }
job.__index = job
job.__tostring = function(j) return j.output end
core.training_looks(job)

trainer = {}

-- trainer.run{ "trainer.lua", np = 1, args = {…}, check = true, env = {}, inputs = {}, outputs = {} }
--   → {code, output, metrics = {loss =, accuracy =, …}, history = {…}, files = {name = sha256}, seconds}
-- A resumed run repeats it only when the trainer, an input or an output has changed.
function trainer.run(options)
  if type(options) == "string" then options = { options } end
  if type(options) ~= "table" or type(options[1]) ~= "string" then
    core.fail("error", 'trainer.run expects the file of a trainer: trainer.run { "trainer.lua", args = {…} }')
  end
  if options[1]:match "%.py$" then
    core.fail("error", ('trainer.run runs trainers in Lua; spark.submit { "%s", master = "local[1]" } runs Python on Spark, '
      .. 'and sh { "python3", "%s" } without it'):format(options[1], options[1]))
  end
  local args = { script = options[1] }
  for key, value in pairs(core.check("trainer.run", options)) do
    if type(key) == "string" then args[key] = value end
  end
  local words = core.array {}
  for i, word in ipairs(args.args or {}) do words[i] = tostring(word) end
  args.args = words
  local made = core.call("trainer.run", args)
  return made.left_out and core.said(made, job, "trainer.run") or setmetatable(made, job)
end

core.module("trainer", trainer)
core.types["training job"] = job

core.api [[
trainer: module -- Trainer files, in Lua, in a process of their own.
trainer.run{file, np: integer=1, args: list={}, check=true, env: table={}, inputs: list={}, outputs: list={}} -> training job
  Runs a trainer file on this machine; its progress and output are shown below the cell.
  np: on how many ranks, 1 to 4096
  args: its words, as `arg` in the file
  check: whether an exit code other than 0 is an error
  env: variables for it, { NAME = "value" }
  inputs: files it reads; a resumed run repeats it only when the trainer, an input or an output has changed
  outputs: files it writes
  result: {code, output, metrics = {loss, …}, history, files = {name = sha256}, seconds}, which as a cell's last value says how it went; an output above 64 MiB is an error when it is asked for
  errors: an exit code other than 0, unless check = false
  effect: local
  example:
    io.open("small.lua", "w"):write("print(arg[1])"):close()
    job = trainer.run { "small.lua", args = { "hello" } } --> hello
]]
