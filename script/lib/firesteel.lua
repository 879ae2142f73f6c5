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
}

-- Waits; an interrupt ends the wait.
function firesteel.sleep(duration)
  core.sleep(core.duration(duration))
end

-- The path of a data set: of data/NAME in the working folder or beside the notebook, in $FIRESTEEL_DATA, among the
-- installed data.
function firesteel.data(name)
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
