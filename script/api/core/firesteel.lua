-- SPDX-License-Identifier: MIT
-- firesteel: functions that belong to no module. `core` are C's functions for this library; cells
-- do not see them.
local core = ...

firesteel = {
  call = core.call,          -- call(binding, args): all effects go through this
  array = core.array,        -- array{}: an empty JSON array
  null = core.null,          -- an explicit JSON null
  json = core.json,          -- json(value): its text
  parse_json = core.parse,   -- parse_json(text): its value
  duration = core.duration,  -- duration("1m30s"): 90.0
  cwd = core.cwd,            -- the working folder
  run = core.run,            -- the name of this run
  version = core.version,
  worker = core.worker,      -- the program that runs trainer files
  failure = core.failure,    -- what has failed before this cell
}

-- Waits; an interrupt ends the wait.
function firesteel.sleep(duration)
  core.sleep(core.duration(duration))
end

-- The path of a data set: of data/NAME in the working folder or beside the notebook, in $FIRESTEEL_DATA, among the
-- installed data.
function firesteel.data(name)
  core.check_kind("firesteel.data", "the name", name, "string")
  local places = {}
  for _, folder in ipairs { core.cwd, core.notebook_dir ~= core.cwd and core.notebook_dir or nil } do
    places[#places + 1] = folder .. "/data/" .. name
  end
  if core.data then places[#places + 1] = core.data .. "/" .. name end
  if core.share then places[#places + 1] = core.share .. "/data/" .. name end
  for _, place in ipairs(places) do
    local there = io.open(place, "r")
    if there then
      there:close()
      return place
    end
  end
  core.fail("error", ("there is no data set %s; looked at %s"):format(name, table.concat(places, ", ")))
end

local function first_line(command)
  local ok, result = pcall(sh, command, { check = false, quiet = true })
  return ok and result.code == 0 and result.output:match "[^\n]+" or nil
end

-- The versions that a run depends on, one on each line, as in a requirements file.
function firesteel.versions()
  local lines = {
    "firesteel " .. core.version,
    "lua " .. core.lua,
    "cjson " .. core.cjson,
  }
  local worker = core.worker and first_line { core.worker, "--version" }
  if worker then lines[#lines + 1] = worker end
  local system = first_line { "uname", "-srm" }
  if system then lines[#lines + 1] = system end
  return table.concat(lines, "\n")
end

-- secret "NAME": the environment variable NAME, else a person's answer; it never reaches journal or
-- report.
function secret(name)
  if type(name) ~= "string" then core.fail("error", "secret expects the name of an environment variable") end
  local value = core.getenv(name)
  if not value then value = core.ask("the secret " .. name .. " (not in the environment)", true) end
  core.mask(value)
  return value
end

-- input "question": asks a person.
function input(question)
  return core.ask(question or "", false)
end

core.module("firesteel", firesteel)

core.api [[
secret(name) -> string
  A secret: the environment variable of this name, else what a person types. It is masked in journal, outputs and reports.
  errors: nobody is there to be asked (firesteel run, which looks for it before the first cell)
  example:
    firesteel.magic.env("API_TOKEN", "not-so-secret-1")
    token = secret "API_TOKEN"
    print(#token) --> 15
input(question) -> string
  Asks a person, below the cell.
  errors: nobody is there to be asked (firesteel run)
  example:
    print("the rate is " .. input "which rate?")
firesteel: module -- Functions that belong to no other module.
firesteel.call(binding, arguments)
  Calls a binding by its name: all that cells can have done goes through this.
  effect: that of the binding
  example:
    print(firesteel.call("sh", { command = "true" }).code) --> 0
firesteel.sleep(duration)
  Waits, a number of seconds or a text such as "1m30s"; an interrupt ends it.
  errors: a duration that is none
  example:
    firesteel.sleep "10ms"
firesteel.failure() -> table|nil
  What has failed or was interrupted before this cell, for cells with when="always", "failed" or an expression.
  result: {cell, name, message}; name is the kind: error, assertion, timeout, interrupted, …
  example:
    print(firesteel.failure()) --> nil
firesteel.data(name) -> string
  The path of a data set: of data/NAME in the working folder or beside the notebook, in $FIRESTEEL_DATA, among the installed data.
  errors: there is none; the error names the places
  example:
    ok, why = pcall(firesteel.data, "nowhere")
    print(ok) --> false
firesteel.versions() -> string
  The versions that a run depends on, one on each line, as in a requirements file.
  example:
    firesteel.versions()
firesteel.duration(text) -> number
  The seconds of a duration.
  errors: a text that is no duration
  example:
    print(firesteel.duration "1m30s") --> 90.0
firesteel.array(table) -> table
  Marks a table as a JSON array, so that an empty one is [] and not {}.
  example:
    print(firesteel.json(firesteel.array {})) --> []
firesteel.json(value) -> string
  A value as JSON, with sorted keys.
  errors: what JSON cannot say: functions, numbers that are not finite, tables in themselves
  example:
    print(firesteel.json { b = 1, a = { true } }) --> {"a":[true],"b":1}
firesteel.parse_json(text) -> any
  The value of JSON, as json.decode gives it.
  errors: a text that is no JSON, and an integer that does not fit into 64 bits
  example:
    print(firesteel.parse_json('{"n": 1}').n) --> 1
firesteel.null: null -- JSON's null.
firesteel.cwd: string -- The working folder.
firesteel.run: string -- The name of this run.
firesteel.version: string -- The version of firesteel.
firesteel.worker: string -- The path of firesteel-worker, which runs trainer files; in images it is /opt/firesteel/firesteel-worker.
]]
