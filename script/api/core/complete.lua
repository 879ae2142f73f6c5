-- SPDX-License-Identifier: MIT
-- Completion and inspection at a place in a cell's source. Nothing is called, only looked up:
-- values of cells that ran, names that the cell itself declares, options of the API, and the
-- comments of the API's sources.
local core = ...
core.everything()

-- The names for cells; or those for trainer files, when the cell writes one.
local names_here = _G

local LISTED = 60 -- the longest signature in a list of functions

local KEYWORDS = "and break do else elseif end false for function goto if in local nil not or repeat return then true "
  .. "until while"

-- Places in a source.

-- What is still open at the end of a text: the brackets, innermost last, each with the name that
-- was called; and whether the end is in a string or a comment.
local function open_brackets(text)
  local stack, at = {}, 1
  while at <= #text do
    local long = text:match("^%-%-%[(=*)%[", at) or text:match("^%[(=*)%[", at)
    local char = text:sub(at, at)
    if long then
      local _, stop = text:find("]" .. long .. "]", at, true)
      if not stop then return stack, true end
      at = stop
    elseif text:find("^%-%-", at) then
      at = text:find("\n", at, true)
      if not at then return stack, true end
    elseif char == '"' or char == "'" then
      at = text:find("[" .. char .. "\\\n]", at + 1)
      while at and text:sub(at, at) == "\\" do at = text:find("[" .. char .. "\\\n]", at + 2) end
      if not at then return stack, true end
    elseif char == "(" or char == "{" then
      local called = text:sub(1, at - 1):match "([%a_][%w_.:]*)%s*$"
      local outer = stack[#stack]
      if char == "{" and not called and outer and outer.char == "(" then called = outer.called end
      stack[#stack + 1] = { char = char, called = called, at = at }
    elseif char == ")" or char == "}" then
      stack[#stack] = nil
    end
    at = at + 1
  end
  return stack, false
end

-- The names that a source declares before a place.
local function declared(text)
  local names = {}
  local function add(list)
    for name in list:gmatch "[%a_][%w_]*" do names[name] = true end
  end
  for list in text:gmatch "%f[%w_]local%s+([%a_][%w_, \t]*)" do
    if not list:find "^function%f[^%w_]" then add(list) end
  end
  for name in text:gmatch "%f[%w_]local%s+function%s+([%a_][%w_]*)" do names[name] = true end
  for list in text:gmatch "%f[%w_]function%s*[%w_.:]*%s*(%b())" do add(list) end
  for list in text:gmatch "%f[%w_]for%s+([%a_][%w_, \t]*)%s+in%f[^%w_]" do add(list) end
  for name in text:gmatch "%f[%w_]for%s+([%a_][%w_]*)%s*=" do names[name] = true end
  return names
end

-- Values.

local function members(value)
  return type(value) == "string" and string or type(value) == "table" and value or nil
end

local function index_of(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(meta) == "table" and type(meta.__index) == "table" and meta.__index or nil
end

local function field(value, name)
  while members(value) do
    local found = rawget(members(value), name)
    if found ~= nil then return found end
    value = index_of(value)
  end
end

local lookup

-- The keys of the table in `require "args" { epochs = 5 }`.
local function keys_of(text)
  local keys = {}
  for name, value in (text:match "^%b{}" or ""):gmatch "([%a_][%w_]*)%s*=%s*([^%s])" do
    keys[name] = value:find "[\"']" and "" or value:find "%d" and 0 or false
  end
  return keys
end

-- The type of a name by its last assignment in the text before: a module, or the result of an API
-- function.
local function assigned(name, before)
  local place, value
  before = before or ""
  for at, right in before:gmatch("()%f[%w_]" .. name .. "%f[^%w_]%s*=%s*()") do
    local head = before:sub(1, at - 1)
    if before:sub(right, right) ~= "=" and not head:find "[.:,]%s*$" then place, value = at, right end
  end
  if not place then return nil end
  local head, text = before:sub(1, place - 1), before:sub(value)
  local module, rest = text:match "^require%s*%(?%s*[\"']([%w_.]+)[\"']%s*%)?%s*(.*)$"
  if module == "args" then return keys_of(rest) end
  if module then return core.trainer().modules[module] end
  local called = text:match "^([%a_][%w_.:]*)%s*[({\"'%[]"
  local fn = called and lookup(called, head)
  if called then return fn and core.result_of(fn) end
  local alias = text:match "^([%a_][%w_.]*)%s*\n"
  return alias and lookup(alias, head)
end

-- The value of a path. In cells, values of cells that ran come first; a trainer file does not run
-- here, so its text decides.
function lookup(path, before)
  local value
  for name in path:gmatch "[^.:]+" do
    if value then
      value = field(value, name)
    else
      local known = rawget(names_here, name)
      if known == nil and names_here == _G then known = core.library()[name] end
      local written = (known == nil or names_here ~= _G) and assigned(name, before)
      value = written or known
    end
    if value == nil then return nil end
  end
  return value
end

-- The type that "NAME(…)" before a dot or colon returns, if the API tells it.
local function returned(before)
  local called = before:match "([%a_][%w_.:]*)%s*%b()%s*[.:][%w_]*$" or before:match "([%a_][%w_.:]*)%s*%b{}%s*[.:][%w_]*$"
  local fn = called and lookup(called, before)
  return fn and core.result_of(fn)
end

-- All global tables of the library are modules.
local modules = { [_G] = true }
for _, value in next, core.library() do
  if type(value) == "table" then modules[value] = true end
end

-- The name of a type whose methods are in this table.
local function kind_of_type(value)
  for name, methods in pairs(core.types) do
    if methods == value then return name end
  end
end

local function is_module(value)
  if modules[value] then return true end
  for _, module in pairs(core.trainer().modules) do
    if value == module then return true end
  end
  return false
end

local function kind_of(value)
  if type(value) ~= "table" then return type(value) end
  local entry = core.entry_of(value)
  return is_module(value) and "module" or entry and entry.kind ~= "type" and entry.kind or kind_of_type(value) or "table"
end

-- Matches: a set of names with their kinds.
local function add_members(value, prefix, matches, only)
  while members(value) do
    for name, member in next, members(value) do
      if type(name) == "string" and name:sub(1, #prefix) == prefix and name:match "^[%a_][%w_]*$" and name:sub(1, 2) ~= "__"
        and not matches[name] and (not only or type(member) == only) then
        matches[name] = only and "method" or kind_of(member)
      end
    end
    value = index_of(value)
  end
end

local function add_words(words, kind, prefix, matches)
  for name in pairs(words) do
    if name:sub(1, #prefix) == prefix and name ~= prefix then matches[name] = kind end
  end
end

-- Options are possible where a key is: after the bracket or a comma of a call's table.
local function options_at(before, prefix, stack)
  local frame, head = stack[#stack], before:sub(1, #before - #prefix)
  if not frame or frame.char ~= "{" or not frame.called or not head:find "[{,;]%s*$" then return {} end
  local fn = lookup(frame.called, head)
  return fn and core.options_of(fn) or {}
end

local keywords = {}
for word in KEYWORDS:gmatch "%a+" do keywords[word] = true end

local function add_free(before, prefix, stack, matches)
  add_members(names_here, prefix, matches)
  add_words(keywords, "keyword", prefix, matches)
  add_words(declared(before:sub(1, #before - #prefix)), "local", prefix, matches)
  add_words(options_at(before, prefix, stack), "option", prefix, matches)
end

function core.hooks.complete(request)
  names_here = request.trainer and core.trainer().names or _G
  local before = request.source:sub(1, request.cursor)
  local word = before:match "[%a_][%w_.:]*$" or ""
  local path, mark, prefix = word:match "^(.*)([.:])([%w_]*)$"
  local stack, quoted = open_brackets(before)
  local matches, names, kinds = {}, core.array {}, core.array {}
  if not path then prefix = word end
  local after = before:sub(1, #before - #word):match "[.:]%s*$"
  if quoted then
    prefix = ""
  elseif path then
    add_members(lookup(path, before), prefix, matches, mark == ":" and "function" or nil)
  elseif after then
    add_members(returned(before), prefix, matches, after:sub(1, 1) == ":" and "function" or nil)
  else
    add_free(before, prefix, stack, matches)
  end
  for name in pairs(matches) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do kinds[i] = matches[name] end
  return { matches = names, kinds = kinds, start = #before - #prefix, ["end"] = #before }
end

-- The compiler stops at the end of an unfinished text; at a word of it, the text is wrong.
function core.hooks.is_complete(request)
  if not request.text then return { status = "unknown" } end
  local _, why = load("return " .. request.text, "=", "t")
  if why then _, why = load(request.text, "=", "t") end
  return { status = not why and "complete" or why:find "<eof>$" and "incomplete" or "invalid" }
end

-- The comment above a function in the API's sources.
local function comment(info)
  local text = core.source(info.source:match "^@firesteel/(.+)%.lua$")
  if not text then return nil end
  local lines = {}
  for line in text:gmatch "([^\n]*)\n" do
    if #lines == info.linedefined - 1 then break end
    lines[#lines + 1] = line:match "^%-%- ?(.*)$" or false
  end
  local first = #lines
  while first > 0 and lines[first] do first = first - 1 end
  return first < #lines and table.concat(lines, "\n", first + 1) or nil
end

local function signature(name, fn, info)
  local parameters = {}
  for i = 1, info.nparams do
    local parameter = debug.getlocal(fn, i)
    if not (i == 1 and parameter == "self" and name:find ":") then parameters[#parameters + 1] = parameter end
  end
  if info.isvararg then parameters[#parameters + 1] = "…" end
  return ("%s(%s)"):format(name, table.concat(parameters, ", "))
end

local function describe_function(name, fn)
  local entry, info = core.entry_of(fn), debug.getinfo(fn, "Su")
  if entry then return core.told(entry, name) end
  local parts = { signature(name, fn, info) }
  parts[#parts + 1] = comment(info)
  if info.what == "C" then
    parts[#parts + 1] = "a function of Lua's library"
  elseif not info.source:find "^@firesteel/" then
    parts[#parts + 1] = ("from %s:%d"):format(info.short_src, info.linedefined)
  end
  return table.concat(parts, "\n")
end

local function describe(name, value)
  if type(value) == "function" then return describe_function(name, value) end
  if type(value) == "table" and is_module(value) then
    local entry = core.entry_of(value)
    return (entry and entry.words and core.told(entry, name) .. "\n" or "") .. core.listing(name, value)
  end
  local entry = type(value) == "table" and core.entry_of(value)
  if entry then return core.told(entry, name) end
  local meta = type(value) == "table" and getmetatable(value)
  local kind = type(meta) == "table" and rawget(meta, "__name") or kind_of(value)
  return ("%s: %s\n%s"):format(name, kind, display.inspect(value))
end

-- Explains the name at the cursor; otherwise the call that contains the cursor.
function core.hooks.inspect(request)
  local before, after = request.source:sub(1, request.cursor), request.source:sub(request.cursor + 1)
  local word = (before:match "[%a_][%w_.:]*$" or "") .. (after:match "^[%w_]*" or "")
  names_here = request.trainer and core.trainer().names or _G
  local value = word ~= "" and lookup(word, before) or nil
  if value == nil and word ~= "" and returned(before) then value = field(returned(before), word) end
  if value == nil then
    local stack = open_brackets(before)
    local frame = stack[#stack]
    word = frame and frame.called or ""
    value = word ~= "" and lookup(word, before) or nil
  end
  if value == nil then return { found = false } end
  return { found = true, data = { ["text/plain"] = describe(word, value) } }
end

local function first_sentence(words)
  return (words or ""):match "^(.-%.)%s" or words or ""
end

-- What a module shows as a cell's value: its functions, each with the first sentence that is told of it.
function core.listing(name, module)
  local lines, width, signatures, about, keys = {}, 0, {}, {}, {}
  for key, value in next, module do
    if type(key) == "string" and (type(value) == "function" or core.entry_of(value)) then keys[#keys + 1] = key end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local value = module[key]
    local entry = core.entry_of(value)
    local info = not entry and type(value) == "function" and debug.getinfo(value, "Su")
    local here = name .. "." .. key
    signatures[key] = entry and here .. entry.signature:sub(#entry.name + 1) or signature(here, value, info)
    about[key] = first_sentence(entry and entry.words or info and info.source:find "^@firesteel/" and comment(info) or "")
    if utf8.len(signatures[key]) > LISTED then signatures[key] = signatures[key]:gsub("%b{}", "{…}") end
    width = math.max(width, utf8.len(signatures[key]))
  end
  for _, key in ipairs(keys) do
    local pad = (" "):rep(width - utf8.len(signatures[key]) + 2)
    lines[#lines + 1] = (signatures[key] .. pad .. about[key]:match "[^\n]*"):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

local function overview()
  local lines = { 'help(k8s), help(k8s.get), help "nn.Dense", and k8s.get? as a line of a cell tell more of:' }
  for _, entry in ipairs(core.entries()) do
    local plain = entry.name:match "^[%a_][%w_]*$"
    if plain and entry.kind == "module" or plain and entry.kind == "function" then
      lines[#lines + 1] = ("  %-10s %s"):format(entry.name, first_sentence(entry.words))
    end
  end
  lines[#lines + 1] = 'Only trainer cells and trainer files have nn, data and hvd: help "nn", help "data", help "hvd"'
  return table.concat(lines, "\n")
end

-- The text of what a name tells of, in cells or in trainer files.
local function told_of(name)
  local entry = core.entry(name)
  local value = lookup(name)
  if value == nil and not entry then -- names of trainer files
    names_here = core.trainer().names
    value = lookup(name)
    names_here = _G
  end
  if value ~= nil then return describe(name, value) end
  if entry then return core.told(entry) end
  local known = {}
  for _, one in ipairs(core.entries()) do known[one.name] = true end
  local near, list = nil, {}
  for one in pairs(known) do list[#list + 1] = one end
  table.sort(list)
  near = core.nearest(name, list)
  core.fail("error", ("nothing is told of %s%s"):format(name, near and ("; did you mean %s?"):format(near)
    or "; help() lists what there is"))
end

-- The name of a value of which nothing is told: a global, or a function of one of Lua's modules.
local function name_of(value)
  for _, module in ipairs { "", "string", "table", "math", "os", "io", "utf8", "coroutine" } do
    for name, one in next, module == "" and _G or type(_G[module]) == "table" and _G[module] or {} do
      if type(name) == "string" and rawequal(one, value) then return module == "" and name or module .. "." .. name end
    end
  end
  return "value"
end

function help(what)
  names_here = _G
  if what == nil then
    print(overview())
  elseif type(what) == "string" then
    print(told_of(what))
  else
    local entry = (type(what) == "function" or type(what) == "table") and core.entry_of(what)
    print(describe(entry and entry.name or name_of(what), what))
  end
end

firesteel.help = help

-- The names of public functions of which nothing is told.
local function untold()
  local list = core.array {}
  local function look(prefix, holder)
    for key, value in next, holder do
      if type(value) == "function" and type(key) == "string" and key:sub(1, 1) ~= "_" and not core.entry_of(value) then
        list[#list + 1] = prefix .. key
      end
    end
  end
  local ours = {}
  for name, value in next, core.library() do
    local meta = type(value) == "table" and getmetatable(value)
    if type(value) == "function" and not core.lua_names[name] then ours[name] = value end
    if type(meta) == "table" and rawget(meta, "__name") == name then look(name .. ".", value) end
  end
  look("", ours)
  for name, methods in next, core.types do look(name .. ":", methods) end
  table.sort(list)
  return list
end

-- All that is told, as plain tables: what doc/api.md and the test of the examples are made of.
function firesteel.api()
  local all = core.array {}
  core.trainer()
  for i, entry in ipairs(core.entries()) do
    local options = core.array {}
    for j, o in ipairs(entry.options) do
      options[j] = { name = o.name, kind = o.kind, default = o.default, words = o.words }
    end
    all[i] = { name = entry.name, kind = entry.kind, signature = entry.signature, words = entry.words, returns = entry.returns,
      options = options, formula = entry.formula, source = entry.source, result = entry.result, errors = entry.errors, effect = entry.effect, example = entry.example,
      trainer = entry.root ~= nil, there = core.value_of(entry) ~= nil }
  end
  return all, untold()
end

core.api [[
help(what)
  Describes a function, a module or a type: its signature, options, result, errors, effect and an example. Without
  an argument it lists all of them. A line NAME? in a cell does the same.
  example:
    help(display.table)
    help "nn.Dense"
firesteel.api() -> list
  All that help can tell, as a list of tables {name, kind, signature, words, options, result, errors, effect, example}.
  example:
    expect(#firesteel.api()):at_least(100)
]]
