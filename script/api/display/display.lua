-- SPDX-License-Identifier: MIT
-- display: what a cell shows below itself. Every display is a MIME bundle; its text/plain is for
-- plain output.
local core = ...
local KIND = "application/vnd.firesteel.%s+json"
local DEPTH, ITEMS = 6, 200 -- limits of a table that is shown
local RAISED = 300 -- characters of a value that is raised

-- Prints tables as Lua writes them, with sorted keys and with limits.
local function is_name(key)
  return type(key) == "string" and key:match "^[%a_][%w_]*$"
end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do
    if not (math.type(key) == "integer" and key >= 1 and key <= #t) then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and (type(a) == "string" or type(a) == "number") then return a < b end
    return type(a) < type(b)
  end)
  return keys
end

-- "function(source, options)": an address would tell nobody anything, and be another one each time.
local function signature(fn)
  local info, names = debug.getinfo(fn, "u"), {}
  for i = 1, info.nparams do names[i] = debug.getlocal(fn, i) end
  if info.isvararg then names[#names + 1] = "…" end
  return ("function(%s)"):format(table.concat(names, ", "))
end

local function inspect(value, depth, seen)
  if type(value) == "string" then return ("%q"):format(value):gsub("\\\n", "\\n") .. "" end
  if value == core.null then return "null" end
  local meta = getmetatable(value)
  if type(value) == "function" then return signature(value) end
  if type(value) ~= "table" or (type(meta) == "table" and meta.__tostring) then return tostring(value) end
  if seen[value] then return "{…}" end
  if depth > DEPTH then return "{…}" end
  seen[value] = true
  local parts, length = {}, 0
  local function add(text)
    parts[#parts + 1] = text
    length = length + #text + 2
  end
  for i = 1, math.min(#value, ITEMS) do add(inspect(value[i], depth + 1, seen)) end
  for _, key in ipairs(sorted_keys(value)) do
    if #parts >= ITEMS then
      add "…"
      break
    end
    local name = is_name(key) and key or "[" .. inspect(key, depth + 1, seen) .. "]"
    add(name .. " = " .. inspect(value[key], depth + 1, seen))
  end
  seen[value] = nil
  if #value > ITEMS then add "…" end
  if length <= 76 then return "{" .. table.concat(parts, ", ") .. "}" end
  local indent = ("  "):rep(depth)
  return "{\n" .. indent .. table.concat(parts, ",\n" .. indent) .. "\n" .. ("  "):rep(depth - 1) .. "}"
end

-- What is told of a function of the library, in short: its signature, and what it does.
local function told_in_short(fn)
  local entry = core.entry_of(fn)
  return entry and entry.words and ("%s\n%s\nhelp(%s) tells more"):format(entry.signature, entry.words, entry.name)
end

-- The bundle for any value; nil for values that show nothing, as an open file (a last line with f:write).
local function bundle(value)
  if io.type(value) then return nil end
  local meta = getmetatable(value)
  if type(meta) == "table" and meta.__display then
    local shown = meta.__display(value)
    return type(shown) == "string" and { ["text/plain"] = shown } or shown
  end
  if type(value) == "table" and type(value["text/plain"]) == "string" then return value end
  if type(value) == "string" then return { ["text/plain"] = value } end
  return { ["text/plain"] = type(value) == "function" and told_in_short(value) or inspect(value, 1, {}) }
end

core.shown_bundle = bundle

-- Several values are shown on one line, as a list; if one of them has a look of its own, or several lines, each by
-- itself.
local function has_look(value)
  local meta = getmetatable(value)
  return type(value) == "string" and value:find "\n" or type(meta) == "table" and meta.__display
    or type(value) == "table" and type(value["text/plain"]) == "string"
end

function core.hooks.result(...)
  local values, n = { ... }, select("#", ...)
  local apart, texts = n == 1, {}
  for i = 1, n do apart = apart or has_look(values[i]) end
  for i = 1, n do
    local data = apart and bundle(values[i])
    if data then core.result(data) end
    texts[i] = apart or inspect(values[i], 1, {})
  end
  if not apart then core.result { ["text/plain"] = table.concat(texts, ", ") } end
end

display = setmetatable({}, {
  __call = function(_, value)
    local data = bundle(value)
    if data then core.display(data) end
  end,
})

display.inspect = function(value) return inspect(value, 1, {}) end

-- What was raised and is no text, in one line: the message of error { code = 1 }.
function core.hooks.raised(value)
  return core.short(core.masked(inspect(value, 1, {})):gsub("\n%s*", " "), RAISED)
end

function display.markdown(text)
  core.expect_type("display.markdown", text, "string", "a text")
  core.display { ["text/plain"] = text, ["text/markdown"] = text }
end

-- display.table(rows, {columns = {…}, limit = 1000}): rows are lists, or tables by column name; the columns are
-- those of all rows, in the order in which they first appear. What is too long is cut, and says so.
local ROWS, PRINTED, CELL = 1000, 200, 120 -- rows that are kept, rows as text, characters of a cell

-- JSON on one line, with the keys in order, so that two equal runs print the same.
local function compact(value, depth)
  local meta = getmetatable(value)
  if value == core.null then return "null" end
  if type(value) == "string" then return core.json(value) end
  if type(value) == "function" or type(value) == "userdata" or type(value) == "thread" then return type(value) end
  if type(value) ~= "table" or type(meta) == "table" and meta.__tostring then return tostring(value) end
  if depth > DEPTH then return "…" end
  local parts = {}
  if #value > 0 or next(value) == nil then
    for i, item in ipairs(value) do parts[i] = compact(item, depth + 1) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for _, key in ipairs(sorted_keys(value)) do
    parts[#parts + 1] = core.json(tostring(key)) .. ":" .. compact(value[key], depth + 1)
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

local writers

local function cell_text(value, kind)
  if kind and value ~= nil and value ~= core.null and (kind == "text" or kind == "date" or kind == "duration" or type(value) == "number") then
    return core.short(writers[kind].write(value), CELL)
  end
  if value == nil or value == core.null then return "" end
  if math.type(value) == "float" then return ("%.6g"):format(value) end
  if type(value) == "string" then return core.short(core.masked(value):gsub("%s*[\r\n]+%s*", " "), CELL) end
  return core.short(compact(value, 1), CELL)
end

local function check_rows(rows)
  core.expect_type("display.table", rows, "table", "a list of rows")
  for i, row in ipairs(rows) do
    core.expect_type(("display.table: row %d"):format(i), row, "table", "a list, or a table by column name")
  end
end

local function table_columns(rows, columns)
  for _, name in ipairs(columns or {}) do core.check_kind("display.table", "the name of a column", name, "string") end
  if columns then return columns end
  local seen, list = {}, {}
  for _, row in ipairs(rows) do
    for _, key in ipairs(sorted_keys(row)) do
      if not seen[key] then
        seen[key] = true
        list[#list + 1] = tostring(key)
      end
    end
  end
  return #list > 0 and list or nil
end

-- Types of columns: how their values are written. All but texts and dates are aligned at the right.
local BYTES = { "B", "kB", "MB", "GB", "TB", "PB" }

local function bytes(value)
  local at = 1
  while math.abs(value) >= 999.5 and at < #BYTES do value, at = value / 1000, at + 1 end
  return (at == 1 and "%d %s" or math.abs(value) >= 99.95 and "%.0f %s" or "%.1f %s"):format(at == 1 and math.floor(value) or value, BYTES[at])
end

-- "99000" as "99,000".
local function grouped(n)
  local sign, digits = tostring(n):match "^(%-?)(%d+)"
  return sign .. (digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

writers = {
  text = { left = true, write = function(value) return tostring(value) end },
  number = { write = function(value) return math.type(value) == "float" and ("%.6g"):format(value) or tostring(value) end },
  count = { write = function(value) return grouped(math.floor(value + 0.5)) end },
  bytes = { write = bytes },
  percent = { write = function(value) return ("%.1f %%"):format(value * 100) end },
  duration = { write = function(value) return core.span(core.duration(value)) end },
  date = { left = true, write = function(value)
    return type(value) == "number" and os.date("!%Y-%m-%d %H:%M:%S", math.floor(value)) or tostring(value)
  end },
}

local function check_types(types, columns)
  local known = {}
  for _, name in ipairs(columns or {}) do known[name] = true end
  for name, kind in pairs(types or {}) do
    if type(name) == "string" and not known[name] then core.unknown("display.table", "column", name, known) end
    if not writers[kind] then core.unknown("display.table", "type", kind, writers) end
  end
end

-- Which columns hold numbers alone: those are aligned at the right.
local function number_columns(rows, columns, width)
  local numeric = {}
  for i = 1, width do
    local found = false
    numeric[i] = true
    for _, row in ipairs(rows) do
      local value = row[i]
      if value == nil and columns then value = row[columns[i]] end
      found = found or type(value) == "number"
      numeric[i] = numeric[i] and (type(value) == "number" or value == nil or value == core.null)
    end
    numeric[i] = numeric[i] and found
  end
  return numeric
end

local function length(text) return utf8.len(text) or #text end

local function aligned(columns, rows, numeric)
  local widths, lines = {}, {}
  local all = columns and { columns } or {}
  for i = 1, math.min(#rows, PRINTED) do all[#all + 1] = rows[i] end
  for _, row in ipairs(all) do
    for i, text in ipairs(row) do widths[i] = math.max(widths[i] or 0, length(text)) end
  end
  for _, row in ipairs(all) do
    local parts = {}
    for i, text in ipairs(row) do
      local pad = (" "):rep(widths[i] - length(text))
      parts[i] = numeric[i] and pad .. text or i == #row and text or text .. pad
    end
    lines[#lines + 1] = table.concat(parts, "  ")
  end
  return lines
end

local function row_texts(row, columns, types)
  local line = core.array {}
  for i = 1, columns and #columns or #row do
    local value = row[i]
    if value == nil and columns then value = row[columns[i]] end
    line[i] = cell_text(value, types[columns and columns[i] or i])
  end
  return line
end

-- Columns as a display has them: a name, or with how its entries stand.
local function shown_columns(columns, right)
  local shown = core.array {}
  for i, name in ipairs(columns) do shown[i] = right[i] and { name = name, align = "right" } or name end
  return shown
end

function display.table(rows, options)
  check_rows(rows)
  options = core.check("display.table", options)
  local columns = table_columns(rows, options.columns)
  local types = options.types or {}
  check_types(types, columns)
  local limit = options.limit or ROWS
  local texts, width = core.array {}, columns and #columns or 0
  for i = 1, math.min(#rows, limit) do
    texts[i] = row_texts(rows[i], columns, types)
    width = math.max(width, #texts[i])
  end
  local right = number_columns(rows, columns, width)
  for i = 1, width do
    local kind = types[columns and columns[i] or i]
    if kind then right[i] = not writers[kind].left end
  end
  local lines = aligned(columns, texts, right)
  local hidden = #rows - math.min(#texts, PRINTED)
  if hidden > 0 then lines[#lines + 1] = ("… and %s more row%s"):format(grouped(hidden), hidden == 1 and "" or "s") end
  core.display {
    ["text/plain"] = table.concat(lines, "\n"),
    [KIND:format "table"] = {
      columns = columns and shown_columns(columns, right), rows = texts, more = #rows > #texts and #rows - #texts or nil,
    },
  }
end

-- display.progress(total, label) → an object with :update(done, metrics) and :close().
local progress = {}
progress.__index = progress
progress.__display = function() return nil end

local function metrics_text(metrics)
  local parts = {}
  for _, name in ipairs(sorted_keys(metrics or {})) do
    parts[#parts + 1] = ("%s: %s"):format(name, cell_text(metrics[name]))
  end
  return table.concat(parts, " - ")
end

local function progress_bundle(p)
  local text = ("%s%d/%d"):format(p.label and p.label .. " " or "", p.done, p.total)
  local metrics = metrics_text(p.metrics)
  return {
    ["text/plain"] = metrics ~= "" and text .. " - " .. metrics or text,
    [KIND:format "progress"] = {
      label = p.label, done = p.done, total = p.total, metrics = p.metrics, elapsed = core.now() - p.started,
    },
  }
end

function display.progress(total, label)
  core.check_kind("display.progress", "total", total, "integer")
  core.check_kind("display.progress", "the label", label or "", "string")
  local p = setmetatable({ total = total, label = label, done = 0, started = core.now() }, progress)
  p.id = core.display(progress_bundle(p), true)
  return p
end

function progress:update(done, metrics)
  core.check_kind("progress:update", "done", done, "integer")
  core.check_kind("progress:update", "metrics", metrics or {}, "table")
  self.done, self.metrics = done, metrics or self.metrics
  core.update(self.id, progress_bundle(self), false, self.done >= self.total)
end

function progress:close()
  core.update(self.id, progress_bundle(self), true)
end
progress.__close = progress.close

core.types.progress = progress
core.module("display", display)

core.api [[
display: module -- What a cell shows below itself; display(value) shows a value as if it were the cell's last line.
display.inspect(value) -> string
  A value as Lua writes it, with sorted keys and with limits.
  example:
    print(display.inspect { 1, a = "b" }) --> {1, a = "b"}
display.markdown(text)
  Shows Markdown.
  example:
    display.markdown "**done** in 3 s"
display.table(rows, {columns: list=, types: table=, limit: integer=1000})
  Shows rows, which are lists, or tables by column name. Columns of numbers alone stand at the right.
  columns: their names, in this order; those of all rows unless it is said
  types: how values are written, { size = "bytes", took = "duration", at = "date" }: text, number, count (12,345), bytes, percent (of 0.5: 50.0 %), duration (of seconds: 1m30s), date (of seconds since 1970)
  limit: how many rows are kept
  errors: a row that is no table, a type that there is not
  example:
    display.table({ { name = "a", size = 1234567, took = 90 }, { name = "b", size = 12, took = 0.25 } },
      { columns = { "name", "size", "took" }, types = { size = "bytes", took = "duration" } })
display.progress(total, label) -> progress
  Shows how far something is.
  example:
    local bar <close> = display.progress(3, "files")
    for i = 1, 3 do bar:update(i) end
progress: type -- A bar below a cell. `local bar <close> =` ends it with its block; one that is full ends with its cell.
progress:update(done, metrics)
  So many steps are done; metrics stand beside it.
  example:
    bar = display.progress(2)
    bar:update(1, { loss = 0.5 })
    bar:close()
progress:close()
  It stays as it is.
  example:
    display.progress(1):close()
]]
