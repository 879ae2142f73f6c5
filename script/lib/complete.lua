-- SPDX-License-Identifier: MIT
-- Completion and inspection: what stands at a place of a cell's source. Nothing is called, only looked up.
local core = ...

local function lookup(path)
  local value = _G
  for name in path:gmatch "[^.:]+" do
    if type(value) == "string" then value = string end
    if type(value) ~= "table" then return nil end
    local found = rawget(value, name)
    local meta = getmetatable(value)
    if found == nil and type(meta) == "table" and type(meta.__index) == "table" then found = meta.__index[name] end
    value = found
  end
  return value
end

local function add_names(value, prefix, matches, seen)
  if type(value) == "string" then value = string end
  if type(value) ~= "table" or seen[value] then return end
  seen[value] = true
  for name in next, value do
    if type(name) == "string" and name:sub(1, #prefix) == prefix and name:match "^[%a_][%w_]*$" then
      matches[name] = true
    end
  end
  local meta = getmetatable(value)
  if type(meta) == "table" then add_names(meta.__index, prefix, matches, seen) end
end

function core.hooks.complete(request)
  local before = request.source:sub(1, request.cursor)
  local word = before:match "[%a_][%w_.:]*$" or ""
  local path, prefix = word:match "^(.*)[.:]([%w_]*)$"
  if not path then path, prefix = "", word end
  local matches, list = {}, core.array {}
  add_names(path == "" and _G or lookup(path), prefix, matches, {})
  if path == "" then
    for name in ("and break do else elseif end false for function goto if in local nil not or repeat return then true until while")
      :gmatch "%a+" do
      if name:sub(1, #prefix) == prefix then matches[name] = true end
    end
  end
  for name in pairs(matches) do list[#list + 1] = name end
  table.sort(list)
  return { matches = list, start = #before - #prefix, ["end"] = #before }
end

function core.hooks.inspect(request)
  local before, after = request.source:sub(1, request.cursor), request.source:sub(request.cursor + 1)
  local word = (before:match "[%a_][%w_.:]*$" or "") .. (after:match "^[%w_]*" or "")
  local value = word ~= "" and lookup(word) or nil
  if value == nil then return { found = false } end
  local text
  if type(value) == "function" then
    local info = debug.getinfo(value, "Su")
    local names = {}
    for i = 1, info.nparams do names[i] = debug.getlocal(value, i) end
    if info.isvararg then names[#names + 1] = "…" end
    text = ("%s(%s)\nfunction from %s:%d"):format(word, table.concat(names, ", "), info.short_src, info.linedefined)
  else
    text = ("%s: %s\n%s"):format(word, type(value), display.inspect(value))
  end
  return { found = true, data = { ["text/plain"] = text } }
end
