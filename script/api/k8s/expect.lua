-- SPDX-License-Identifier: MIT
-- expect(value): assertions whose failure tells the actual value. Each returns the expectation, so
-- that calls can be chained.
local core = ...
local SHOWN = 300 -- characters of a long text in a message

local expectation = {}
expectation.__index = function(_, name)
  if name == "value" then return nil end -- what is expected of may be nil
  return rawget(expectation, name) or core.added("expectation", expectation, name) or core.unknown("expect(…)", "check", name, expectation)
end
expectation.__name = "expectation"
expectation.__display = function() return nil end

function expect(...)
  if select("#", ...) == 0 then core.fail("error", "expect needs a value") end
  return setmetatable({ value = (...) }, expectation)
end

local function shown(value)
  local text = type(value) == "string" and ("%q"):format(value):gsub("\\\n", "\\n") or display.inspect(value)
  local short = core.short(text, SHOWN)
  return #short < #text and short:find "…$" and ("%s (%d bytes)"):format(short, #text) or short
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
  local text = type(value) ~= "number" and text_of(value)
  if text then return text:find(tostring(part), 1, true) ~= nil end
  if type(value) ~= "table" then
    core.fail("error", ("expect: a %s contains nothing; a text or a list does"):format(type(value)))
  end
  local name = next(value)
  if name ~= nil and #value == 0 then
    core.fail("error", ("expect: a table with names, as %s, is neither a text nor a list: expect one of its fields"):format(shown(name)))
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

-- The value and what it is compared with, which are numbers.
local function number(self, what, name, other)
  core.check_kind("expect(…):" .. what, name, other, "number")
  if type(self.value) ~= "number" then fail("expected a number, got %s", shown(self.value)) end
  return self.value
end

function expectation:at_least(limit)
  if not (number(self, "at_least", "the limit", limit) >= limit) then fail("expected at least %s, got %s", limit, self.value) end
  return self
end

function expectation:at_most(limit)
  if not (number(self, "at_most", "the limit", limit) <= limit) then fail("expected at most %s, got %s", limit, self.value) end
  return self
end

function expectation:near(other, tolerance)
  tolerance = tolerance or 1e-6
  core.check_kind("expect(…):near", "the tolerance", tolerance, "number")
  if not (math.abs(number(self, "near", "the other", other) - other) <= tolerance) then
    fail("expected %s within %s, got %s", other, tolerance, self.value)
  end
  return self
end

-- Does the value match a Lua pattern?
function expectation:matches(pattern)
  core.check_kind("expect(…):matches", "the pattern", pattern, "string")
  local text = text_of(self.value)
  if not text or not text:find(pattern) then fail("expected %s to match %q", shown(self.value), pattern) end
  return self
end

function expectation:is_a(kind)
  core.check_kind("expect(…):is_a", "the type", kind, "string")
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
  core.check_kind("expect(…):raises", "the part", part or "", "string")
  local ok, message = pcall(self.value)
  if ok then fail("expected an error, but there was none") end
  if part and not core.error_text(message):find(part, 1, true) then
    fail("expected an error with %s, got %s", shown(part), shown(core.error_text(message)))
  end
  return self
end

-- A handle that changes by itself must reach a state: expect(app):reaches("COMPLETED", "10m"). Of a list of handles all
-- must; they are waited for side by side, and the first that cannot reach it any more ends the wait.
function expectation:reaches(state, duration)
  local value = self.value
  local ok, method = pcall(function() return value.reaches end)
  if ok and type(method) == "function" then
    method(value, state, duration)
    return self
  end
  if type(value) ~= "table" or #value == 0 then
    core.fail("error", ("expect(…):reaches needs an object of the cluster or a list of them, got %s"):format(shown(value)))
  end
  for i, item in ipairs(value) do
    local has, wait = pcall(function() return item.reaches end)
    if not has or type(wait) ~= "function" then
      core.fail("error", ("expect(…):reaches: item %d of the list is no object of the cluster: %s"):format(i, shown(item)))
    end
  end
  parallel.map(value, function(item) item:reaches(state, duration) end)
  return self
end

core.types.expectation = expectation

core.api [[
expect(value) -> expectation
  What must be so: expect(value) has checks that can be chained, and whose failure tells the actual value.
  errors: the check that does not hold, which fails the cell
  example:
    expect(3):at_least(1):at_most(5)
expectation: type -- What expect(value) gives; each check returns it.
expectation:equals(other) -> expectation
  Equal, tables by what is in them.
  example:
    expect({ 1, { a = 2 } }):equals { 1, { a = 2 } }
expectation:differs(other) -> expectation
  Not equal.
  example:
    expect("a"):differs "b"
expectation:contains(part) -> expectation
  A text has this part, or a list this item.
  errors: a value that is neither
  example:
    expect("epoch 5/5"):contains "5/5"
    expect({ 1, 2 }):contains(2)
expectation:lacks(part) -> expectation
  A text does not have this part, or a list this item.
  errors: a value that is neither, as a table with names: expect(result.output) has the text
  example:
    expect(sh("echo fine", { quiet = true })):lacks "error"
expectation:matches(pattern) -> expectation
  A text matches a pattern of Lua.
  example:
    expect("loss 0.25"):matches "loss %d"
expectation:at_least(limit) -> expectation
  A number is not smaller.
  example:
    expect(0.97):at_least(0.95)
expectation:at_most(limit) -> expectation
  A number is not greater.
  example:
    expect(0.1):at_most(0.2)
expectation:near(other, tolerance) -> expectation
  A number is so close to another; the tolerance is 1e-6 unless it is said.
  example:
    expect(1 / 3):near(0.333, 1e-3)
expectation:is_a(kind) -> expectation
  The type that Lua tells: "number", "table", …
  example:
    expect({}):is_a "table"
expectation:is_true() -> expectation
  Neither nil nor false.
  example:
    expect(1 < 2):is_true()
expectation:is_nil() -> expectation
  There is no value.
  example:
    expect(nil):is_nil()
expectation:raises(part) -> expectation
  Calling the function is an error, whose message has this part.
  example:
    expect(function() error "no such file" end):raises "such file"
expectation:reaches(state, timeout) -> expectation
  What changes by itself reaches a state; an object of the cluster that ends in another one is an error at once, with its cause.
  errors: a state that its kind does not have, another state at its end, and the time-out
  example:
    expect(k8s.get("pods", "hello")):reaches("Succeeded", "1m")
]]
