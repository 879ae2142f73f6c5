-- SPDX-License-Identifier: MIT
-- The variables of cells in Lua, for whoever looks at them (:vars). No code of the notebook runs for that: tables are
-- read without their metatables, and only as far as there is room.
local core = ...

local PREVIEW, WHOLE = 160, 64 << 10 -- bytes of a value: in the list, and alone
local ROWS, COUNTED, SORTED, NAME = 2000, 100000, 200, 60
local DEPTH, OPEN = 8, 3 -- tables in tables; of these, the levels that have a line for each entry when a value is alone

local function readable(text)
  if utf8.len(text) then return text end
  return (text:gsub("[\x80-\xff]", function(byte) return ("\\x%02x"):format(byte:byte()) end))
end

-- Writes up to a length; what is cut ends in "…". put returns true when there is no room for more.
local function writer(room)
  local parts, full = {}, false
  local function put(text)
    if full then return true end
    if #text > room then
      text, full = text:sub(1, room):gsub("[\xc0-\xff][\x80-\xbf]*$", "") .. "…", true
    end
    room = room - #text
    parts[#parts + 1] = text
    return full
  end
  return put, function() return table.concat(parts) end, function() return room end
end

local function meta_of(value)
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and meta or nil
end

-- The name of a type of ours.
local function kind_of(value)
  local meta = type(value) == "table" and meta_of(value)
  for name, methods in next, meta and core.types or {} do
    if methods == meta or methods == rawget(meta, "__index") then return name end
  end
end

local function keys_of(value, n)
  local keys, count = {}, 0
  for key in next, value do
    count = count + 1
    if count > n + SORTED then break end
    if not (math.type(key) == "integer" and key >= 1 and key <= n) then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return type(a) < type(b) end
    return (type(a) == "string" or type(a) == "number") and a < b
  end)
  return keys
end

local write

local function write_table(put, room, value, depth, lines, seen)
  local n, empty, indent = rawlen(value), true, lines and depth <= OPEN and "\n" .. ("  "):rep(depth) or nil
  local function add(key, item)
    if put((empty and "" or ",") .. (indent or empty and "" or " ")) then return true end
    empty = false
    if key ~= nil and put(type(key) == "string" and key:match "^[%a_][%w_]*$" and key .. " = " or "[" .. readable(tostring(key)) .. "] = ") then
      return true
    end
    return write(put, room, item, depth + 1, lines, seen)
  end
  seen[value] = true
  if put "{" then return true end
  for i = 1, n do
    if add(nil, rawget(value, i)) then return true end
  end
  local keys = keys_of(value, n)
  for i = 1, math.min(#keys, SORTED) do
    local key = keys[i]
    if (type(key) == "table" or type(key) == "userdata") then key = type(key) end
    if add(key, rawget(value, keys[i])) then return true end
  end
  if #keys >= SORTED and put ", …" then return true end
  seen[value] = nil
  return put((indent and not empty and indent:sub(1, -3) or "") .. "}")
end

function write(put, room, value, depth, lines, seen)
  local kind = type(value)
  if kind == "string" then return put(readable(("%q"):format(value:sub(1, room() + 1)):gsub("\\\n", "\\n"))) end
  if value == core.null then return put "null" end
  if kind == "table" and not kind_of(value) then
    if seen[value] or depth > DEPTH then return put "{…}" end
    return write_table(put, room, value, depth, lines, seen)
  end
  if kind == "table" then return put(readable(tostring(value))) end
  if kind == "function" then
    local info = debug.getinfo(value, "S")
    return put(info.what == "C" and "a function in C" or ("function from %s:%d"):format(info.short_src, info.linedefined))
  end
  return put(readable(tostring(value)))
end

local function written(value, room, lines)
  local put, text, left = writer(room)
  write(put, left, value, 1, lines, {})
  return text()
end

local function shape(value)
  if type(value) == "string" then return tostring(#value), #value end
  if type(value) ~= "table" or kind_of(value) then return "" end
  local n = rawlen(value)
  if n > 0 then return tostring(n) end
  for _ in next, value do
    n = n + 1
    if n == COUNTED then return n .. " or more" end
  end
  return tostring(n)
end

local function type_of(value)
  local meta = type(value) ~= "string" and meta_of(value)
  local name = kind_of(value) or meta and rawget(meta, "__name")
  return type(name) == "string" and core.short(readable(name), NAME) or math.type(value) or type(value)
end

local function row(name, value)
  local size, bytes = shape(value)
  return { name = name, type = type_of(value), shape = size, bytes = bytes, preview = written(value, PREVIEW),
    hidden = name:sub(1, 1) == "_" or type(value) == "function" or nil }
end

function core.hooks.variables(request)
  local ours = core.library()
  if request.name then
    local value = rawget(_G, request.name)
    if value == nil then return { why = "there is no variable " .. request.name } end
    if type(value) ~= "string" then return { kind = type_of(value), text = written(value, WHOLE, true) } end
    local put, text, room = writer(WHOLE)
    put(readable(value:sub(1, room() + 1)))
    return { kind = "string", text = text() }
  end
  local names, rows = {}, core.array {}
  for name, value in next, _G do
    if type(name) == "string" and utf8.len(name) and not rawequal(ours[name], value) and value ~= _G then names[#names + 1] = name end
  end
  table.sort(names)
  for i = 1, math.min(#names, ROWS) do rows[i] = row(names[i], rawget(_G, names[i])) end
  return { rows = rows, more = math.max(0, #names - ROWS) }
end
