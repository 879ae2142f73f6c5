-- SPDX-License-Identifier: MIT
-- The module `args` turns a table of defaults into the values of the command line.
--   local args = require "args" { learning_rate = 0.001, epochs = 5, name = "x", quiet = false }
--   --epochs=1  --epochs 1  --learning-rate=0.01  --learning_rate=0.01  --quiet  --no-quiet  --help

local function option(name)
  return "--" .. name:gsub("_", "-")
end

local function sorted(defaults)
  local names = {}
  for name in pairs(defaults) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local kinds = { integer = "an integer", float = "a number", boolean = "true or false", string = "text" }

local function kind_of(value)
  return math.type(value) or type(value)
end

local function usage(defaults)
  local lines = { "usage: " .. (arg[0] or "trainer.lua") .. " [options]" }
  for _, name in ipairs(sorted(defaults)) do
    local default = defaults[name]
    lines[#lines + 1] = ("  %-24s %s, default %s"):format(
      option(name) .. (type(default) == "boolean" and "" or "=VALUE"), kinds[kind_of(default)], tostring(default))
  end
  return table.concat(lines, "\n") .. "\n"
end

local function fail(message)
  io.stdout:flush()
  io.stderr:write((arg[0] or "trainer.lua"), ": ", message, "\n")
  os.exit(2)
end

local function unknown(given, defaults)
  local known = {}
  for _, name in ipairs(sorted(defaults)) do known[#known + 1] = option(name) end
  known[#known + 1] = "--help"
  fail(("unknown option %s; known are %s"):format(given, table.concat(known, ", ")))
end

local convert = {
  string = function(text) return text end,
  boolean = function(text)
    if text == "true" then return true elseif text == "false" then return false end
  end,
  float = function(text) local n = tonumber(text) return n and n + 0.0 end,
  integer = function(text) local n = tonumber(text) return n and math.tointeger(n) end,
}

local function parse(defaults)
  local values = {}
  for name, value in pairs(defaults) do
    if type(name) ~= "string" or not convert[kind_of(value)] then
      error(("args: the default of '%s' is a %s; it gives the type: a number, text or a boolean"):format(name, type(value)), 3)
    end
    values[name] = value
  end
  local i = 1
  while i <= #arg do
    local given = arg[i]
    local name, value = given:match("^%-%-([^=]+)=(.*)$")
    name = name or given:match("^%-%-(.+)$")
    if not name then fail(("unexpected argument '%s'; options start with --"):format(given)) end
    local key = name:gsub("-", "_")
    if key == "help" and defaults.help == nil then
      io.stdout:write(usage(defaults))
      os.exit(0)
    end
    local no = key:match("^no_(.+)$")
    if defaults[key] == nil and no and type(defaults[no]) == "boolean" and not value then
      key, value = no, "false"
    end
    local default = defaults[key]
    if default == nil then unknown(given:match("^[^=]+"), defaults) end
    if not value and type(default) == "boolean" then
      value = "true"
    elseif not value then
      i = i + 1
      value = arg[i]
      if not value then fail(("option %s needs a value"):format(given)) end
    end
    values[key] = convert[kind_of(default)](value)
    if values[key] == nil then
      fail(("option %s: '%s' is not %s"):format(option(key), value, kinds[kind_of(default)]))
    end
    i = i + 1
  end
  return values
end

return parse
