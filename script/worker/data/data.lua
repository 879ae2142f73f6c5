-- SPDX-License-Identifier: MIT
-- The Lua part of the module `data`: frames, which are tables of named columns, and data.save.
-- `core` is the part in C (script/worker/tensor/arrays.c).
local data, core = ...

-- A frame: columns = a list of tables, rows = how many. Ranks know this metatable by its name. A column:
--
--   name, kind, categories
--   stored   the numbers, as narrow as trainer/data/table/column.h keeps them
--   rows     if it is there, the column's numbers are those in these rows of `stored`, missing for -1. They are
--            taken when somebody needs them: of the columns that a join brings, most are never looked at.
--   own      stored is a tensor that a user gave, in a type of its own
--   about    {mean, std, min, max, missing} of the column that was read or made; or {of = its numbers}, of which
--            they are computed when somebody asks. With `rows` only those of them count; with `like` only what is
--            missing is that of these, and the rest is that of the column `like`
local Frame = {}
data.Frame = Frame
local methods = {}

local function names_of(frame)
  local names = {}
  for i, column in ipairs(frame.columns) do names[i] = column.name end
  return names
end

local function column_of(frame, name, level)
  for _, column in ipairs(frame.columns) do
    if column.name == name then return column end
  end
  error(("the frame has no column '%s'; it has %s"):format(tostring(name), table.concat(names_of(frame), ", ")), (level or 1) + 1)
end

local function new(columns, rows)
  return setmetatable({ columns = columns, rows = rows }, Frame)
end

-- The options by name; those of `places` may be given by their place.
local function options_of(name, given, known, places)
  return core.options(given, name, places or "", known)
end

-- A list of columns that may have options beside them.
local function list_with(name, given, known)
  core.check_names(given, name, known)
  return given
end

-- The column's numbers, for functions here.
local function stored(c)
  if c.rows then c.stored, c.rows = core.take(c.stored, c.rows, c.categories ~= nil), nil end
  return c.stored
end

-- What is known of the column's numbers.
local function about(c)
  local a = c.about
  if a.of then
    local of = a.rows and core.take(a.of, a.rows, c.categories ~= nil) or a.of
    local n, mean, std, min, max = core.describe(of)
    a.missing = #of - n
    if c.categories then
      a.missing = #of - #core.nonzero(of)
    elseif a.like then
      local like = about(a.like)
      a.mean, a.std, a.min, a.max = like.mean, like.std, like.min, like.max
    elseif n > 0 then
      a.mean, a.std, a.min, a.max = mean, std, min, max
    end
    a.of, a.rows, a.like = nil, nil, nil
  end
  return a
end

-- The same as users get it: integers are i64. The column keeps these then, as they may be asked for row by row.
local function values(c)
  local t = stored(c)
  if not c.own and t.dtype ~= "f32" and t.dtype ~= "i64" then
    c.stored = t:cast "i64"
    if rawequal(c.about.of, t) then c.about.of = c.stored end -- so nothing keeps the narrow ones
  end
  return c.stored
end

-- A column of a user's tensor.
local function given_column(name, kind, tensor)
  local own = tensor.dtype ~= "i64" and tensor.dtype ~= "f32"
  return { name = name, kind = kind, stored = own and tensor or core.narrow(tensor), own = own or nil, about = {} }
end

function Frame.__index(frame, key)
  if methods[key] then return methods[key] end
  if key == "names" then return names_of(frame) end
  return values(column_of(frame, key, 2))
end

function Frame:__len() return self.rows end

function Frame:__tostring()
  local lines = { ("%d rows"):format(self.rows) }
  for _, c in ipairs(self.columns) do
    local a = about(c)
    local text = c.categories and ("%d categories"):format(#c.categories) or a.mean
      and ("%g to %g, mean %g, std %g"):format(a.min, a.max, a.mean, a.std) or ""
    lines[#lines + 1] = ("%-24s %-9s %s%s"):format(c.name, c.kind, text,
      a.missing and a.missing > 0 and (", %d missing"):format(a.missing) or "")
  end
  return table.concat(lines, "\n")
end

-- data.csv "train.csv", or data.csv { "train.csv", types = { Store = "category" }, … }.
function data.csv(given)
  if type(given) == "string" then given = { given } end
  if type(given) ~= "table" then error("data.csv: expects a path, or a table of a path and options", 2) end
  given = options_of("data.csv", given, "columns comment date_format decimal encoding false_values header like missing names path rank separator size skiprows thousands true_values types", "path")
  local path = given.path
  if type(path) ~= "string" then error('data.csv: which file? data.csv "train.csv"', 2) end
  local like, known, types = given.like, {}, given.types or {}
  if like ~= nil and getmetatable(like) ~= Frame then error("data.csv: like must be a frame, as data.csv returns one", 2) end
  local open = {} -- the names in types that like does not have
  for name, kind in pairs(types) do open[name] = kind end
  for _, c in ipairs(like and like.columns or {}) do
    local kind = open[c.name]
    if kind and kind ~= "auto" and kind ~= c.kind then
      error(("data.csv: types says that column '%s' is a %s, but in like it is a %s"):format(c.name, kind, c.kind), 2)
    end
    known[#known + 1], open[c.name] = { name = c.name, kind = c.kind, categories = c.categories }, nil
  end
  for name, kind in pairs(open) do known[#known + 1] = { name = name, kind = kind } end
  if given.header ~= nil and given.header ~= false then error("data.csv: header is false, for a file whose first record is data; else leave it out", 2) end
  local columns, rows = core.read_csv({ path = path, separator = given.separator, names = given.names, missing = given.missing,
    only = given.columns, known = known, rank = given.rank, size = given.size, comment = given.comment, skiprows = given.skiprows,
    encoding = given.encoding, decimal = given.decimal, thousands = given.thousands, headless = given.header == false,
    date_format = given.date_format, true_values = given.true_values, false_values = given.false_values })
  local has = {}
  for _, c in ipairs(columns) do has[c.name] = true end
  for name in pairs(types) do
    -- What `columns` leaves out may have a type.
    if not has[name] and not given.columns then error(('%s: types: there is no column "%s"'):format(path, name), 2) end
  end
  for _, c in ipairs(columns) do
    for _, other in ipairs(like and like.columns or {}) do
      if other.name == c.name then
        local a = about(other)
        c.about = { missing = c.about.missing, mean = a.mean, std = a.std, min = a.min, max = a.max }
      end
    end
  end
  return new(columns, rows)
end

-- data.parquet: as data.csv, for a Parquet file; pyarrow turns it into CSV in a temporary folder.
function data.parquet(given)
  if type(given) == "string" then given = { given } end
  given = options_of("data.parquet", given, "columns like path rank size types", "path")
  local path = given.path
  if type(path) ~= "string" then error('data.parquet: which file? data.parquet "train.parquet"', 2) end
  local folder = core.unpack_parquet(path, os.getenv "TMPDIR" or "/tmp", given.columns or {})
  given.path = folder .. "/table.csv"
  local ok, frame = pcall(data.csv, given)
  core.remove(folder)
  if not ok then error(tostring(frame):gsub(folder:gsub("%p", "%%%0") .. "/table%.csv", (path:gsub("%%", "%%%%"))), 0) end
  return frame
end

-- data.frame { { "Id", tensor }, { "Sales", tensor } }: a frame of columns of one's own.
function data.frame(given)
  local columns, rows = {}, nil
  for i, pair in ipairs(given) do
    if type(pair) ~= "table" or type(pair[1]) ~= "string" or type(pair[2]) ~= "userdata" then
      error(("data.frame: item %d must be { name, tensor }"):format(i), 2)
    end
    local tensor = pair[2]
    if #tensor.shape == 2 and tensor.shape[2] == 1 then tensor = tensor:reshape { -1 } end
    if #tensor.shape ~= 1 or rows and #tensor ~= rows then
      error(("data.frame: column '%s' must have one number for each row, and as many rows as the others"):format(pair[1]), 2)
    end
    rows = #tensor
    columns[i] = given_column(pair[1], "number", tensor)
  end
  return new(columns, rows or 0)
end

function methods:categories(name)
  local column = column_of(self, name, 2)
  return column.categories or error(("column '%s' is of numbers, it has no categories"):format(name), 2)
end

function methods:stats(name)
  local c = column_of(self, name, 2)
  local a = about(c)
  return { kind = c.kind, missing = a.missing, mean = a.mean, std = a.std, min = a.min, max = a.max }
end

-- frame:numbers { "a", "b", standardize = true, missing = 0 }: these columns as f32 (rows, columns).
function methods:numbers(given)
  if type(given) ~= "table" then given = { given } end
  list_with("numbers", given, "missing standardize")
  local tensors, means, stds, missing = {}, {}, {}, {}
  for i, name in ipairs(given) do
    local c = column_of(self, name, 2)
    tensors[i], means[i], stds[i] = stored(c), 0, 1
    if given.standardize then
      local a = about(c)
      if not a.mean then error(("column '%s' has no mean: read it from a file, or add it by with()"):format(name), 2) end
      means[i], stds[i] = a.mean, a.std > 0 and a.std or 1
      missing[i] = a.mean
    end
    missing[i] = given.missing or missing[i]
  end
  return core.stack(tensors, false, means, stds, missing)
end

-- frame:codes { "a", "b" }: categories as i64 (rows, columns); one name gives (rows).
function methods:codes(given)
  local list, tensors = type(given) == "table" and given or { given }, {}
  for i, name in ipairs(list) do
    local c = column_of(self, name, 2)
    tensors[i] = stored(c)
    if tensors[i].dtype == "f32" then error(("column '%s' has numbers that are no integers, or some are missing"):format(name), 2) end
  end
  local codes = core.stack(tensors, true)
  return type(given) == "table" and codes or codes:reshape { -1 }
end

-- The same columns of some rows, which fn takes of a tensor.
local function each(frame, fn)
  local columns = {}
  for i, c in ipairs(frame.columns) do
    local copy = {}
    for key, value in pairs(c) do copy[key] = value end
    copy.stored, copy.rows = fn(stored(c)), nil
    columns[i] = copy
  end
  return new(columns, columns[1] and #columns[1].stored or 0)
end

function methods:slice(from, to, step)
  return each(self, function(t) return t:slice(from or 0, to or #t, step or 1) end)
end

function methods:shard(rank, size)
  return each(self, function(t) return t:shard(rank, size) end)
end

-- Days since 1970-01-01 as os.date tells them: year, month, day, wday (1 is Sunday), yday.
function data.date(days)
  return os.date("!*t", math.tointeger(days) * 86400)
end

-- data.days "2015-07-31": days since 1970-01-01.
function data.days(text)
  return type(text) == "string" and core.days(text)
    or error(('data.days: expects a day as "2015-07-31", got "%s"'):format(tostring(text)), 2)
end

local channels_of = { grayscale = 1, rgb = 3, rgba = 4 }

local function picture_options(name, given, known)
  if type(given) == "string" then given = { given } end
  given = core.options(given, name, "path", known)
  if type(given.path) ~= "string" then error(name .. ": expects a path, or a table of a path and options", 3) end
  local size = given.image_size or { 256, 256 }
  if type(size) ~= "table" or math.type(size[1]) ~= "integer" or math.type(size[2]) ~= "integer" or size[1] < 1 or size[2] < 1 then
    error(name .. ": image_size must be { height, width }", 3)
  end
  local channels = channels_of[given.color_mode or "rgb"]
  if not channels then error(("%s: color_mode must be grayscale, rgb or rgba, got '%s'"):format(name, given.color_mode), 3) end
  local dtype = given.dtype or "f32"
  if dtype ~= "f32" and dtype ~= "u8" then error(("%s: dtype must be f32 or u8, got '%s'"):format(name, dtype), 3) end
  return given, { height = size[1], width = size[2], channels = channels, u8 = dtype == "u8" }
end

-- data.image { "cat.jpg", image_size = { 180, 180 } }: (height, width, channels)
function data.image(path, options)
  if options ~= nil then
    local first = path
    path = options_of("data.image", options, "color_mode dtype image_size")
    path.path = first
  end
  local given, spec = picture_options("data.image", path, "color_mode dtype image_size path")
  return core.read_image(given.path, spec)
end

-- data.images { "flowers", image_size = { 180, 180 }, … }: a folder of pictures for each class
function data.images(given)
  local spec
  given, spec = picture_options("data.images", given, "color_mode dtype image_size label_mode lazy path rank seed shuffle size validation_split")
  spec.rank, spec.size = given.rank or 0, given.size or 1
  if math.type(spec.rank) ~= "integer" or math.type(spec.size) ~= "integer" or spec.rank < 0 or spec.rank >= spec.size then
    error(("data.images: rank %s is not in [0, %s)"):format(spec.rank, spec.size), 2)
  end
  local share, mode = given.validation_split or 0, given.label_mode or "int"
  if type(share) ~= "number" or share < 0 or share >= 1 then error("data.images: validation_split must be from 0 to less than 1", 2) end
  if mode ~= "int" and mode ~= "categorical" and mode ~= "binary" then
    error(("data.images: label_mode must be int, categorical or binary, got '%s'"):format(mode), 2)
  end
  spec.shuffle, spec.seed, spec.share, spec.lazy = given.shuffle ~= false, given.seed or 1, share, given.lazy
  local classes, paths, x, y, vx, vy = core.read_images(given.path, spec)
  if mode == "binary" and #classes ~= 2 then error(("data.images: label_mode binary is for 2 classes, there are %d"):format(#classes), 2) end
  local function set(pictures, labels)
    if mode == "categorical" then labels = core.one_hot(labels, #classes) end
    if mode == "binary" then labels = core.stack({ labels }, false) end
    return { x = pictures, y = labels, classes = classes }
  end
  local all = set(x, y)
  all.paths = paths
  if share > 0 then return { train = all, validation = set(vx, vy), classes = classes } end
  return all
end

-- The shortest text that is read as the same number of this dtype.
local function shortest(value)
  for digits = 6, 9 do
    local text = ("%." .. digits .. "g"):format(value)
    if string.unpack("f", string.pack("f", tonumber(text))) == value then return text end
  end
end

-- Blanks at the ends belong to a text only in quotes.
local function quoted(text)
  local needs = text:find '[",\r\n]' or text:find "^[ \t]" or text:find "[ \t]$"
  return needs and '"' .. text:gsub('"', '""') .. '"' or text
end

local function csv_field(column, i)
  local value = values(column)[i]
  if column.categories then return quoted(column.categories[value] or "") end
  if value ~= value then return "" end
  if value == math.huge or value == -math.huge then
    error(("data.save: row %d of column '%s' is infinite, which a .csv file cannot hold"):format(i, column.name), 4)
  end
  if column.kind == "date" then
    local day = data.date(value)
    return ("%04d-%02d-%02d"):format(day.year, day.month, day.day)
  end
  if column.kind == "datetime" then
    local day = data.date(value // 86400)
    return ("%04d-%02d-%02d %02d:%02d:%02d"):format(day.year, day.month, day.day, value % 86400 // 3600, value % 3600 // 60, value % 60)
  end
  return math.type(value) == "integer" and ("%d"):format(value) or shortest(value) or tostring(value)
end

-- A line that is empty is no record: a single field is quoted then.
local function csv_line(fields) return #fields == 1 and fields[1] == "" and '""' or table.concat(fields, ",") end

local function csv_text(frame)
  local names, lines = {}, {}
  for i, c in ipairs(frame.columns) do names[i] = quoted(c.name) end
  lines[1] = csv_line(names)
  for row = 0, frame.rows - 1 do
    local fields = {}
    for i, c in ipairs(frame.columns) do fields[i] = csv_field(c, row) end
    lines[#lines + 1] = csv_line(fields)
  end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

-- data.save("x.npy", tensor), data.save("train.npz", { x = tensor, y = tensor }) or .safetensors, data.save("out.csv", frame)
function data.save(path, what, given)
  local kind = type(path) == "string" and path:match "%.(%a+)$"
  local compressed = options_of("data.save", given, "compressed").compressed
  if kind == "npy" then
    core.write_npy(path, what)
  elseif kind == "npz" or kind == "safetensors" then
    if type(what) ~= "table" then error(("data.save: a .%s file takes a table of tensors by name"):format(kind), 2) end
    if compressed and kind ~= "npz" then error("data.save: a .safetensors file is never compressed", 2) end
    local names, list = {}, {}
    for name in pairs(what) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do list[#list + 1], list[#list + 2] = name, what[name] end
    (kind == "npz" and core.write_npz or core.write_safetensors)(path, list, compressed)
  elseif kind == "csv" then
    if getmetatable(what) ~= Frame then error("data.save: a .csv file takes a frame: data.frame { { \"Id\", ids }, … }", 2) end
    core.write(path, csv_text(what))
  else
    error("data.save: the path must end with .npy, .npz, .safetensors or .csv", 2)
  end
end

return data, core, { Frame = Frame, methods = methods, column_of = column_of, new = new, options_of = options_of, list_with = list_with,
  stored = stored, values = values, given_column = given_column, about = about }
