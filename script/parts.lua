-- SPDX-License-Identifier: MIT
-- A tool of the build: embed -r parts.lua OUT.c -- FILE.lua… -- FILE.lua… … writes the parts of the
-- library (struct lua_part in script/embed.h): the files of each, and the names that they make. A
-- part is loaded when one of its names is first used: a global, a field of `core` or of its tables,
-- or a function that it adds to a module of another part.
-- To find the names it runs the files, with functions that do nothing in place of the kernel's.

-- What the kernel would have given: can be called, indexed and joined, and is empty.
local nothing = setmetatable({}, {
  __call = function(self) return self end,
  __index = function(self, key) if type(key) == "string" then return self end end,
  __newindex = function() end,
  __pairs = function() return function() end end,
  __concat = function() return "" end,
  __len = function() return 0 end,
})

local function stem(path) return path:match "([^/]*)%.lua$" end

local function keys_of(of)
  local keys = {}
  for key in next, of do
    if type(key) == "string" then keys[key] = true end
  end
  return keys
end

local core, globals = setmetatable({ hooks = {}, place = 0 }, { __index = function() return nothing end }), {}
for name, value in pairs(_G) do globals[name] = value end

-- The tables whose new fields are names, each with what stands before the field.
local function tables()
  local all = { [""] = globals, ["core."] = core, ["core.hooks."] = core.hooks }
  local function add(prefix, of)
    if rawequal(of, nothing) then return end
    for name, value in next, of do
      if type(name) == "string" and type(value) == "table" and not _G[name] and value ~= nothing then all[prefix .. name .. "."] = value end
    end
  end
  local types = rawget(core, "types")
  if types then all["core.types."] = types end
  add("", globals)
  add("", types or {})
  return all
end

local function run_part(files)
  local before = {}
  for prefix, of in pairs(tables()) do before[prefix] = { of = of, keys = keys_of(of) } end
  for _, path in ipairs(files) do assert(loadfile(path, "t", globals))(core) end
  local names = {}
  for prefix, was in pairs(before) do
    for key in pairs(keys_of(was.of)) do
      if not was.keys[key] then names[#names + 1] = prefix .. key end
    end
  end
  table.sort(names)
  return names
end

-- As a text of C in which each has a newline behind it.
local function quoted(list)
  local lines = { '        ""' }
  for i, one in ipairs(list) do lines[i] = ('        "%s\\n"'):format(one) end
  return table.concat(lines, "\n")
end

local out <close> = assert(io.open(arg[1], "w"))
out:write '#include "script/api/sources.h"\nconst struct lua_part lib_parts[] = {\n'
local parts = {}
for at = 2, #arg do
  if arg[at] == "--" then parts[#parts + 1] = {} else table.insert(parts[#parts], arg[at]) end
end
assert(#parts <= 32, "the kernel has a bit for each of 32 parts (interp.parts)")
for number, files in ipairs(parts) do
  local names, stems = run_part(files), {}
  for i, path in ipairs(files) do stems[i] = stem(path) end
  if number == 1 then names = {} end -- it is loaded before anything asks for a name
  out:write("    {\n", quoted(stems), ",\n", quoted(names), "},\n")
end
out:write "    {0},\n};\n"
