-- SPDX-License-Identifier: MIT
-- core.block_yaml: a value as YAML for people: fields in the order in which they are usually written, and text that is a
-- program or a manifest as a block of lines.
local core = ...

-- Fields that stand first, in this order; then all others by name.
local ORDER = {}
for i, field in ipairs { "apiVersion", "kind", "name", "generateName", "namespace", "metadata", "spec", "entrypoint", "onExit",
  "schedules", "template", "templateRef", "dependencies", "inputs", "outputs", "arguments", "action" } do
  ORDER[field] = i
end
local LAST = { templates = 2, workflowSpec = 1, manifest = 1 }

local NOT_TEXT = {}
for word in ("true false null yes no on off y n"):gmatch "%a+" do NOT_TEXT[word] = true end

local empty_array = getmetatable(core.array {})

local function is_list(value)
  return #value > 0 or (next(value) == nil and getmetatable(value) == empty_array)
end

local function is_plain(text)
  return text:find "^[%a/][%w_./:=,()>' -]*$" and not text:find "[ :]$" and not text:find ": " and not NOT_TEXT[text:lower()]
end

-- What else some readers take for the end of a line.
local LINE_ENDS = { ["\u{85}"] = "\\u0085", ["\u{2028}"] = "\\u2028", ["\u{2029}"] = "\\u2029" }

local function escaped(text)
  for from, to in pairs(LINE_ENDS) do text = text:gsub(from, to) end
  return text
end

-- A block keeps lines as they are, if none begins with a blank before the others' edge, and all bytes can be shown.
local function is_block(text)
  return text:find "\n" and not text:find "^[ \n]" and not text:find "\n\n$" and not text:gsub("\n", ""):find "[%c\127]" and escaped(text) == text
end

local function fields_of(map)
  local fields = {}
  for field in pairs(map) do fields[#fields + 1] = field end
  table.sort(fields, function(a, b)
    local x, y = ORDER[a] or 100 + (LAST[a] or 0), ORDER[b] or 100 + (LAST[b] or 0)
    if x ~= y then return x < y end
    return tostring(a) < tostring(b)
  end)
  return fields
end

local write

local function write_scalar(lines, before, value, indent)
  if type(value) == "string" and is_block(value) then
    lines[#lines + 1] = before .. (value:find "\n$" and "|" or "|-")
    for line in (value:gsub("\n$", "") .. "\n"):gmatch "(.-)\n" do
      lines[#lines + 1] = line == "" and "" or (" "):rep(indent) .. line
    end
  elseif type(value) == "string" and is_plain(value) then
    lines[#lines + 1] = before .. value
  else
    lines[#lines + 1] = before .. (value == core.null and "null" or escaped(core.json(value)))
  end
end

-- before: what stands on the first line already; indent: of the value's own lines.
function write(lines, before, value, indent)
  if type(value) ~= "table" or value == core.null then return write_scalar(lines, before, value, indent) end
  if next(value) == nil then
    lines[#lines + 1] = before .. (is_list(value) and "[]" or "{}")
    return
  end
  if before:find "%S$" then -- a key: its value is on the next lines
    lines[#lines + 1] = before
    before = (" "):rep(indent)
  end
  if is_list(value) then
    for _, item in ipairs(value) do
      write(lines, before .. "- ", item, indent + 2)
      before = (" "):rep(indent)
    end
    return
  end
  for _, field in ipairs(fields_of(value)) do
    local item, word = value[field], is_plain(tostring(field)) and tostring(field) or core.json(tostring(field))
    local nested = type(item) == "table" and item ~= core.null and next(item) ~= nil
    local deeper = nested and is_list(item) and indent or indent + 2
    write(lines, before .. word .. (nested and ":" or ": "), item, deeper)
    before = (" "):rep(indent)
  end
end

function core.block_yaml(value)
  local lines = {}
  write(lines, "", value, 0)
  return table.concat(lines, "\n") .. "\n"
end
