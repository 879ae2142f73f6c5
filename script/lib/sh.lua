-- SPDX-License-Identifier: MIT
-- sh, and the magics of notebooks. They run local commands, through the binding "sh".
local core = ...

local result_meta = {
  __name = "shell result",
  __tostring = function(result) return result.output end,
  __display = function() return nil end, -- its output was shown below the cell already
}

local known = { check = 1, env = 1, cwd = 1, input = 1, quiet = 1, inputs = 1, outputs = 1 }

local function take_option(args, key, value)
  if not known[key] then core.unknown("sh", "option", key, known) end
  if (key == "inputs" or key == "outputs") and type(value) ~= "table" then
    core.fail("error", ('sh expects %s as a list of files: %s = { "file" }'):format(key, key))
  end
  args[key] = value
end

-- sh(command, {check = true, env = {}, cwd =, input =, quiet = false, inputs = {}, outputs = {}}) →
-- {code, output} A command is a text for the shell, or a list of words for no shell. A non-zero
-- exit raises unless check = false. inputs and outputs are files: a resumed run repeats the command
-- only when one of them has changed. Without them it repeats the command each time.
function sh(command, options)
  local args = {}
  if type(command) == "table" then
    args.words = core.array { table.unpack(command) }
    for key, value in pairs(command) do
      if type(key) == "string" then take_option(args, key, value) end
    end
  elseif type(command) == "string" then
    args.command = command
  else
    core.fail("error", "sh expects a command: a string, or a list of words")
  end
  core.check("sh", options, known)
  for key, value in pairs(options or {}) do take_option(args, key, value) end
  return setmetatable(core.call("sh", args), result_meta)
end

core.options[sh] = known

local magic = {}
firesteel.magic = magic

-- %env NAME=VALUE, %env NAME, %env
function magic.env(name, value)
  if value ~= nil then
    core.setenv(name, value)
    print("env: " .. name .. "=" .. value)
  elseif name then
    local now = core.getenv(name)
    if not now then core.fail("error", "there is no environment variable " .. name) end
    print(now)
  else
    local names = {}
    local environment = core.environ()
    for key in pairs(environment) do names[#names + 1] = key end
    table.sort(names)
    for _, key in ipairs(names) do print(key .. "=" .. environment[key]) end
  end
end

-- !command
function magic.system(command)
  core.call("sh", { command = command, shown = true })
end

-- x = !command: its lines
function magic.getoutput(command)
  local lines = {}
  for line in sh(command, { quiet = true }).output:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end

-- $NAME in a command: the value of a Lua variable; if there is none, it is left to the shell.
function magic.var(name, value)
  return value == nil and "$" .. name or tostring(value)
end

-- Runs a bash cell. Its exit code is that of its last command; `set -e` is up to the cell.
function core.hooks.bash(script, inputs, outputs)
  core.call("sh", {
    words = core.array { "bash", "-c", script }, title = "bash", shown = true, inputs = inputs, outputs = outputs,
  })
end

-- Writes a file or template cell.
function core.hooks.write(path, text, append)
  local result = core.call("file.write", { path = path, text = text, append = append or nil })
  local _, lines = text:gsub("\n", "")
  print(("%s %s (%d %s)"):format(result.verb, path, lines, lines == 1 and "line" or "lines"))
end
