-- SPDX-License-Identifier: MIT
-- sh, and the magics of notebooks. They run local commands, through the binding "sh".
local core = ...

local WHOLE = 64 << 20 -- bytes of an output that a result holds

-- core.said(result, meta, what): a result with what programs said. A text that is not whole is no data: asking for it is an
-- error, and a cell that does not ask goes on.
function core.said(result, meta, what)
  local left_out = result.left_out
  if not left_out then return setmetatable(result, meta) end
  local own, why = {}, {}
  for name, bytes in pairs(left_out) do
    local all = bytes + #result[name]
    why[name] = all > WHOLE and ("has %d MiB, more than the %d of a result: let the program write a file, or print less of it"):format(all >> 20, WHOLE >> 20)
      or "is that of an earlier process, of whose long output the journal has the beginning and the end: let the program write a file, or begin a new run"
    result[name] = nil
  end
  for name, method in pairs(meta) do own[name] = method end
  own.__index = function(_, name)
    if why[name] then core.fail("error", ("%s: its %s %s"):format(what, name, why[name])) end
    return (meta.__index or {})[name]
  end
  result.left_out = nil
  return setmetatable(result, own)
end

local result_meta = {
  __name = "shell result",
  __tostring = function(result) return result.output end,
  __display = function() return nil end, -- its output was shown below the cell already
}

local function take_options(args, options)
  for key, value in pairs(core.check("sh", options)) do
    if type(key) == "string" then args[key] = value end
  end
end

-- The words of a command; a hole is a variable that has no value, and would be left out.
function core.words_of(what, command)
  local last = 0
  for key in pairs(command) do
    if math.type(key) == "integer" and key > last then last = key end
  end
  for i = 1, last do
    if command[i] == nil then core.fail("error", ("%s: word %d of the command is nil"):format(what, i)) end
  end
  return core.array { table.unpack(command, 1, last) }
end

function sh(command, options)
  local args = {}
  if type(command) == "table" then
    take_options(args, command)
    args.words = core.words_of("sh", command)
  elseif type(command) == "string" then
    args.command = command
  else
    core.fail("error", "sh expects a command: a string, or a list of words")
  end
  take_options(args, options)
  return core.said(core.call("sh", args), result_meta, "sh")
end

core.api [[
sh(command, {check=true, env: table=, cwd: string=, input: string=, quiet=false, inputs: list=, outputs: list=}) -> table
  Runs a command on this machine: a text for the shell, or a list of words for no shell. Its output streams below the cell.
  check: whether an exit code other than 0 is an error
  env: variables for it, { NAME = "value" }
  cwd: the folder it runs in; the notebook's working folder unless it is said
  input: what it reads from its standard input
  quiet: shows nothing below the cell
  inputs: files it reads, { "file" }; a resumed run repeats the command only when one of these files has changed
  outputs: files it writes, { "file" }; they count in the same way
  result: {code, output, signal}; as a text it is its output, of standard output and standard error, up to 64 MiB
  errors: an exit code other than 0, unless check = false; asking the result for an output above 64 MiB: let the command write a file
  effect: local; without inputs and outputs a resumed run repeats it
  example:
    sh "echo hello" --> hello
    made = sh({ "printf", "%s", "a b" }, { quiet = true })
    print(made.output, made.code) --> a b	0
    print(sh("exit 3", { check = false }).code) --> 3
]]

local magic = {}
firesteel.magic = magic

-- Seconds as IPython's %time tells them.
local function wall(seconds)
  if seconds >= 60 then return ("%dmin %ds"):format(seconds // 60, math.floor(seconds % 60)) end
  if seconds >= 1 then return ("%.2f s"):format(seconds) end
  return seconds >= 1e-3 and ("%.3g ms"):format(seconds * 1e3) or ("%.3g µs"):format(seconds * 1e6)
end

-- Sets a variable (nil: removes it) for children of cells, and in kernels of Jupyter: core.surroundings has what they
-- are told.
core.surroundings = core.surroundings or {}
function core.set_variable(name, value)
  core.setenv(name, value)
  core.surroundings[name] = value == nil and core.null or value
end

-- %env NAME=VALUE, %env NAME, %env
function magic.env(name, value)
  if value ~= nil then
    core.set_variable(name, value)
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

-- %time STATEMENT, %%time: says how long it took, when the value is closed.
function magic.time()
  local started = time.monotonic()
  return setmetatable({}, {
    __close = function() print(("Wall time: %s"):format(wall(time.monotonic() - started))) end,
  })
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
