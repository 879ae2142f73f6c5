-- SPDX-License-Identifier: MIT
-- display: what a cell shows below itself. Every display is a MIME bundle; its text/plain is for
-- plain output.
local core = ...
local KIND = "application/vnd.firesteel.%s+json"
local DEPTH, ITEMS = 6, 200 -- limits of a table that is shown

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
  return { ["text/plain"] = inspect(value, 1, {}) }
end

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

local function cut(text)
  local at = utf8.len(text) and utf8.len(text) > CELL and utf8.offset(text, CELL)
  return at and text:sub(1, at - 1) .. "…" or text
end

local function cell_text(value)
  if value == nil or value == core.null then return "" end
  if math.type(value) == "float" then return ("%.6g"):format(value) end
  if type(value) == "string" then return cut((value:gsub("%s*[\r\n]+%s*", " "))) end
  return cut(compact(value, 1))
end

local function check_rows(rows)
  core.expect_type("display.table", rows, "table", "a list of rows")
  for i, row in ipairs(rows) do
    core.expect_type(("display.table: row %d"):format(i), row, "table", "a list, or a table by column name")
  end
end

local function table_columns(rows, columns)
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

local function row_texts(row, columns)
  local line = core.array {}
  for i = 1, columns and #columns or #row do
    local value = row[i]
    if value == nil and columns then value = row[columns[i]] end
    line[i] = cell_text(value)
  end
  return line
end

-- "99000" as "99,000".
local function grouped(n)
  return (tostring(n):reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

function display.table(rows, options)
  check_rows(rows)
  options = core.check("display.table", options)
  local columns = table_columns(rows, options.columns)
  local limit = options.limit or ROWS
  local texts, width = core.array {}, columns and #columns or 0
  for i = 1, math.min(#rows, limit) do
    texts[i] = row_texts(rows[i], columns)
    width = math.max(width, #texts[i])
  end
  local lines = aligned(columns, texts, number_columns(rows, columns, width))
  local hidden = #rows - math.min(#texts, PRINTED)
  if hidden > 0 then lines[#lines + 1] = ("… and %s more row%s"):format(grouped(hidden), hidden == 1 and "" or "s") end
  core.display {
    ["text/plain"] = table.concat(lines, "\n"),
    [KIND:format "table"] = {
      columns = columns and core.array { table.unpack(columns) }, rows = texts, more = #rows > #texts and #rows - #texts or nil,
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
  core.expect_type("display.progress", total, "number", "the number of steps")
  local p = setmetatable({ total = total, label = label, done = 0, started = core.now() }, progress)
  p.id = core.display(progress_bundle(p), true)
  return p
end

function progress:update(done, metrics)
  core.expect_type("progress:update", done, "number", "the number of steps done")
  self.done, self.metrics = done, metrics or self.metrics
  core.update(self.id, progress_bundle(self))
end

function progress:close()
  core.update(self.id, progress_bundle(self), true)
end
progress.__close = progress.close

-- display.plot{ {1, 2, 3}, name = {…}, x = {…}, title = "…" }: lines over x, else over their index.
local BLOCKS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

-- A loss of infinity or NaN leaves a gap: JSON has neither.
local function finite(v) return v == v and math.abs(v) < math.huge end

local function sparkline(values)
  local low, high = math.huge, -math.huge
  for _, v in ipairs(values) do
    if finite(v) then low, high = math.min(low, v), math.max(high, v) end
  end
  local marks = {}
  for i, v in ipairs(values) do
    local level = high > low and finite(v) and (v - low) / (high - low) or 0.5
    marks[i] = finite(v) and BLOCKS[1 + math.floor(level * (#BLOCKS - 1) + 0.5)] or " "
  end
  return ("%s  %.4g … %.4g"):format(table.concat(marks), low, high)
end

function display.plot(data)
  local series, lines = core.array {}, {}
  core.expect_type("display.plot", data, "table", "series of numbers: display.plot { loss = {3, 2, 1} }")
  if data.title then lines[1] = data.title end
  local function add(name, values)
    if type(values) ~= "table" or #values == 0 then
      core.fail("error", ("display.plot: the series %s has no numbers"):format(name))
    end
    local y = core.array {}
    for i, v in ipairs(values) do
      if type(v) ~= "number" then
        core.fail("error", ("display.plot: %s[%d] is a %s; a series is a list of numbers"):format(name, i, type(v)))
      end
    end
    for i, v in ipairs(values) do y[i] = finite(v) and v or core.null end
    series[#series + 1] = { name = name, y = y }
    lines[#lines + 1] = name .. "  " .. sparkline(values)
  end
  for i, values in ipairs(data) do add(("series %d"):format(i), values) end
  for _, name in ipairs(sorted_keys(data)) do
    if name ~= "title" and name ~= "x" then add(name, data[name]) end
  end
  local x = data.x and core.array {}
  for i, v in ipairs(data.x or {}) do x[i] = finite(v) and v or core.null end
  core.display {
    ["text/plain"] = table.concat(lines, "\n"),
    [KIND:format "plot"] = { title = data.title, x = x, series = series },
  }
end

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
display.table(rows, {columns: list=, limit: integer=1000})
  Shows rows, which are lists, or tables by column name.
  columns: their names, in this order; those of all rows unless it is said
  limit: how many rows are kept
  errors: a row that is no table
  example:
    display.table({ { name = "a", loss = 0.25 }, { name = "b", loss = 0.5 } }, { columns = { "name", "loss" } })
display.progress(total, label) -> progress
  Shows how far something is.
  example:
    local bar <close> = display.progress(3, "files")
    for i = 1, 3 do bar:update(i) end
progress: type -- A bar below a cell. `local bar <close> =` ends it with its block.
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
display.plot{series, name={…}, x: list=, title: string=}
  Shows lines over x, else over their index: { loss = {3, 2, 1} }. What is not finite leaves a gap.
  x: where the values stand
  title: what stands above
  name: a series: a list of numbers
  errors: a series without numbers
  example:
    display.plot { loss = { 0.9, 0.5, 0.3 }, x = { 1, 2, 3 }, title = "training" }
]]
