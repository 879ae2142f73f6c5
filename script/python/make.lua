-- SPDX-License-Identifier: MIT
-- Writes Python's module of the API (firesteel/_api.py) of what the functions tell of themselves, the texts of core.api in
-- script/api. The build runs it: embed -r make.lua OUT FILE.lua…
local out = arg[1]
local core = { place = 0, everything = function() end, array = function(list) return list end }

-- What a program in Python has itself: what it is called there.
local PYTHON_S = { json = "json", yaml = "yaml (PyYAML)", csv = "csv", time = "time and datetime", fs = "open() and pathlib",
  async = "threading and asyncio", await = "threading and asyncio", input = "input()", help = "help()" }
-- What is called with functions of Lua.
local LUA_S = {}
for name in ("parallel tune study pipeline pipeline_step retry k8s.each expectation:raises"):gmatch "%S+" do LUA_S[name] = true end
-- What nobody asks for without one of these.
local LEFT_OUT = {}
for name in ("flow trials trial distribution ratio branch firesteel.array firesteel.json firesteel.parse_json firesteel.api " ..
  "firesteel.duration"):gmatch "%S+" do LEFT_OUT[name] = true end
for _, names in ipairs { PYTHON_S, LUA_S } do
  for name in pairs(names) do LEFT_OUT[name] = true end
end

local RESERVED = {}
for word in ("and as assert async await break class continue def del elif else except finally for from global if import in is " ..
  "lambda nonlocal not or pass raise return try while with yield None True False"):gmatch "%S+" do RESERVED[word] = true end

local KINDS = { string = "str", number = "float", integer = "int", boolean = "bool", list = "Sequence[Any]", duration = "str | float" }
local RESULTS = { string = "str", number = "float", boolean = "bool", list = "List[Any]" }

-- Stands for all that the library finds when it runs in a kernel: whatever is asked of it is itself again.
local anything = {}
local meta = {}
for event in ("index call concat add sub mul div unm idiv mod"):gmatch "%S+" do
  meta["__" .. event] = function() return anything end
end
meta.__len = function() return 0 end
meta.__pairs = function() return next, {} end
setmetatable(anything, meta)

-- Runs the library's files for their core.api alone. Some make their texts of several.
local function read_texts()
  local globals = setmetatable({}, { __index = function(_, name) return _G[name] or anything end })
  for i = 2, #arg do
    if arg[i]:find "/api%.lua$" then assert(loadfile(arg[i]))(core) end
  end
  setmetatable(core, { __index = meta.__index })
  for i = 2, #arg do
    core.place = i
    if not arg[i]:find "/api%.lua$" and not arg[i]:find "/worker%a+%.lua$" then assert(loadfile(arg[i], "t", globals))(core) end
  end
end

local function identifier(name)
  return RESERVED[name] and name .. "_" or name
end

local function class_name(kind)
  return (" " .. kind):gsub("[ _](%a)", string.upper)
end

-- "a, {b=1, c=}, d": its parts between the outer commas.
local function split(text)
  local parts, depth, from = {}, 0, 1
  for at, char in text:gmatch "()([{}(),])" do
    if char == "," and depth == 0 then
      parts[#parts + 1], from = text:sub(from, at - 1), at + 1
    elseif char ~= "," then
      depth = depth + ((char == "{" or char == "(") and 1 or -1)
    end
  end
  parts[#parts + 1] = text:sub(from)
  for i, part in ipairs(parts) do parts[i] = part:match "^%s*(.-)%s*$" end
  return parts
end

local function kind_of(option)
  local kinds = {}
  for word in option.kind:gmatch "[^|]+" do kinds[#kinds + 1] = KINDS[word] or "Any" end
  return table.concat(kinds, " | ") .. " | None"
end

-- What a function takes: its positional parameters, at which place the table of options stands (from 0; nil: there is none;
-- "table": all stands in it), whether any name is an option.
local function parameters(entry)
  local inside = entry.signature:match "^[%w_.: ]+%((.*)%)$"
  local names, at, rest = {}, nil, false
  for i, part in ipairs(split(inside or entry.signature:match "(%b{})$" or "")) do
    if part:sub(1, 1) == "{" and not inside then
      at = "table"
      for _, one in ipairs(split(part:sub(2, -2))) do
        if not one:find "=" and one:match "^[%a_][%w_]*$" then names[#names + 1] = one end
        rest = rest or one:find("…", 1, true) ~= nil
      end
    elseif part:sub(1, 1) == "{" then
      at = i - 1
    elseif part ~= "" then
      names[#names + 1] = part
    end
  end
  return names, at, rest
end

local function takes_function(entry, names)
  for _, name in ipairs(names) do
    if name == "fn" or name == "..." then return true end
  end
  return entry.option.fn ~= nil
end

local function quoted(text)
  return (text:gsub("\\", "\\\\"):gsub('"""', '\\"\\"\\"'))
end

local function docstring(entry, options, indent)
  local lines = { entry.words or "" }
  if #options > 0 then lines[#lines + 1] = "" end
  for _, option in ipairs(options) do
    lines[#lines + 1] = ("%s: %s%s"):format(identifier(option.name), option.words or option.kind,
      option.default and (" (%s)"):format(option.default) or "")
  end
  for _, key in ipairs { "result", "errors", "effect" } do
    if entry[key] then lines[#lines + 1] = ("\n%s: %s"):format(key:gsub("^%l", string.upper), entry[key]) end
  end
  local text = quoted(table.concat(lines, "\n")):gsub("\n", "\n" .. indent):gsub("\n +\n", "\n\n")
  return ('%s"""%s%s"""'):format(indent, text, #lines > 1 and "\n" .. indent or "")
end

-- What to write instead of an entry that Python does not have.
local function instead(entry)
  local own = PYTHON_S[entry.name]
  if own then return ("firesteel has no %s for Python, which has %s itself"):format(entry.name, own) end
  local reason = entry.name == "k8s.each" and "is an iterator of Lua (k8s.list has the objects here)" or "takes functions of Lua, not of Python"
  return ("%s %s. Call it in a cell in Lua, with %%%%lua in its first line (in a notebook in Lua: in a cell without language=)%s")
    :format(entry.name, reason, entry.signature and ": " .. entry.signature or "")
end

local function write_left(write, entry, name, indent)
  write(("%s%s = _Left(%q)\n\n"):format(indent, identifier(name), instead(entry)))
end

-- owner: the module or type, NULL for a function of its own; method: it has a self.
local function write_function(write, entry, name, indent, method, classes)
  local names, at, rest = parameters(entry)
  if LEFT_OUT[entry.name] or takes_function(entry, names) then return write_left(write, entry, name, indent) end
  local head, called, seen, options, given = {}, {}, {}, {}, {}
  if method then head[1] = "self" end
  local several = at == "table" and #names == 1 and names[1]:find "[^s]s$" and names[1] ~= "series" -- f { "a", "b" }
  for i, one in ipairs(names) do
    called[i], seen[one] = (several and "*" or "") .. identifier(one), true
    head[#head + 1] = called[i] .. ((i == 1 or several) and ": Any" or ": Any = None")
  end
  for _, option in ipairs(entry.options) do
    local usable = not seen[option.name] and option.kind ~= "function" and not (option.default or ""):find("…", 1, true)
    if usable then options[#options + 1], seen[option.name] = option, true end
  end
  if #options > 0 and not several then head[#head + 1] = "*" end
  for _, option in ipairs(options) do
    head[#head + 1] = ("%s: %s = None"):format(identifier(option.name), kind_of(option))
    given[#given + 1] = ("%q: %s"):format(option.name, identifier(option.name))
  end
  if rest then head[#head + 1] = "**more: Any" end
  if rest then given[#given + 1] = "**more" end
  local returns = entry.returns and (classes[entry.returns] or RESULTS[entry.returns]) or "Any"
  if indent ~= "" and not method then write(indent .. "@staticmethod\n") end
  write(("%sdef %s(%s) -> %s:\n%s\n"):format(indent, identifier(name), table.concat(head, ", "), returns,
    docstring(entry, options, indent .. "    ")))
  local tuple = #called == 0 and "()" or "(" .. table.concat(called, ", ") .. ",)"
  write(indent .. "    __tracebackhide__ = True\n")
  write(("%s    return _call(%s, %s, {%s}%s%s%s)\n\n"):format(indent,
    method and ('"method", "%s"'):format(name) or ('"call", "%s"'):format(entry.name), tuple, table.concat(given, ", "),
    type(at) == "number" and (", at=%d"):format(at) or "", method and ", of=self" or "", at == "table" and ", table=True" or ""))
end

local function sorted(entries)
  local functions, members, types, values, missing = {}, {}, {}, {}, {}
  for _, entry in ipairs(entries) do
    local owner, mark, name = entry.name:match "^(.-)([.:])([%w_]+)$"
    local left = LEFT_OUT[entry.name] and not (owner and LUA_S[entry.name]) or LEFT_OUT[owner or ""] and mark or entry.name:find "^_"
    if left then
      if PYTHON_S[entry.name] or LUA_S[entry.name] then missing[entry.name] = entry end
    elseif mark == "." and owner ~= "firesteel" and entry.kind == "function" then
      members[owner] = members[owner] or { about = nil }
      table.insert(members[owner], { entry, name })
    elseif mark == ":" then
      types[owner] = types[owner] or {}
      table.insert(types[owner], { entry, name })
    elseif owner == "firesteel" and entry.kind == "string" and not core.entry(name) then
      values[#values + 1] = name -- firesteel.run is a module here
    elseif entry.kind == "function" then
      functions[#functions + 1] = { entry, name or entry.name }
    elseif entry.kind == "module" then
      members[entry.name] = members[entry.name] or {}
      members[entry.name].about = entry.words
    elseif entry.kind == "type" then
      types[entry.name] = types[entry.name] or {}
      types[entry.name].about = entry.words
    end
  end
  members.firesteel = nil
  return functions, members, types, values, missing
end

local function keys(t)
  local list = {}
  for key in pairs(t) do list[#list + 1] = key end
  table.sort(list)
  return list
end

read_texts()
local functions, members, types, values, missing = sorted(core.entries())
local classes, text, all = {}, {}, {}
local function write(line) text[#text + 1] = line end
for name in pairs(types) do classes[name] = class_name(name) end
write '# Written by the build from what script/api tells of its functions (script/python/make.lua).\n'
write '"""The functions of firesteel, by module; the types of what they return."""\n'
write "from __future__ import annotations\n\nfrom typing import Any, List, Sequence\n\nfrom ._link import Value, _call, _Left, _types\n\n\n"
for _, name in ipairs(keys(types)) do
  local of = types[name]
  write(('class %s(Value):\n    """%s"""\n'):format(classes[name], quoted(of.about or name)))
  write(('    _kind = "%s"\n\n'):format(name))
  for _, one in ipairs(of) do write_function(write, one[1], one[2], "    ", true, classes) end
  write(('\n_types["%s"] = %s\n\n\n'):format(name, classes[name]))
  all[#all + 1] = classes[name]
end
for _, name in ipairs(keys(members)) do
  local of = members[name]
  if #of > 0 then
    write(('class %s:\n    """%s"""\n\n'):format(name, quoted(of.about or name)))
    for _, one in ipairs(of) do write_function(write, one[1], one[2], "    ", false, classes) end
    write "\n"
    all[#all + 1] = name
  end
end
for _, one in ipairs(functions) do
  write_function(write, one[1], one[2], "", false, classes)
  write "\n"
  all[#all + 1] = one[2]
end
table.sort(all)
for i, name in ipairs(all) do all[i] = ("%q"):format(name) end
table.sort(values)
for i, name in ipairs(values) do values[i] = ("%q"):format(name) end
write "_left = {\n"
for _, name in ipairs(keys(missing)) do write(("    %q: _Left(%q),\n"):format(name, instead(missing[name]))) end
write "}\n"
write(("_values = [%s]\n"):format(table.concat(values, ", ")))
write(("__all__ = [%s]\n"):format(table.concat(all, ", ")))
local file = assert(io.open(out, "w"))
file:write(table.concat(text))
file:close()
