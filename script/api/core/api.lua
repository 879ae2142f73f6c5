-- SPDX-License-Identifier: MIT
-- The table of the API: what each function takes, returns, raises and does, with an example. It is written beside the
-- functions (core.api, doc/adding-a-binding.md), and is what help, completion, doc/api.md, the checks of options and the test
-- of the examples read. A text is only read when somebody asks for one of its names.
local core = ...

local blocks = {}  -- { text, prefix =, root =, entries = nil until it is read }
local owners       -- the first word of a name -> the blocks that tell of it
local by_name      -- "k8s.create" -> entry; of blocks that were read
core.types = {}    -- "handle" -> the table of its methods

-- core.api(text, { types = { handle = object }, prefix = "nn.", root = names }): adds descriptions of
-- functions. `prefix` stands before all names of the text; `root` is the table that holds the modules (default: the globals).
function core.api(text, options)
  options = options or {}
  local at = #blocks + 1
  while at > 1 and blocks[at - 1].place > core.place do at = at - 1 end -- parts of the library may come in any order
  table.insert(blocks, at, { text = text, prefix = options.prefix or "", root = options.root, place = core.place })
  for name, methods in pairs(options.types or {}) do core.types[name] = methods end
  owners, by_name = nil, nil
end

-- Reading.

local function kind_of_default(default)
  if tonumber(default) then return "number" end
  if default == "true" or default == "false" then return "boolean" end
  return default:find '^"' and "string" or default:find "^{" and "table" or "any"
end

-- "a=1, b: string=, {c, d}": its parts between the outer commas.
local function parts(text)
  local depth, from, list, quoted = 0, 1, {}, false
  for at, char in text:gmatch '()([{}(),"])' do
    if char == '"' or quoted then
      quoted = (char == '"') ~= quoted
    elseif char == "," and depth == 0 then
      list[#list + 1], from = text:sub(from, at - 1), at + 1
    elseif char ~= "," then -- a bracket
      depth = depth + ((char == "{" or char == "(") and 1 or -1)
    end
  end
  list[#list + 1] = text:sub(from)
  return list
end

-- The options of a signature are what has a "=" or a ":" between braces; the signature that is shown has no types.
local function read_signature(entry, signature)
  entry.options, entry.option = {}, {}
  entry.signature = entry.prefix .. signature:gsub("%b{}", function(braces)
    local shown = {}
    for i, part in ipairs(parts(braces:sub(2, -2))) do
      local name, kind, default = part:match "^%s*([%a_][%w_]*)%s*:%s*([%w_|]+)%s*=?%s*(.-)%s*$"
      if not name then name, default = part:match "^%s*([%a_][%w_]*)%s*=%s*(.-)%s*$" end
      if name then
        local option = { name = name, kind = kind or kind_of_default(default), default = default ~= "" and default or nil }
        entry.options[#entry.options + 1], entry.option[name] = option, option
        part = name .. "=" .. default
      end
      shown[i] = part:match "^%s*(.-)%s*$"
    end
    return "{" .. table.concat(shown, ", ") .. "}"
  end)
end

local function read_head(block, line)
  local head, words = line:match "^(.-)%s+%-%-%s+(.*)$"
  local entry = { words = words, prefix = block.prefix, root = block.root }
  head = head or line
  local name, kind = head:match "^([%a_][%w_.:]*):%s+([%a_][%w_ ]*)$"
  if name then
    entry.kind, entry.options, entry.option = kind, {}, {}
    entry.name, entry.signature = block.prefix .. name, block.prefix .. name
    return entry
  end
  local signature, result = head:match "^(.-)%s+%->%s+(.*)$"
  entry.kind, entry.returns = "function", result
  entry.name = block.prefix .. (signature or head):match "^[%w_.:]*"
  read_signature(entry, signature or head)
  return entry
end

local KEYS = { effect = true, result = true, errors = true, example = true, formula = true, source = true }

local function append(entry, key, text, glue)
  entry[key] = entry[key] and entry[key] .. (glue or " ") .. text or text
end

-- A line below a head: "key: text", the rest of the text before, or a line of the example.
local function read_detail(entry, state, indent, text)
  if state.key and indent > state.indent then
    if state.key == "example" then
      state.inner = state.inner or indent
      append(entry, "example", (" "):rep(indent - state.inner) .. text, "\n")
    elseif entry.option[state.key] then
      append(entry.option[state.key], "words", text)
    else
      append(entry, state.key, text)
    end
    return
  end
  local key, rest = text:match "^([%a_][%w_]*):%s*(.*)$"
  state.key = key and (KEYS[key] or entry.option[key]) and key or nil
  state.indent, state.inner = indent, nil
  if not state.key then
    append(entry, "words", text)
  elseif rest ~= "" then
    append(entry.option[key] or entry, entry.option[key] and "words" or key, rest, key == "example" and "\n" or nil)
  end
end

local function read(block)
  if block.entries then return block.entries end
  block.entries = {}
  local base, entry, state
  for spaces, line in block.text:gmatch "( *)([^ \n][^\n]*)" do
    base = base or #spaces
    if #spaces <= base then
      entry, state = read_head(block, line), {}
      block.entries[#block.entries + 1] = entry
      by_name[entry.name] = by_name[entry.name] or entry
    else
      read_detail(entry, state, #spaces, line)
    end
  end
  for _, one in ipairs(block.entries) do
    one.formula = one.formula and one.formula:gsub("`", "") -- the marks of code are for pages
  end
  return block.entries
end

local function find_owners()
  if owners then return end
  owners, by_name = {}, {}
  for _, block in ipairs(blocks) do
    local seen = {}
    local function add(word)
      owners[word] = owners[word] or {}
      if not seen[word] then table.insert(owners[word], block) end
      seen[word] = true
    end
    if block.prefix ~= "" then
      add(block.prefix:match "^[%w_ ]+")
    else
      local base = block.text:match "^\n*( *)"
      for word in ("\n" .. block.text):gmatch("\n" .. base .. "([%a_][%w_]*)") do add(word) end
    end
    for _, one in ipairs(block.entries or {}) do by_name[one.name] = by_name[one.name] or one end
  end
end

-- What is told of a name, "k8s.create" or "handle:delete"; nil: nothing.
function core.entry(name)
  for _ = 1, 2 do
    find_owners()
    for _, block in ipairs(owners[name:match "^[^.:]*"] or {}) do read(block) end
    if by_name[name] then return by_name[name] end
    core.everything()
  end
end

-- All entries, in the order in which they were written.
function core.entries()
  local all = {}
  core.everything()
  find_owners()
  for _, block in ipairs(blocks) do table.move(read(block), 1, #block.entries, #all + 1, all) end
  return all
end

-- Values.

local function named(root, name)
  if root then return rawget(root, name) end
  return core.library()[name]
end

-- The value that an entry tells of: "handle:delete" is a method, "k8s.get" in a module, "sh" a global. nil: there is none.
function core.value_of(entry)
  local owner, mark, name = entry.name:match "^(.-)([.:])([%w_]+)$"
  if not owner then return named(entry.root, entry.name) or core.types[entry.name] end
  local holder = mark == "." and named(entry.root, owner) or core.types[owner]
  return type(holder) == "table" and rawget(holder, name) or nil
end

local told -- value -> entry
function core.entry_of(value)
  if not told then
    told = {}
    core.trainer()
    for _, entry in ipairs(core.entries()) do
      local of = core.value_of(entry)
      if of ~= nil and not told[of] then told[of] = entry end
    end
  end
  return value ~= nil and told[value] or nil
end

-- The methods of what a function returns, as far as it is told.
function core.result_of(fn)
  local entry = core.entry_of(fn)
  return entry and core.types[entry.returns]
end

-- The options of a function, by name.
function core.options_of(fn)
  local entry = core.entry_of(fn)
  return entry and entry.option or {}
end

-- Checks.

local function is_duration(value)
  return type(value) == "string" or type(value) == "number"
end

local kinds = {
  any = { says = "anything", fits = function() return true end },
  string = { says = "a text", fits = function(v) return type(v) == "string" end },
  number = { says = "a number", fits = function(v) return type(v) == "number" end },
  integer = { says = "an integer", fits = function(v) return math.tointeger(v) ~= nil and type(v) == "number" end },
  boolean = { says = "true or false", fits = function(v) return type(v) == "boolean" end },
  table = { says = "a table", fits = function(v) return type(v) == "table" end },
  list = { says = "a list", fits = function(v) return type(v) == "table" end },
  duration = { says = 'a duration such as "30s"', fits = is_duration },
}
kinds["function"] = { says = "a function", fits = function(v) return type(v) == "function" end }
core.kinds = kinds

local function shown(value)
  if value == core.null then return "null" end
  if type(value) == "number" or type(value) == "boolean" or value == nil then return tostring(value) end
  return type(value) == "string" and #value <= 40 and ("%q"):format(value) or "a " .. type(value)
end

-- Is the value of one of the kinds "string|number"? Raises what it should be. This is how functions check their arguments,
-- too: core.check_kind("display.progress", "total", total, "integer").
function core.check_kind(what, name, value, kind)
  local meant = {}
  for word in kind:gmatch "[^|]+" do
    if not kinds[word] or kinds[word].fits(value) then return end
    meant[#meant + 1] = kinds[word].says
  end
  core.fail("error", ("%s: %s must be %s, not %s"):format(what, name, table.concat(meant, " or "), shown(value)))
end

-- The options of a call, checked against what is told of it; what has no name is not an option. known: these alone.
function core.check(what, options, known)
  if options ~= nil and type(options) ~= "table" then
    core.fail("error", ("%s expects its options in a table, not a %s"):format(what, type(options)))
  end
  local entry
  for key, value in pairs(options or {}) do
    if type(key) == "string" then
      entry = entry or core.entry(what:match "^[%w_.:]*") or { option = {} }
      if not (known or entry.option)[key] then core.unknown(what, "option", key, known or entry.option) end
      if entry.option[key] then core.check_kind(what, key, value, entry.option[key].kind) end
    end
  end
  return options or {}
end

-- As text.

local function sentence(label, text)
  return text and ("%s: %s"):format(label, text) or nil
end

-- The methods of a type, each with what is told of it.
local function add_methods(lines, type_name)
  for _, entry in ipairs(core.entries()) do
    if entry.name:sub(1, #type_name + 1) == type_name .. ":" then
      lines[#lines + 1] = ("  %s  %s"):format(entry.signature, (entry.words or ""):match "^(.-%.)%s" or entry.words or "")
    end
  end
end

-- What help shows of an entry, below its signature.
function core.told(entry, name)
  local lines = { name and entry.kind == "function" and name .. entry.signature:sub(#entry.name + 1) or entry.signature }
  if entry.kind ~= "function" then lines[1] = ("%s: %s"):format(name or entry.name, entry.kind) end
  lines[2] = entry.words
  if entry.kind == "type" then add_methods(lines, entry.name) end
  local width = 0
  for _, option in ipairs(entry.options) do width = math.max(width, #option.name) end
  for _, option in ipairs(entry.options) do
    if option.words then
      lines[#lines + 1] = ("  %s  %s%s"):format(option.name .. (" "):rep(width - #option.name), option.words,
        option.default and " (" .. option.default .. ")" or "")
    end
  end
  lines[#lines + 1] = sentence("formula", entry.formula)
  lines[#lines + 1] = sentence("source", entry.source)
  lines[#lines + 1] = sentence("result", entry.result)
  lines[#lines + 1] = sentence("errors", entry.errors)
  lines[#lines + 1] = sentence("effect", entry.effect)
  if entry.example then lines[#lines + 1] = "example:\n  " .. entry.example:gsub("\n", "\n  ") end
  return table.concat(lines, "\n")
end
