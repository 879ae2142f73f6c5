-- SPDX-License-Identifier: MIT
-- display.plot: lines, points, bars and histograms. As text lines are sparklines, and bars are bars.
local core = ...
local KIND = "application/vnd.firesteel.plot+json"
local BLOCKS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }
local BAR, EIGHTHS = 40, { "▏", "▎", "▍", "▌", "▋", "▊", "▉" } -- a bar's longest, in columns
local INTERVALS = 40 -- values whose intervals are drawn as text
local words = { title = 1, x = 1, kind = 1, x_label = 1, y_label = 1, bins = 1 }
local kinds = { line = 1, scatter = 1, bars = 1, histogram = 1 }

-- A loss of infinity or NaN leaves a gap: JSON has neither.
local function finite(v) return v == v and math.abs(v) < math.huge end

-- A character for each value, on a scale from low to high.
function core.sparkline(values, low, high)
  local marks = {}
  for i, v in ipairs(values) do
    local level = high > low and finite(v) and (v - low) / (high - low) or 0.5
    marks[i] = finite(v) and BLOCKS[1 + math.floor(level * (#BLOCKS - 1) + 0.5)] or " "
  end
  return table.concat(marks)
end

-- "  ├──●─┤": an interval with its value, on a scale from `from` to `to` of so many columns.
function core.interval(low, value, high, from, to, columns)
  if to <= from then return "" end
  local function at(v) return 1 + math.floor((v - from) / (to - from) * (columns - 1) + 0.5) end
  local marks = {}
  for i = 1, at(high) do marks[i] = i < at(low) and " " or "─" end
  marks[at(low)], marks[at(high)] = "├", "┤"
  marks[at(value)] = "●"
  return table.concat(marks)
end

local function sparkline(values)
  local low, high = math.huge, -math.huge
  for _, v in ipairs(values) do
    if finite(v) then low, high = math.min(low, v), math.max(high, v) end
  end
  return ("%s  %.4g … %.4g"):format(core.sparkline(values, low, high), low, high)
end

local function check_series(name, values)
  if type(values) ~= "table" or #values == 0 then
    core.fail("error", ("display.plot: the series %s has no numbers"):format(name))
  end
  for i, v in ipairs(values) do
    if type(v) ~= "number" then
      core.fail("error", ("display.plot: %s[%d] is a %s; a series is a list of numbers"):format(name, i, type(v)))
    end
  end
end

-- error = {…} is a series as any other when it is a list of numbers.
local function has_intervals(data)
  return type(data.error) == "table" and type(data.error[1]) ~= "number" and next(data.error) ~= nil
end

-- {{name, y}} in order: those of the list, then those with names.
local function series_of(data)
  local series, names = {}, {}
  for i, values in ipairs(data) do series[i] = { name = ("series %d"):format(i), y = values } end
  for name in pairs(data) do
    if type(name) == "string" and not words[name] and not (name == "error" and has_intervals(data)) then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do series[#series + 1] = { name = name, y = data[name] } end
  for _, s in ipairs(series) do check_series(s.name, s.y) end
  return series
end

-- The ends of the intervals of a series: of each value a distance to both sides, { low, high }, or false.
local function add_intervals(s, list)
  local what = ("display.plot: error.%s"):format(s.name)
  core.expect_type(what, list, "table", "of each value a distance, or { low, high }")
  if #list ~= #s.y then core.fail("error", ("%s has %d entries, and the series %d values"):format(what, #list, #s.y)) end
  s.low, s.high = {}, {}
  for i, one in ipairs(list) do
    local value, low, high = s.y[i], one, one
    if type(one) == "number" then
      low, high = value - one, value + one
    elseif type(one) == "table" then
      low, high = one[1], one[2]
    end
    if one and (type(low) ~= "number" or type(high) ~= "number" or low > high) then
      core.fail("error", ("%s[%d] must be a distance, { low, high } with low <= high, or false, not %s"):format(what, i, display.inspect(one)))
    end
    s.low[i], s.high[i] = low or 0 / 0, high or 0 / 0
  end
end

-- error = { name of a series = {…} }; of a single series also its list alone.
local function read_intervals(data, series, kind)
  if not has_intervals(data) then return end
  if kind == "histogram" then core.fail("error", "display.plot: a histogram has no intervals (error)") end
  local named = #data.error > 0 and #series == 1 and { [series[1].name] = data.error } or data.error
  local known = {}
  for _, s in ipairs(series) do
    known[s.name] = true
    if named[s.name] ~= nil then add_intervals(s, named[s.name]) end
  end
  for name in pairs(named) do
    if not known[name] then core.unknown("display.plot: error", "series", tostring(name), known) end
  end
end

-- Samples become how many lie in each of `bins` parts of their range, which is the same for all series.
local function binned(series, bins)
  local low, high = math.huge, -math.huge
  for _, s in ipairs(series) do
    for _, v in ipairs(s.y) do
      if finite(v) then low, high = math.min(low, v), math.max(high, v) end
    end
  end
  if low > high then core.fail("error", "display.plot: a histogram of no finite number") end
  local width = high > low and (high - low) / bins or 1
  local labels = {}
  for i = 1, bins do labels[i] = ("%.4g"):format(low + (i - 1) * width) end
  for _, s in ipairs(series) do
    local counts = {}
    for i = 1, bins do counts[i] = 0 end
    for _, v in ipairs(s.y) do
      local at = finite(v) and math.min(bins, 1 + math.floor((v - low) / width))
      if at then counts[at] = counts[at] + 1 end
    end
    s.y = counts
  end
  return labels
end

local function bar(value, most)
  local eighths = most > 0 and finite(value) and math.max(0, math.floor(value / most * BAR * 8 + 0.5)) or 0
  return ("█"):rep(eighths // 8) .. (EIGHTHS[eighths % 8] or "")
end

local function ends(s, i)
  return finite(s.low[i]) and finite(s.high[i]) and (" [%.6g, %.6g]"):format(s.low[i], s.high[i]) or ""
end

-- A row for each value that has an interval, all on one scale: "1  ├──●─┤      1.5 [1.2, 1.8]".
local function interval_lines(s, x, lines)
  local low, high = math.huge, -math.huge
  for i = 1, #s.y do
    if ends(s, i) ~= "" then low, high = math.min(low, s.low[i], s.y[i]), math.max(high, s.high[i], s.y[i]) end
  end
  for i = 1, math.min(#s.y, INTERVALS) do
    if ends(s, i) ~= "" and finite(s.y[i]) then
      local picture = core.interval(s.low[i], s.y[i], s.high[i], low, high, BAR)
      lines[#lines + 1] = ("  %s  %s%s  %.6g%s"):format(tostring(x and x[i] or i), picture, (" "):rep(BAR - (utf8.len(picture) or 0)), s.y[i], ends(s, i))
    end
  end
  if #s.y > INTERVALS then lines[#lines + 1] = ("  … and %d more"):format(#s.y - INTERVALS) end
end

-- A row for each bar: "a  ████▌ 4.5"; of several series a block for each.
local function bar_lines(series, labels, lines)
  local most, width = 0, 0
  for _, s in ipairs(series) do
    for i, v in ipairs(s.y) do
      if finite(v) then most = math.max(most, v) end
      width = math.max(width, utf8.len(tostring(labels and labels[i] or i)) or 0)
    end
  end
  for _, s in ipairs(series) do
    if #series > 1 then lines[#lines + 1] = s.name end
    for i, v in ipairs(s.y) do
      local label = tostring(labels and labels[i] or i)
      lines[#lines + 1] = ("%s%s  %s %.6g%s"):format((" "):rep(width - (utf8.len(label) or 0)), label, bar(v, most), v, s.low and ends(s, i) or "")
    end
  end
end

local function plain_lines(data, kind, series, labels)
  local lines = { data.title }
  if kind == "bars" or kind == "histogram" then
    bar_lines(series, labels, lines)
  else
    for _, s in ipairs(series) do
      lines[#lines + 1] = s.name .. "  " .. sparkline(s.y)
      if s.low then interval_lines(s, labels, lines) end
    end
  end
  return lines
end

-- Where values stand: numbers, or the words of bars.
local function places(data, kind)
  if data.x == nil then return nil end
  core.expect_type("display.plot: x", data.x, "table", "a list")
  local x = core.array {}
  for i, v in ipairs(data.x) do
    if type(v) ~= "number" and not (kind == "bars" and type(v) == "string") then
      core.fail("error", ("display.plot: x[%d] is a %s; %s"):format(i, type(v), kind == "bars" and "numbers or words" or "places are numbers"))
    end
    x[i] = type(v) == "number" and not finite(v) and core.null or v
  end
  return x
end

local function without_gaps(values)
  local y = core.array {}
  for i, v in ipairs(values) do y[i] = finite(v) and v or core.null end
  return y
end

function display.plot(data)
  local meta = getmetatable(data)
  if type(meta) == "table" and meta.__plot then data = meta.__plot(data) end
  core.expect_type("display.plot", data, "table", "series of numbers: display.plot { loss = {3, 2, 1} }")
  local kind = data.kind or "line"
  if not kinds[kind] then core.unknown("display.plot", "kind", kind, kinds) end
  for _, name in ipairs { "title", "x_label", "y_label" } do
    if data[name] ~= nil then core.check_kind("display.plot", name, data[name], "string") end
  end
  local series, x = series_of(data), places(data, kind)
  if #series == 0 then core.fail("error", "display.plot: there is no series: display.plot { loss = {3, 2, 1} }") end
  read_intervals(data, series, kind)
  if kind == "histogram" then
    core.check_kind("display.plot", "bins", data.bins or 10, "integer")
    if (data.bins or 10) < 1 or (data.bins or 10) > 1000 then core.fail("error", "display.plot: bins is an integer from 1 to 1000") end
    x = core.array(binned(series, data.bins or 10))
  end
  local shown = core.array {}
  for i, s in ipairs(series) do 
    shown[i] = { name = s.name, y = without_gaps(s.y), low = s.low and without_gaps(s.low), high = s.high and without_gaps(s.high) }
  end
  core.display {
    ["text/plain"] = table.concat(plain_lines(data, kind, series, x), "\n"),
    [KIND] = { title = data.title, x = x, series = shown, kind = kind ~= "line" and kind or nil, x_label = data.x_label, y_label = data.y_label },
  }
end

core.api [[
display.plot{series, name={…}, x: list=, kind: string="line", title: string=, x_label: string=, y_label: string=, bins: integer=10, error: table=}
  Shows series of numbers: { loss = {3, 2, 1} }. What is not finite leaves a gap. Of a training job it draws the history.
  name: a series: a list of numbers
  x: where the values stand, 1, 2, … unless it is said; of bars also words
  kind: "line", "scatter", "bars", or "histogram", whose series are samples
  title: what stands above
  x_label: what x is, with its unit: "time (s)"
  y_label: what y is, with its unit
  bins: into how many parts a histogram divides the range
  error: error bars by the name of a series: for each value a distance to both sides, { low, high }, or false; of a single
    series the list of these pairs alone. A list of numbers of this name is a series as any other
  errors: a series without numbers, a kind that there is not, a job without a history
  example:
    display.plot { loss = { 0.9, 0.5, 0.3 }, x = { 1, 2, 3 }, title = "training", x_label = "epoch" }
    display.plot { accuracy = { 0.91, 0.95 }, x = { "narrow", "wide" }, kind = "bars" }
    display.plot { { 1, 2, 2, 3, 3, 3 }, kind = "histogram", bins = 3 }
    display.plot { speed = { 10, 14 }, error = { speed = { { 9, 12 }, 0.5 } } }
]]
