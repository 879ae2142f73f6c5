-- SPDX-License-Identifier: MIT
-- json, yaml, csv, time, template: texts that other programs read and write.
local core = ...

json, yaml, csv, time = {}, {}, {}, {}

json.null, json.array = core.null, core.array

function json.encode(value, options)
  options = core.check("json.encode", options)
  return core.json(value, options.indent or options.pretty and 2 or 0)
end

local function big_is_text(name, options)
  local big = options.big
  if big ~= nil and big ~= "string" then core.fail("error", name .. ': big is "string", or not said') end
  return big == "string"
end

function json.decode(text, options)
  core.expect_type("json.decode", text, "string", "a text")
  options = core.check("json.decode", options)
  return core.parse(text, big_is_text("json.decode", options), options.nulls)
end

function yaml.decode_all(text, options)
  core.expect_type("yaml.decode_all", text, "string", "a text")
  options = core.check("yaml.decode_all", options)
  return core.parse_yaml(text, big_is_text("yaml.decode_all", options), options.nulls)
end

function yaml.decode(text, options)
  core.expect_type("yaml.decode", text, "string", "a text")
  options = core.check("yaml.decode", options)
  local all = core.parse_yaml(text, big_is_text("yaml.decode", options), options.nulls)
  if #all > 1 then core.fail("error", ("yaml.decode: the text has %d documents; yaml.decode_all gives them"):format(#all)) end
  return all[1]
end

function yaml.encode(value) return core.yaml(value) end

-- A float as the shortest text that reads back as the same number; tostring gives 14 digits.
local function float_text(value)
  for digits = 14, 17 do
    local text = ("%." .. digits .. "g"):format(value)
    if tonumber(text) == value then return text:find "^-?%d+$" and text .. ".0" or text end
  end
  return tostring(value) -- inf, nan
end

local function separator_of(what, options)
  local separator = options.separator or ","
  if #separator ~= 1 or separator:find '["\r\n]' then
    core.fail("error", what .. ": the separator is one character, as \",\", \";\" or \"\\t\"")
  end
  return separator
end

-- "0.25", "-3", "1e-4", but neither "007" nor "0x10", which would be another text as a number.
local function number_of(text)
  local whole = text:match "^%-?(%d+)%.?%d*[eE]?[+-]?%d*$"
  return whole and (whole == "0" or whole:sub(1, 1) ~= "0") and #whole <= 15 and tonumber(text) or nil
end

local function field_of(text, options)
  return options.numbers ~= false and number_of(text) or text
end

-- The names of the columns are beside the rows, so that these are a list for whoever goes through them or writes them.
local function named_rows(rows, columns, first)
  local named = setmetatable({}, { __name = "rows", __index = { columns = columns } })
  for i = first, #rows do
    local row = {}
    if #rows[i] > #columns then
      core.fail("error", ("csv.decode: row %d has %d fields, and the header %d"):format(i, #rows[i], #columns))
    end
    for at, name in ipairs(columns) do row[name] = rows[i][at] end
    named[#named + 1] = row
  end
  return named
end

function csv.decode(text, options)
  core.expect_type("csv.decode", text, "string", "a text")
  options = core.check("csv.decode", options)
  local rows = core.parse_csv(text, separator_of("csv.decode", options))
  local header = options.header ~= false
  for i = header and 2 or 1, #rows do
    for at, field in ipairs(rows[i]) do rows[i][at] = field_of(field, options) end
  end
  if not header then return rows end
  local columns = {}
  for at, name in ipairs(rows[1] or {}) do columns[at] = name end
  return named_rows(rows, columns, 2)
end

local function columns_of(rows, options)
  if options.columns then return options.columns end
  if type(rows.columns) == "table" then return rows.columns end
  local seen, columns = {}, {}
  for _, row in ipairs(rows) do
    local names = {}
    for name in pairs(row) do
      if type(name) == "string" and not seen[name] then names[#names + 1], seen[name] = name, true end
    end
    table.sort(names)
    table.move(names, 1, #names, #columns + 1, columns)
  end
  return #columns > 0 and columns or nil
end

function csv.encode(rows, options)
  core.expect_type("csv.encode", rows, "table", "a list of rows")
  for i, row in ipairs(rows) do
    core.expect_type(("csv.encode: row %d"):format(i), row, "table", "a list, or a table by column name")
  end
  options = core.check("csv.encode", options)
  local separator, columns, lines = separator_of("csv.encode", options), columns_of(rows, options), {}
  local function add(row, width)
    local fields = {}
    for at = 1, width do
      local value = row[at]
      if value == nil and columns then value = row[columns[at]] end
      if value == nil or value == core.null then value = "" end
      if type(value) == "table" and not (getmetatable(value) or {}).__tostring then value = core.json(value) end
      fields[at] = value == "" and width > 1 and "" or core.csv_field(math.type(value) == "float" and float_text(value) or tostring(value), separator)
    end
    lines[#lines + 1] = table.concat(fields, separator) .. "\n"
  end
  if columns and options.header ~= false then add(columns, #columns) end
  for _, row in ipairs(rows) do add(row, columns and #columns or #row) end
  return table.concat(lines)
end

function time.now() return core.wall() end
function time.monotonic() return core.now() end
local function check_seconds(what, seconds, from, to, years)
  core.expect_type(what, seconds, "number", "seconds since 1970")
  if not (seconds >= from and seconds <= to) then
    local said = seconds ~= seconds and "nan" or ("%.14g"):format(seconds)
    core.fail("error", ("%s: %s is no time from %s, in seconds since 1970"):format(what, said, years))
  end
end

function time.iso(seconds)
  seconds = seconds == nil and core.wall() or seconds
  check_seconds("time.iso", seconds, -9223372036, 9223372036, "1677 to 2262") -- 64 bits of nanoseconds
  return core.iso(seconds)
end

function time.parse(text)
  core.expect_type("time.parse", text, "string", 'a time such as "2026-01-02T03:04:05Z"')
  if text:find "^%d%d%d%d%-%d%d%-%d%d$" then text = text .. "T00:00:00Z" end
  return core.parse_time((text:gsub("^(%d+%-%d+%-%d+) ", "%1T")))
end

-- A time as UTC's clocks show it when those of the zone show the right one; %z and %Z are the zone's.
local function in_zone(name, format, seconds)
  local offset = core.zone(name)
  local ahead, called
  if offset then ahead, called = offset(seconds) end
  if not ahead then core.fail("error", ("time.format: this machine knows no time zone %s; zones have names such as Europe/Berlin"):format(name)) end
  local minutes = math.abs(ahead) // 60
  local own = { ["%z"] = ("%s%02d%02d"):format(ahead < 0 and "-" or "+", minutes // 60, minutes % 60), ["%Z"] = called:gsub("%%", "%%%%") }
  format = format:gsub("%%.", own)
  return format, seconds + ahead
end

function time.format(seconds, format, options)
  check_seconds("time.format", seconds, -62135596800, 253402300799, "the year 1 to 9999")
  core.check_kind("time.format", "the format", format or "", "string")
  options = core.check("time.format", options)
  format, seconds = format or "%Y-%m-%d %H:%M:%S", math.floor(seconds)
  if options.zone then format, seconds = in_zone(options.zone, format, seconds) end
  local told, text = pcall(os.date, (options.local_zone and "" or "!") .. format, seconds)
  if not told then core.fail("error", "time.format: " .. (text:match "%((.+)%)$" or text)) end
  return text
end

function time.span(seconds)
  core.expect_type("time.span", seconds, "number", "a number of seconds")
  if seconds ~= seconds then core.fail("error", "time.span expects a number of seconds, not nan") end
  return core.span(seconds)
end

local function text_of(source)
  if source:find "\n" or source:find("${", 1, true) then return source, "template" end
  if source == "" then core.fail("error", "template: the name of the file is empty") end
  local file, why = io.open(source, "r")
  if not file then core.fail("error", ("template: %s"):format(why)) end
  local text, wrong = file:read "a"
  file:close()
  if not text then core.fail("error", ("template: %s: %s"):format(source, wrong)) end
  return text, source
end

function template(source, values)
  core.expect_type("template", source, "string", "a text with ${…}, or the name of a file")
  if values ~= nil then core.expect_type("template", values, "table", "its values in a table") end
  local text, name = text_of(source)
  return core.fill(text, setmetatable({}, { __index = function(_, key)
    local value = (values or {})[key]
    if value == nil then return _G[key] end
    return value
  end }), name)
end

for name, module in pairs { json = json, yaml = yaml, csv = csv, time = time } do core.module(name, module) end

core.api [[
json: module -- JSON, with sorted keys, so that equal values give equal files.
json.encode(value, {pretty=false, indent: integer=2}) -> string
  A value as JSON. json.null is null, json.array {} an empty list.
  pretty: on several lines
  indent: by so many spaces, also without pretty
  errors: what JSON cannot say, with its place: functions, numbers that are not finite, bytes that are no text, tables in themselves; lists with holes, {1, nil, 3}, in which json.null stands for nothing
  example:
    print(json.encode({ 1, 2 }, { pretty = true }))
    print(json.encode { name = "a", list = json.array {}, none = json.null }) --> {"list":[],"name":"a","none":null}
json.decode(text, {nulls=false, big: string=}) -> any
  The value of JSON. Integers of 64 bits keep their digits.
  nulls: whether members of objects that are null stay, as json.null; else they are absent. In lists null is always json.null.
  big: "string": integers beyond 64 bits become texts with their digits
  errors: what is no JSON, with line and column; an integer beyond 64 bits
  example:
    reply = json.decode '{"items": [{"id": 9007199254740993}, null], "next": null}'
    print(reply.items[1].id, reply.items[2] == json.null, reply.next) --> 9007199254740993	true	nil
json.array(table) -> table
  Marks a table as an array, so that an empty one is [] and not {}. One that also has other keys than 1, 2, … is an error when it is encoded.
  example:
    print(json.encode(json.array {})) --> []
json.null: null -- JSON's null.
yaml: module -- YAML, read as kubectl reads it: `y`, `yes`, `on` and `n`, `no`, `off` without quotes are booleans; anchors and merge keys are bounded; nothing is executed. A key that is there twice is an error, which kubectl does not see.
yaml.decode(text, {nulls=false, big: string=}) -> any
  The value of a text with one document; nil when it has none.
  nulls: as in json.decode
  big: as in json.decode
  errors: what is no YAML, with line and column; several documents; an integer beyond 64 bits
  example:
    print(yaml.decode("replicas: 3\nlabels: {app: web}").labels.app) --> web
yaml.decode_all(text, {nulls=false, big: string=}) -> list
  The values of all documents.
  nulls: as in json.decode
  big: as in json.decode
  example:
    print(#yaml.decode_all "a: 1\n---\nb: 2\n") --> 2
yaml.encode(value) -> string
  A value as `kubectl -o yaml` writes it.
  example:
    print(yaml.encode { name = "a", ports = { 80 } })
csv: module -- Comma-separated values (RFC 4180; lines may end with LF or CR, too).
csv.decode(text, {header=true, separator: string=",", numbers=true}) -> list
  The rows of a text.
  header: whether the first row names the columns: then rows are tables by name, and `.columns` of the result has the names in order (json.encode and pairs see the rows alone); else rows are lists
  separator: one character
  numbers: whether fields such as "0.25" become numbers; "007" and "0x10" stay texts
  errors: a quote that is not closed, with its line; a row that is longer than the header
  example:
    rows = csv.decode 'name,loss\na,0.25\n"b, c",0.5\n'
    print(rows[2].name, rows[1].loss + 1) --> b, c	1.25
csv.encode(rows, {columns: list=, header=true, separator: string=","}) -> string
  Rows as a text: lists, or tables by column name. A float has the digits with which it reads back as the same number.
  columns: their names, in this order; those of all rows unless it is said
  header: whether the first row names the columns
  separator: one character
  example:
    print(csv.encode({ { name = "a, b", loss = 0.5 } }, { columns = { "name", "loss" } }))
time: module -- Times are seconds since 1970, in UTC.
time.now() -> number
  The time.
  example:
    expect(time.now()):at_least(1.7e9)
time.monotonic() -> number
  Seconds that only go on, to measure how long something takes.
  example:
    started = time.monotonic()
    expect(time.monotonic() - started):at_most(10)
time.iso(seconds) -> string
  A time as RFC 3339 in UTC; without seconds, now.
  errors: what is no time from 1677 to 2262
  example:
    print(time.iso(0), time.iso(1.5)) --> 1970-01-01T00:00:00Z	1970-01-01T00:00:01.500000Z
time.parse(text) -> number
  The time of RFC 3339, with any offset, or of a date.
  errors: a text that is none
  example:
    print(time.parse "2026-01-02T03:04:05+01:00" - time.parse "2026-01-02") --> 7445.0
time.format(seconds, format, {local_zone=false, zone: string=}) -> string
  A time as `date` formats it; "%Y-%m-%d %H:%M:%S" unless it is said.
  local_zone: in the machine's zone, and not in UTC
  zone: in this one, by its name in the tz database: "Europe/Berlin"; %Z is what it is called at that time: CEST
  errors: what is no time from the year 1 to 9999; a format that does not exist; a zone that this machine does not know
  example:
    print(time.format(86400, "%d.%m.%Y")) --> 02.01.1970
    print(time.format(time.parse "2026-07-01T12:00:00Z", "%H:%M %z", { zone = "Asia/Kolkata" })) --> 17:30 +0530
time.span(seconds) -> string
  How long that is, for people.
  example:
    print(time.span(90)) --> 1m30s
template(source, values) -> string
  A text whose ${expressions} are filled in, as in a template cell: of a file by its name, or the text itself. Expressions see values, and
  the globals; a table is written as JSON, $${ is a literal ${.
  errors: an expression that fails or is nil, with its line
  example:
    print(template("lr: ${lr}, layers: ${layers}", { lr = 0.1, layers = { 64, 10 } })) --> lr: 0.1, layers: [64,10]
]]
