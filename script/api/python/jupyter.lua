-- SPDX-License-Identifier: MIT
-- Cells in other languages, which a Jupyter kernel runs.
local core = ...

-- Runs a cell: by the kernel of that name, or (a wish, or no name) by another one with the language.
function core.hooks.kernel(code, language, kernel, wish)
  core.call("jupyter.cell", { code = code, language = language, kernel = kernel, wish = wish or nil })
end

-- Jupyter counts characters. What is no UTF-8 has none.
local function characters(text, bytes) return utf8.len(text, 1, bytes) or bytes end
local function bytes(text, count)
  local next_one = utf8.offset(text, count + 1)
  return next_one and next_one - 1 or #text
end

local function ask(kind, request, content)
  content.code, content.cursor_pos = request.source, characters(request.source, request.cursor)
  return core.look("jupyter.names", { type = kind .. "_request", content = content,
    language = request.language, kernel = request.kernel, wish = request.wish })
end

-- Names at the cursor, as core.hooks.complete gives them: those that begin as what is typed.
function core.complete_in_kernel(request)
  local source, names, kinds = request.source, core.array {}, core.array {}
  local reply = ask("complete", request, {}) or {}
  local from = bytes(source, reply.cursor_start or 0)
  local typed = source:sub(from + 1, request.cursor)
  local types = (reply.metadata or {})._jupyter_types_experimental or {}
  for i, name in ipairs(reply.matches or {}) do
    if name:sub(1, #typed) == typed then
      names[#names + 1] = name
      kinds[#kinds + 1] = types[i] and types[i].type or "value"
    end
  end
  return { matches = names, kinds = kinds, start = reply.cursor_start and from or request.cursor, ["end"] = request.cursor }
end

-- What the name at the cursor is, without colours.
function core.inspect_in_kernel(request)
  local reply = ask("inspect", request, { detail_level = 0 }) or {}
  local text = reply.found and (reply.data or {})["text/plain"]
  if not text then return { found = false } end
  return { found = true, data = { ["text/plain"] = (text:gsub("\27%[[%d;]*m", "")) } }
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
