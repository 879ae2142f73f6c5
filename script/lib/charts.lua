-- SPDX-License-Identifier: MIT
-- display.plot: lines, points, bars and histograms. As text lines are sparklines, and bars are bars.
local core = ...
local KIND = "application/vnd.firesteel.plot+json"
local BLOCKS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }
local BAR, EIGHTHS = 40, { "▏", "▎", "▍", "▌", "▋", "▊", "▉" } -- a bar's longest, in columns
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

-- {{name, y}} in order: those of the list, then those with names.
local function series_of(data)
  local series, names = {}, {}
  for i, values in ipairs(data) do series[i] = { name = ("series %d"):format(i), y = values } end
  for name in pairs(data) do
    if type(name) == "string" and not words[name] then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do series[#series + 1] = { name = name, y = data[name] } end
  for _, s in ipairs(series) do check_series(s.name, s.y) end
  return series
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
      lines[#lines + 1] = ("%s%s  %s %.6g"):format((" "):rep(width - (utf8.len(label) or 0)), label, bar(v, most), v)
    end
  end
end

local function plain_lines(data, kind, series, labels)
  local lines = { data.title }
  if kind == "bars" or kind == "histogram" then
    bar_lines(series, labels, lines)
  else
    for _, s in ipairs(series) do lines[#lines + 1] = s.name .. "  " .. sparkline(s.y) end
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
  core.expect_type("display.plot", data, "table", "series of numbers: display.plot { loss = {3, 2, 1} }")
  local kind = data.kind or "line"
  if not kinds[kind] then core.unknown("display.plot", "kind", kind, kinds) end
  for _, name in ipairs { "title", "x_label", "y_label" } do
    if data[name] ~= nil then core.check_kind("display.plot", name, data[name], "string") end
  end
  local series, x = series_of(data), places(data, kind)
  if #series == 0 then core.fail("error", "display.plot: there is no series: display.plot { loss = {3, 2, 1} }") end
  if kind == "histogram" then
    core.check_kind("display.plot", "bins", data.bins or 10, "integer")
    if (data.bins or 10) < 1 or (data.bins or 10) > 1000 then core.fail("error", "display.plot: bins is an integer from 1 to 1000") end
    x = core.array(binned(series, data.bins or 10))
  end
  local shown = core.array {}
  for i, s in ipairs(series) do shown[i] = { name = s.name, y = without_gaps(s.y) } end
  core.display {
    ["text/plain"] = table.concat(plain_lines(data, kind, series, x), "\n"),
    [KIND] = { title = data.title, x = x, series = shown, kind = kind ~= "line" and kind or nil, x_label = data.x_label, y_label = data.y_label },
  }
end

core.api [[
display.plot{series, name={…}, x: list=, kind: string="line", title: string=, x_label: string=, y_label: string=, bins: integer=10}
  Shows series of numbers: { loss = {3, 2, 1} }. What is not finite leaves a gap.
  name: a series: a list of numbers
  x: where the values stand, 1, 2, … unless it is said; of bars also words
  kind: "line", "scatter", "bars", or "histogram", whose series are samples
  title: what stands above
  x_label: what x is, with its unit: "time (s)"
  y_label: what y is, with its unit
  bins: into how many parts a histogram divides the range
  errors: a series without numbers, a kind that there is not
  example:
    display.plot { loss = { 0.9, 0.5, 0.3 }, x = { 1, 2, 3 }, title = "training", x_label = "epoch" }
    display.plot { accuracy = { 0.91, 0.95 }, x = { "narrow", "wide" }, kind = "bars" }
    display.plot { { 1, 2, 2, 3, 3, 3 }, kind = "histogram", bins = 3 }
]]
