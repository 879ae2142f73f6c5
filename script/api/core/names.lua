-- SPDX-License-Identifier: MIT
-- Names that people write: options of calls, functions, methods. A misspelt one is an error that says what was meant,
-- at the line of the one who wrote it; it is never passed over.
local core = ...

local function sorted(names)
  local list = {}
  for name in pairs(names) do
    if type(name) == "string" and name:sub(1, 2) ~= "__" then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

-- "k8s.get has no option namespce; did you mean namespace?"
function core.unknown(what, noun, name, known)
  core.everything() -- parts that are not loaded yet may add to what is known
  local names = sorted(known)
  local near = type(name) == "string" and core.nearest(name, names)
  core.fail("error", ("%s has no %s %s%s"):format(what, noun, tostring(name),
    near and ("; did you mean %s?"):format(near) or #names > 0 and "; it has " .. table.concat(names, ", ") or ""))
end

function core.expect_type(what, value, kind, meant)
  if type(value) ~= kind then
    core.fail("error", ("%s expects %s, not %s"):format(what, meant, value == nil and "nil" or "a " .. type(value)))
  end
  return value
end

-- What a part that is not loaded yet adds to a table: "display.plot" is its key `plot`. nil: nothing.
function core.added(name, functions, key)
  return type(key) == "string" and core.more(name .. "." .. key) and rawget(functions, key) or nil
end

-- A table of functions in which there is nothing else to find.
function core.module(name, functions)
  local meta = getmetatable(functions) or {}
  meta.__index = function(_, key) return core.added(name, functions, key) or core.unknown(name, "function", key, functions) end
  meta.__name = name
  meta.__display = rawget(meta, "__display") or function() return core.listing(name, functions) end
  return setmetatable(functions, meta)
end
