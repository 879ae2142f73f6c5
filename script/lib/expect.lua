-- SPDX-License-Identifier: MIT
-- expect(value): assertions whose failure tells the actual value. Each returns the expectation, so
-- that calls can be chained.
local core = ...
local SHOWN = 300 -- bytes of a long text in a message

local expectation = {}
expectation.__index = function(_, name)
  if name == "value" then return nil end -- what is expected of may be nil
  return rawget(expectation, name) or core.unknown("expect(…)", "check", name, expectation)
end
expectation.__name = "expectation"
expectation.__display = function() return nil end

function expect(...)
  if select("#", ...) == 0 then core.fail("error", "expect needs a value") end
  return setmetatable({ value = (...) }, expectation)
end

core.returns[expect] = expectation

local function shown(value)
  local text = type(value) == "string" and ("%q"):format(value):gsub("\\\n", "\\n") or display.inspect(value)
  if #text > SHOWN then
    local cut = SHOWN
    while cut > 0 and (text:byte(cut + 1) or 0) & 0xC0 == 0x80 do cut = cut - 1 end
    text = text:sub(1, cut) .. ("… (%d bytes)"):format(#text)
  end
  return text
end

local function fail(format, ...)
  core.fail("assertion", format:format(...))
end

local function deep_equal(a, b)
  if a == b then return true end
  if type(a) ~= "table" or type(b) ~= "table" then return false end
  for key, value in pairs(a) do
    if not deep_equal(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

local function text_of(value)
  local meta = getmetatable(value)
  if type(value) == "string" or type(value) == "number" then return tostring(value) end
  return type(meta) == "table" and meta.__tostring and tostring(value) or nil
end

local function holds(value, part)
  local text = text_of(value)
  if text then return text:find(tostring(part), 1, true) ~= nil end
  if type(value) ~= "table" then
    core.fail("error", ("expect: a %s contains nothing; a text or a list does"):format(type(value)))
  end
  for _, item in ipairs(value) do
    if deep_equal(item, part) then return true end
  end
  return false
end

function expectation:contains(part)
  if not holds(self.value, part) then fail("expected %s to contain %s", shown(self.value), shown(part)) end
  return self
end

function expectation:lacks(part)
  if holds(self.value, part) then fail("expected %s not to contain %s", shown(self.value), shown(part)) end
  return self
end

function expectation:equals(other)
  if not deep_equal(self.value, other) then fail("expected %s, got %s", shown(other), shown(self.value)) end
  return self
end

function expectation:differs(other)
  if deep_equal(self.value, other) then fail("expected anything but %s", shown(other)) end
  return self
end

local function number(self)
  if type(self.value) ~= "number" then fail("expected a number, got %s", shown(self.value)) end
  return self.value
end

function expectation:at_least(limit)
  if not (number(self) >= limit) then fail("expected at least %s, got %s", limit, self.value) end
  return self
end

function expectation:at_most(limit)
  if not (number(self) <= limit) then fail("expected at most %s, got %s", limit, self.value) end
  return self
end

function expectation:near(other, tolerance)
  tolerance = tolerance or 1e-6
  if not (math.abs(number(self) - other) <= tolerance) then
    fail("expected %s within %s, got %s", other, tolerance, self.value)
  end
  return self
end

-- Does the value match a Lua pattern?
function expectation:matches(pattern)
  local text = text_of(self.value)
  if not text or not text:find(pattern) then fail("expected %s to match %q", shown(self.value), pattern) end
  return self
end

function expectation:is_a(kind)
  if type(self.value) ~= kind then fail("expected a %s, got %s", kind, shown(self.value)) end
  return self
end

function expectation:is_true()
  if not self.value then fail("expected a true value, got %s", shown(self.value)) end
  return self
end

function expectation:is_nil()
  if self.value ~= nil then fail("expected nil, got %s", shown(self.value)) end
  return self
end

-- The function must raise an error; if a text is given, the message must contain it.
function expectation:raises(part)
  if type(self.value) ~= "function" then core.fail("error", "expect(f):raises needs a function") end
  local ok, message = pcall(self.value)
  if ok then fail("expected an error, but there was none") end
  if part and not tostring(message):find(part, 1, true) then
    fail("expected an error with %s, got %s", shown(part), shown(tostring(message)))
  end
  return self
end

-- A handle that changes by itself must reach a state: expect(app):reaches("COMPLETED", "10m").
function expectation:reaches(state, duration)
  local ok, method = pcall(function() return self.value.reaches end)
  if not ok or type(method) ~= "function" then
    core.fail("error", ("expect(…):reaches needs an object of the cluster, got %s"):format(shown(self.value)))
  end
  method(self.value, state, duration)
  return self
end
