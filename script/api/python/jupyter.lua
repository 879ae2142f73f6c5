-- SPDX-License-Identifier: MIT
-- Cells in other languages, which a Jupyter kernel runs.
local core = ...

-- Runs a cell: by the kernel of that name, or (a wish, or no name) by another one with the language.
function core.hooks.kernel(code, language, kernel, wish)
  local env = next(core.surroundings) and core.surroundings or nil
  core.call("jupyter.cell", { code = code, language = language, kernel = kernel, wish = wish or nil, env = env })
end

-- What a cell in Python has set in its environment: {name: value, or null}.
function core.hooks.environ(changes)
  for name, value in pairs(changes) do core.set_variable(name, value ~= core.null and value or nil) end
  return {}
end

-- py: Python's values for cells in Lua.
local functions = {}

local function exchange(what, code, expression)
  core.gate("run Python")
  local told = core.call("jupyter.exchange", { code = code, expression = expression })
  if expression and told == nil then
    core.fail("error", what .. ": this Python has no module firesteel (its kernel must be started by firesteel, from ipykernel)")
  end
  return told and core.from_program(told).value
end

local function check_name(what, name)
  if type(name) ~= "string" or not name:match "^[%a_][%w_]*$" then
    core.fail("error", ("%s: %s is no name of a variable in Python"):format(what, tostring(name)))
  end
end

function functions.get(expression)
  core.check_kind("py.get", "the expression", expression, "string")
  return exchange("py.get", "", "__import__('firesteel._exchange')._exchange.give((" .. expression .. "\n))")
end

function functions.set(values)
  core.check_kind("py.set", "the values", values, "table")
  for name in pairs(values) do check_name("py.set", name) end
  exchange("py.set", ("globals().update(__import__('firesteel._exchange')._exchange.take(%s))"):format(core.json(core.json(values))))
end

py = setmetatable({}, {
  __name = "py",
  __index = function(_, name)
    if functions[name] then return functions[name] end
    check_name("py", name)
    return functions.get(name)
  end,
  __newindex = function(_, name, value) functions.set { [name] = value == nil and core.null or value } end,
  __display = function() return core.listing("py", functions) end,
})
rawset(py, "get", functions.get)
rawset(py, "set", functions.set)

core.api [[
py: module -- Python's variables, in cells in Lua: py.x is the value of x, py.x = 3 sets it. The cells in Python have them in the kernel that runs them.
py.get(expression) -> any
  The value of an expression in Python, as Lua has it: numbers, texts, lists, dicts, NumPy's numbers and arrays, the rows of a pandas table. It is a copy.
  errors: what Python raises, a value that is none of these, one of more than 4 MiB, no kernel for Python
  effect: local
  example:
    ok, why = pcall(py.get, "sum([1, 2])")
py.set(values)
  Sets variables in Python: py.set { lr = 0.1, names = {"a", "b"} }.
  errors: a value that JSON cannot say, a name that Python does not take, no kernel for Python
  effect: local
  example:
    ok, why = pcall(py.set, { lr = 0.1 })
]]
