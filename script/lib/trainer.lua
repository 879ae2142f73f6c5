-- SPDX-License-Identifier: MIT
-- trainer.run: runs a trainer file in a process of its own, in local mode.
local core = ...

local job = { __name = "training job" }
job.__index = job
job.__tostring = function(j) return j.output end
-- Its output and progress were shown below the cell already.
job.__display = function() return nil end

trainer = {}

-- trainer.run{ "trainer.lua", np = 1, args = {…}, check = true, env = {}, inputs = {}, outputs = {} }
--   → {code, output, metrics = {loss =, accuracy =, …}, history = {…}, files = {name = sha256}}
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
  result: {code, output, metrics = {loss, …}, history, files = {name = sha256}}; an output above 64 MiB is an error when it is asked for
  errors: an exit code other than 0, unless check = false
  effect: local
  example:
    io.open("small.lua", "w"):write("print(arg[1])"):close()
    job = trainer.run { "small.lua", args = { "hello" } } --> hello
]]
