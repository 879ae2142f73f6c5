-- SPDX-License-Identifier: MIT
-- What frames are computed with: columns and rows chosen, joined, sorted and grouped, by pandas' names.
-- The work is done in C (script/worker/data/tables.c); a frame is never changed, each function makes another.
local data, core, frames = ...
local Frame, methods, column_of, new, options_of = frames.Frame, frames.methods, frames.column_of, frames.new, frames.options_of
local list_with, stored, values, given_column, about = frames.list_with, frames.stored, frames.values, frames.given_column, frames.about

local function list_of(given) return type(given) == "table" and given or { given } end

local function copy_of(column, changes)
  local copy = {}
  for key, value in pairs(column) do copy[key] = value end
  for key, value in pairs(changes) do copy[key] = value end
  return copy
end

-- A column of numbers that were computed here, with their statistics.
local function column(name, kind, tensor, categories)
  return { name = name, kind = kind, stored = tensor, categories = categories, about = { of = tensor } }
end

-- The values of a column that is computed with: codes of categories are no numbers.
local function numbers_of(frame, name, what, level)
  local c = column_of(frame, name, level + 1)
  if c.categories then error(("%s: column '%s' has categories, not numbers"):format(what, name), level + 1) end
  return stored(c)
end

-- The rows of all columns; -1 is a row that is not there. What is fewer rows than a column has is taken at once, so
-- that a small part of a table does not keep all of it in memory.
local function take(frame, rows)
  local columns, of_rows = {}, {}
  for i, c in ipairs(frame.columns) do
    local at = rows
    if c.rows then
      at = of_rows[c.rows] or core.rows_of(c.rows, rows)
      of_rows[c.rows] = at
    end
    columns[i] = copy_of(c, { rows = at })
    if #at < #c.stored then
      about(c)
      stored(columns[i])
    end
  end
  return new(columns, #rows)
end

-- The frame with these columns instead of its own of the same names; others come behind.
local function put(frame, list)
  local columns, at = {}, {}
  for i, c in ipairs(frame.columns) do columns[i], at[c.name] = c, i end
  for _, c in ipairs(list) do
    at[c.name] = at[c.name] or #columns + 1
    columns[at[c.name]] = c
  end
  return new(columns, frame.rows)
end

-- What fn(value, …) returns for each row of these columns: values, and the categories if it was texts.
-- Of one column of categories it is called once for each that there is.
local function map(frame, names, fn, level)
  local tensors, categories = {}, {}
  for i, name in ipairs(names) do
    local c = column_of(frame, name, level + 1)
    tensors[i], categories[i] = stored(c), c.categories or false
  end
  if #tensors == 0 then error("which columns does the function get? Give a list of their names", level + 1) end
  if #tensors > 1 or not categories[1] then return core.map(fn, tensors, categories) end
  local groups = core.make_groups(tensors)
  local results, texts = core.map(fn, { core.take(tensors[1], core.groups_first(groups)) }, categories)
  return core.take(results, core.groups_of(groups)), texts
end

-- frame:column(name): also of a column that is called as a function of frames is.
function methods:column(name) return values(column_of(self, name, 2)) end

function methods:select(given)
  local columns = {}
  for i, name in ipairs(list_of(given)) do columns[i] = column_of(self, name, 2) end
  return new(columns, self.rows)
end

function methods:drop(given)
  local gone, columns = {}, {}
  for _, name in ipairs(list_of(given)) do gone[column_of(self, name, 2).name] = true end
  for _, c in ipairs(self.columns) do
    if not gone[c.name] then columns[#columns + 1] = c end
  end
  return new(columns, self.rows)
end

-- frame:rename { old = "new" }
function methods:rename(given)
  local columns, seen = {}, {}
  for old in pairs(given) do column_of(self, old, 2) end
  for i, c in ipairs(self.columns) do
    local name = given[c.name] or c.name
    if seen[name] then error(("rename: two columns would be called '%s'"):format(name), 2) end
    seen[name], columns[i] = true, copy_of(c, { name = name })
  end
  return new(columns, self.rows)
end

function methods:head(n) return self:slice(0, n or 5) end

-- filter(function(i) … end), i from 0; filter({ "Sales" }, function(sales) … end); filter(tensor of 0 and 1)
function methods:filter(what, fn)
  local rows
  if type(what) == "userdata" then
    if #what ~= self.rows then error(("filter: the tensor has %d numbers, the frame %d rows"):format(#what, self.rows), 2) end
    rows = core.nonzero(what)
  elseif type(what) == "function" then
    local list = {}
    for i = 0, self.rows - 1 do
      if what(i) then list[#list + 1] = i end
    end
    rows = data.tensor(list, { dtype = "i32" })
  elseif type(fn) == "function" then
    rows = core.nonzero((map(self, list_of(what), function(...) return fn(...) and 1 or 0 end, 2)))
  else
    error("filter: expects a function of the row's number, or names of columns and a function of their values", 2)
  end
  return take(self, rows)
end

-- with("Month", tensor), with("Month", function(i) … end), with("Month", { "Date" }, function(date) … end)
function methods:with(name, what, fn, kind)
  if type(name) ~= "string" then error("with: the name of a column comes first", 2) end
  local tensor, texts, made = what, nil, type(fn) == "function"
  if made then
    tensor, texts = map(self, list_of(what), fn, 2)
  elseif type(what) == "function" then
    local list, whole = {}, true
    for i = 0, self.rows - 1 do
      local value = what(i)
      if type(value) ~= "number" then error(("with: row %d of column '%s' is a %s, not a number"):format(i, name, type(value)), 2) end
      whole = whole and math.type(value) == "integer"
      list[i + 1] = value
    end
    tensor = data.tensor(list, { dtype = whole and "i64" or "f32" })
  else
    kind = kind or fn
  end
  if type(tensor) ~= "userdata" or #tensor ~= self.rows then
    error(("with: column '%s' must be a tensor of %d numbers, or a function of the row"):format(name, self.rows), 2)
  end
  if kind ~= nil and (kind ~= "number" and kind ~= "date" and kind ~= "datetime" or texts) then
    error(("with: column '%s' cannot be a %s"):format(name, tostring(kind)), 2)
  end
  local rest = {}
  for _, c in ipairs(self.columns) do
    if c.name ~= name then rest[#rest + 1] = c end
  end
  kind = texts and "category" or kind or "number"
  local c = made and column(name, kind, tensor, texts) or given_column(name, kind, tensor)
  c.about = { of = c.stored }
  rest[#rest + 1] = c
  return new(rest, self.rows)
end

-- frame:fillna { CompetitionOpenSinceYear = 1900, PromoInterval = "none" }
function methods:fillna(given)
  if type(given) ~= "table" then error(("fillna: expects { Column = value }, got a %s"):format(type(given)), 2) end
  local list = {}
  for name, value in pairs(given) do
    local c = column_of(self, name, 2)
    if not c.categories and type(value) ~= "number" then
      error(("fillna: column '%s' has numbers; it is filled with a number, not with a %s"):format(name, type(value)), 2)
    end
    if c.categories then
      local texts, code = table.move(c.categories, 1, #c.categories, 1, {}), nil
      for k, text in ipairs(texts) do code = text == tostring(value) and k or code end
      texts[code or #texts + 1] = tostring(value)
      local to = { [0] = code or #texts }
      for k = 1, #texts do to[k] = k end
      list[#list + 1] = column(name, c.kind, core.translate(stored(c), to), texts)
    else
      list[#list + 1] = column(name, c.kind, core.fill(stored(c), value))
    end
  end
  return put(self, list)
end

-- Numbers as text, as a category of another frame has them.
local function text_of(value)
  return math.tointeger(value) and ("%d"):format(value) or tostring(value)
end

-- frame:categorize { "Year", "Month" }: numbers become categories, in their order.
function methods:categorize(given)
  local list = {}
  for i, name in ipairs(list_of(given)) do
    local c = column_of(self, name, 2)
    if c.categories then
      list[i] = c
    else
      local groups = core.make_groups({ stored(c) })
      local distinct = core.take(stored(c), core.groups_first(groups))
      local order, texts, codes = core.sort({ distinct }, {}), {}, {}
      for k = 0, #order - 1 do
        local value = distinct[order[k]]
        if value == value then texts[#texts + 1] = text_of(value) end -- the missing one is last
        codes[order[k]] = value == value and #texts or 0
      end
      list[i] = column(name, "category", core.translate(core.groups_of(groups), codes), texts)
    end
  end
  return put(self, list)
end

-- The other column's values in this one's terms: categories by their text, which may be a number's.
local function same_terms(mine, theirs)
  if mine.categories and theirs.categories then
    local code, to = {}, { [0] = 0 }
    for k, text in ipairs(mine.categories) do code[text] = k end
    for k, text in ipairs(theirs.categories) do to[k] = code[text] or -k end
    return stored(mine), core.translate(stored(theirs), to)
  elseif not mine.categories and not theirs.categories then
    return stored(mine), stored(theirs)
  end
  -- The numbers become the categories' codes, those without one numbers below 0.
  local named, plain = mine.categories and mine or theirs, mine.categories and theirs or mine
  local code, unknown = {}, 0
  for k, text in ipairs(named.categories) do code[text] = k end
  local codes = core.map(function(v)
    if v == nil then return 0 end
    local text = text_of(v)
    if not code[text] then
      unknown = unknown - 1
      code[text] = unknown
    end
    return code[text]
  end, { stored(plain) }, { false })
  return mine.categories and stored(mine) or codes, mine.categories and codes or stored(theirs)
end

local function key_text(frame, names, row)
  local texts = {}
  for i, name in ipairs(names) do
    local c = column_of(frame, name)
    local value = stored(c)[row]
    texts[i] = c.categories and (c.categories[value] or "") or text_of(value)
  end
  return "'" .. table.concat(texts, "', '") .. "'"
end

-- frame:join(other, "Store"), frame:join(other, { "State", "Date" }, { how = "left" }): each row gets the
-- columns of the other frame's row that has the same keys.
function methods:join(other, on, given)
  if getmetatable(other) ~= Frame then error("join: expects a frame and the name of a column", 2) end
  local how = options_of("join", given, "how").how
  if how ~= nil and how ~= "left" and how ~= "inner" then error(('join: how must be "left" or "inner", got "%s"'):format(how), 2) end
  local names, mine, theirs, is_key = list_of(on), {}, {}, {}
  for i, name in ipairs(names) do
    mine[i], theirs[i] = same_terms(column_of(self, name, 2), column_of(other, name, 2))
    is_key[name] = true
  end
  local place, twice = core.match(mine, theirs)
  local where = #names > 1 and "columns " .. table.concat(names, ", ") or ("column '%s'"):format(names[1])
  if not place then error(("join: %s is twice in %s of the other frame"):format(key_text(other, names, twice), where), 2) end
  local frame = self
  if how ~= "left" then
    local found = core.present(place)
    if how == "inner" and #found < self.rows then
      frame, place = take(self, found), core.rows_of(place, found)
    elseif #found < self.rows then
      local row = 0
      while place[row] >= 0 do row = row + 1 end
      error(("join: row %d has %s in %s, which the other frame has not"):format(row, key_text(self, names, row), where), 2)
    end
  end
  local seen, columns = {}, {}
  for _, c in ipairs(frame.columns) do seen[c.name] = true end
  for _, c in ipairs(other.columns) do
    if seen[c.name] and not is_key[c.name] then
      error(("join: both frames have a column '%s': give it another name in one of them, or drop it there, as other:rename { [\"%s\"] = \"other %s\" }")
        :format(c.name, c.name, c.name), 2)
    end
    if not is_key[c.name] then columns[#columns + 1] = c end
  end
  local brought = take(new(columns, other.rows), place).columns
  if #core.present(place) < #place then -- numbers that are missing in rows without a partner
    for i, c in ipairs(brought) do c.about = { of = c.stored, rows = c.rows, like = columns[i] } end
  end
  return put(frame, brought)
end

-- frame:sort_values { "Store", "Date", ascending = { true, false } }
function methods:sort_values(given)
  local names = list_with("sort_values", list_of(given), "ascending")
  local keys, down = {}, {}
  for i, name in ipairs(names) do
    local c, up = column_of(self, name, 2), names.ascending
    if type(up) == "table" then up = up[i] end
    keys[i], down[i] = stored(c), up == false
    if c.categories then -- by their texts; a missing one is last
      local order, rank = {}, {}
      for k = 1, #c.categories do order[k] = k end
      table.sort(order, function(a, b) return c.categories[a] < c.categories[b] end)
      for k, code in ipairs(order) do rank[code] = k end
      rank[0] = up == false and -1 or #order + 1
      keys[i] = core.translate(stored(c), rank)
    end
  end
  return take(self, core.sort(keys, down))
end

-- data.concat { a, b }: the rows of both; the first one's columns, which all have.
function data.concat(given)
  local first, rows, columns = given[1], 0, {}
  for i, frame in ipairs(given) do
    if getmetatable(frame) ~= Frame then error(("data.concat: item %d is no frame"):format(i), 2) end
    rows = rows + frame.rows
  end
  for i, c in ipairs(first and first.columns or {}) do
    local parts, texts, code = {}, c.categories and {}, {}
    for k, frame in ipairs(given) do
      local other = column_of(frame, c.name, 2)
      if (other.categories ~= nil) ~= (texts ~= nil) then
        error(("data.concat: column '%s' is a %s in one frame and a %s in another"):format(c.name, c.kind, other.kind), 2)
      end
      parts[k] = stored(other)
      if texts then
        local to = { [0] = 0 }
        for at, text in ipairs(other.categories) do
          if not code[text] then
            texts[#texts + 1] = text
            code[text] = #texts
          end
          to[at] = code[text]
        end
        parts[k] = core.translate(stored(other), to)
      end
    end
    columns[i] = column(c.name, c.kind, core.concat(parts), texts)
  end
  return new(columns, rows)
end

-- frame:expand_date("Date", { "Year", "Month", "Week" }): these parts as columns.
function methods:expand_date(name, parts)
  local c, list = column_of(self, name, 2), {}
  if c.kind ~= "date" and c.kind ~= "datetime" then
    error(("expand_date: column '%s' is a %s, not a date; data.csv { …, types = { %s = \"date\" } } reads it as one")
      :format(name, c.kind, name), 2)
  end
  for i, part in ipairs(parts or { "Year", "Month", "Week", "Day", "DayOfWeek", "DayOfYear" }) do
    list[i] = column(part, "number", core.date_part(stored(c), part, c.kind == "datetime"))
  end
  return put(self, list)
end

-- The rows of a frame by equal keys.
local Groups = { __name = "groups" }
Groups.__index = Groups

-- frame:groupby { "Store", "DayOfWeek" }
function methods:groupby(given)
  local names, keys = list_of(given), {}
  for i, name in ipairs(names) do keys[i] = stored(column_of(self, name, 2)) end
  return setmetatable({ frame = self, names = names, groups = core.make_groups(keys) }, Groups)
end

-- The values of a column and how they are taken together; texts can only be counted, or one be taken.
local function aggregate(self, name, how, what, level)
  local c = column_of(self.frame, name, level + 1)
  if type(how) ~= "string" then
    error(("%s: how are the values of column '%s' taken together? Name it, as \"mean\""):format(what, name), level + 1)
  end
  local keeps = how == "first" or how == "last" or (c.kind == "date" or c.kind == "datetime") and (how == "min" or how == "max")
  if c.categories and not keeps and how ~= "size" then
    error(("groupby: the %s of column '%s', which has categories"):format(how, name), level + 1)
  end
  return core.aggregate(self.groups, stored(c), how), keeps and c
end

-- groups:agg { Mean = { "Sales", "mean" }, Days = { "Sales", "count" } }: a row for each group.
function Groups:agg(given)
  if type(given) ~= "table" then error(('agg: expects { Name = { "Column", "mean" } }, got a %s'):format(type(given)), 2) end
  local rows, columns, wanted, is_key = core.groups_first(self.groups), {}, {}, {}
  for i, name in ipairs(self.names) do
    local c = column_of(self.frame, name)
    columns[i], is_key[name] = column(name, c.kind, core.take(stored(c), rows), c.categories), true
  end
  for name, what in pairs(given) do
    if type(name) ~= "string" or type(what) ~= "table" then
      error('agg: expects { Name = { "Column", "mean" } }', 2)
    end
    if is_key[name] then error(("agg: two columns would be called '%s'"):format(name), 2) end
    wanted[#wanted + 1] = name
  end
  table.sort(wanted)
  for _, name in ipairs(wanted) do
    local tensor, same = aggregate(self, given[name][1], given[name][2], "agg", 2)
    columns[#columns + 1] = column(name, same and same.kind or "number", core.narrow(tensor), same and same.categories or nil)
  end
  return new(columns, #rows)
end

-- Below: a tensor with a number for each row of the frame.

-- Integers as users have them.
local function wide(tensor) return tensor.dtype == "f32" and tensor or tensor:cast "i64" end

function Groups:transform(name, how)
  return wide(core.take((aggregate(self, name, how, "transform", 2)), core.groups_of(self.groups)))
end

function Groups:shift(name, by)
  local c = column_of(self.frame, name, 2)
  return wide(core.shift(self.groups, stored(c), by or 1, c.categories ~= nil))
end

-- groups:rolling("Sales", { window = 7, how = "mean", min_periods = 1 })
function Groups:rolling(name, given)
  given = options_of("rolling", given, "how min_periods window")
  local numbers = numbers_of(self.frame, name, "rolling", 2)
  if math.type(given.window) ~= "integer" then error("rolling: how many rows has the window? { window = 7 }", 2) end
  return core.roll(self.groups, numbers, given.how or "mean", given.window,
    given.min_periods or given.window)
end

function Groups:cumsum(name)
  return core.cumulate(self.groups, numbers_of(self.frame, name, "cumsum", 2))
end

-- groups:elapsed("Promo", "Date", { backward = true })
function Groups:elapsed(flag, when, given)
  local back = options_of("elapsed", given, "backward").backward
  return core.elapsed(self.groups, numbers_of(self.frame, flag, "elapsed", 2), numbers_of(self.frame, when, "elapsed", 2), back)
end

return data
