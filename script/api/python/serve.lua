-- SPDX-License-Identifier: MIT
-- Calls of programs in other languages that a cell runs: `import firesteel` in Python (script/python). A request names a
-- function of the API, or a method of a value that an earlier call has given, and has arguments. What is no plain data stays
-- here under a number; the program gets the number with what there is to see of it.
local core = ...
local ARRAY = getmetatable(core.array {})
local DEPTH = 100
local kept, last = {}, 0

local function kind_of(meta)
  for name, methods in pairs(core.types) do
    if methods == meta or methods == rawget(meta, "__index") then return name end
  end
  return rawget(meta, "__name") or "value"
end

local export

local function keep(value, depth, kind)
  last = last + 1
  local number = last
  kept[number] = value
  local fields, items, of = {}, core.array {}, type(value) == "table" and value or {}
  for i = 1, rawlen(of) do items[i] = export(rawget(of, i), depth + 1) end
  for key, item in next, of do
    if type(key) == "string" and type(item) ~= "function" then fields[key] = export(item, depth + 1) end
  end
  return { ["$ref"] = number, kind = kind, text = tostring(value), fields = fields, items = items }
end

function export(value, depth)
  local kind = type(value)
  if kind == "number" and (value ~= value or value == math.huge or value == -math.huge) then
    return { ["$number"] = value ~= value and "nan" or value > 0 and "inf" or "-inf" }
  end
  if kind == "nil" or value == core.null then return core.null end
  if kind ~= "table" and kind ~= "function" then return kind == "userdata" and keep(value, depth, "value") or value end
  if kind == "function" then return keep(value, depth, "function") end
  if depth > DEPTH then core.fail("error", "the value is nested too deeply to leave Lua") end
  local meta = getmetatable(value)
  if type(meta) == "table" and meta ~= ARRAY then return keep(value, depth, kind_of(meta)) end
  local copy = (meta == ARRAY or rawlen(value) > 0) and core.array {} or {}
  for key, item in next, value do copy[key] = export(item, depth + 1) end
  return copy
end

local function import(value)
  if type(value) ~= "table" then return value end
  if value["$ref"] then
    local found = kept[value["$ref"]]
    if found == nil then core.fail("error", "this value belongs to a kernel that has ended: get it again") end
    return found
  end
  if value["$number"] then return tonumber(({ nan = "nan", inf = "1e999", ["-inf"] = "-1e999" })[value["$number"]]) or 0 / 0 end
  if value["$options"] then -- a table with a list and names: f { a, b, name = c }
    local all = import(value["$options"])
    for i, item in ipairs(value.list) do all[i] = import(item) end
    return all
  end
  for key, item in next, value do value[key] = import(item) end
  return value
end

core.from_program = import

local function arguments(request)
  local given = request.arguments or {}
  for i = 1, #given do
    if given[i] == core.null then given[i] = nil else given[i] = import(given[i]) end
  end
  return given, request.count or 0
end

local function named(name)
  local value = _ENV -- the library's globals, of parts that are not loaded yet, too
  for word in name:gmatch "[^.]+" do value = value[word] end
  return value
end

local deeds = {}

function deeds.call(request)
  local given, n = arguments(request)
  return export(named(request.name)(table.unpack(given, 1, n)), 1)
end

function deeds.method(request)
  local given, n = arguments(request)
  local of = import(request.of)
  return export(of[request.name](of, table.unpack(given, 1, n)), 1)
end

-- A field that was not there when the value was given.
function deeds.get(request)
  return export(import(request.of)[request.name], 1)
end

-- firesteel.worker and the like.
function deeds.value(request)
  return export(named(request.name), 1)
end

-- How a cell shows it.
function deeds.show(request)
  return core.shown_bundle(import(request.of)) or core.null
end

function core.hooks.serve(request)
  for _, number in ipairs(request.dropped or {}) do kept[number] = nil end
  local deed = deeds[request.deed] or function() core.fail("error", "firesteel's Python module is of another version") end
  local ok, value = pcall(deed, request)
  if ok then return { value = value } end
  local text = core.error_text(value)
  return { error = { kind = core.raised(text), message = text } }
end
