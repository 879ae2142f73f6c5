-- SPDX-License-Identifier: MIT
-- Which trials there are, and which of them go on: grid, random, and asynchronous successive halving.
local core = ...
local MOST = 10000 -- trials

core.search = {}
local search = core.search

-- Distributions: userdata-like tables that draw from a generator.
local distribution = { __name = "distribution" }
distribution.__index = distribution
distribution.__tostring = function(d) return d.text end
distribution.__display = function(d) return d.text end

local function number(what, name, value)
  if type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
    core.fail("error", ("%s: %s must be a finite number, not %s"):format(what, name, display.inspect(value)))
  end
  return value
end

local function bounds(what, lower, upper)
  if number(what, "the upper bound", upper) <= number(what, "the lower bound", lower) then
    core.fail("error", ("%s: the upper bound %s is not above the lower one, %s"):format(what, upper, lower))
  end
end

local function distributed(text, draw)
  return setmetatable({ text = text, draw = draw }, distribution)
end

function search.uniform(lower, upper)
  bounds("tune.uniform", lower, upper)
  return distributed(("uniform(%s, %s)"):format(lower, upper), function(g) return lower + (upper - lower) * g:float() end)
end

function search.loguniform(lower, upper)
  bounds("tune.loguniform", lower, upper)
  if lower <= 0 then core.fail("error", ("tune.loguniform: the lower bound is above 0, not %s"):format(lower)) end
  local low, high = math.log(lower), math.log(upper)
  return distributed(("loguniform(%s, %s)"):format(lower, upper), function(g)
    return math.min(upper, math.max(lower, math.exp(low + (high - low) * g:float())))
  end)
end

function search.randint(lower, upper)
  bounds("tune.randint", lower, upper)
  lower, upper = math.tointeger(lower), math.tointeger(upper)
  if not lower or not upper then core.fail("error", "tune.randint: the bounds are integers") end
  return distributed(("randint(%d, %d)"):format(lower, upper), function(g) return g:integer(lower, upper - 1) end)
end

function search.choice(list)
  if type(list) ~= "table" or #list == 0 then core.fail("error", "tune.choice expects a list with at least one value") end
  return distributed(("choice(%s)"):format(display.inspect(list)), function(g) return list[g:integer(1, #list)] end)
end

local function is_plain(value)
  local kind = type(value)
  return kind == "string" or kind == "boolean" or kind == "number" and value == value and math.abs(value) < math.huge
end

local function check_list(what, name, list)
  if #list == 0 then core.fail("error", ("%s: over.%s is an empty list; it needs at least one value"):format(what, name)) end
  for key, value in pairs(list) do
    if math.type(key) ~= "integer" or key < 1 or key > #list then
      core.fail("error", ("%s: over.%s is a list of values, and has the key %s"):format(what, name, display.inspect(key)))
    elseif not is_plain(value) then
      core.fail("error", ("%s: over.%s[%d] must be a text, a number or a boolean, not %s"):format(what, name, key, display.inspect(value)))
    end
  end
end

-- The parameters in the order of their names: { {name, values = list or nil, draw = function or nil} }.
function search.space(what, over, random)
  core.expect_type(what .. ": over", over, "table", "values by parameter, { lr = { 0.1, 0.01 } }")
  local space = {}
  for name, values in pairs(over) do
    if type(name) ~= "string" or name == "" then
      core.fail("error", ("%s: over has names, over = { lr = { 0.1, 0.01 } }, not %s"):format(what, display.inspect(name)))
    end
    local one = { name = name }
    if getmetatable(values) == distribution then
      if not random then
        core.fail("error", ("%s: over.%s is %s, which a grid has no values of; say search = \"random\" and samples = 10")
          :format(what, name, values.text))
      end
      one.draw = values.draw
    elseif type(values) == "table" then
      check_list(what, name, values)
      one.values = values
    elseif is_plain(values) then
      one.values = { values }
    else
      core.fail("error", ("%s: over.%s must be a list of values%s, not %s"):format(what, name, random and " or a distribution" or "",
        values == nil and "nil" or "a " .. type(values)))
    end
    space[#space + 1] = one
  end
  if #space == 0 then core.fail("error", ("%s: over is empty; it has the values to try, over = { lr = { 0.1, 0.01 } }"):format(what)) end
  table.sort(space, function(a, b) return a.name < b.name end)
  return space
end

-- Every combination; the last name changes fastest.
function search.grid(what, space)
  local count = 1
  for _, one in ipairs(space) do
    count = count * #one.values
    if count > MOST then core.fail("error", ("%s: that is more than %d combinations; search = \"random\" tries some of them"):format(what, MOST)) end
  end
  local list = {}
  for i = 0, count - 1 do
    local params, rest = {}, i
    for k = #space, 1, -1 do
      local values = space[k].values
      params[space[k].name] = values[rest % #values + 1]
      rest = rest // #values
    end
    list[#list + 1] = params
  end
  return list
end

-- So many samples; a list is a choice of its values.
function search.random(what, space, samples, seed)
  if samples > MOST then core.fail("error", ("%s: samples is at most %d"):format(what, MOST)) end
  local g, list = core.random(seed), {}
  for i = 1, samples do
    list[i] = {}
    for _, one in ipairs(space) do
      list[i][one.name] = one.draw and one.draw(g) or one.values and one.values[g:integer(1, #one.values)]
    end
  end
  return list
end

-- Asynchronous successive halving: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), in the form in
-- which Ray Tune's ASHAScheduler stops trials. Rungs are at grace_period · reduction_factor^k below max_t. A trial that
-- reaches a rung is compared with those that were there before it, and stops unless it is in the best 1/reduction_factor.
local halving = {}
halving.__index = halving

function search.halving(what, options, sign)
  local rf, grace, most = options.reduction_factor or 4, options.grace_period or 1, options.max_t or 100
  if rf <= 1 then core.fail("error", ("%s: reduction_factor is above 1, not %s"):format(what, rf)) end
  if grace < 1 then core.fail("error", ("%s: grace_period is 1 or more, not %s"):format(what, grace)) end
  if most < grace then core.fail("error", ("%s: max_t = %s is less than grace_period = %s"):format(what, most, grace)) end
  local rungs, at = {}, grace
  while at < most do
    table.insert(rungs, 1, { at = at, values = {}, has = {} }) -- the highest first
    at = at * rf
  end
  return setmetatable({ rungs = rungs, factor = rf, most = most, sign = sign }, halving)
end

-- The value above which the best 1/factor of these lie, with linear interpolation as numpy's percentile.
local function cutoff(values, factor)
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted)
  local place = (1 - 1 / factor) * (#sorted - 1)
  local low = math.floor(place)
  local from, to = sorted[low + 1], sorted[math.min(low + 2, #sorted)]
  return from + (to - from) * (place - low)
end

-- A trial has this value at t: nil, it goes on; else what to do and why. A training that was looked at is not ended at its
-- last epoch: it has yet to save what it has learnt.
function halving:judge(trial, t, value, looked)
  if t >= self.most then
    if looked and t == self.most then return nil end
    return { state = "done", why = ("reached max_t = %s"):format(self.most) }
  end
  for _, rung in ipairs(self.rungs) do
    if t >= rung.at and not rung.has[trial] then
      local mine = value == value and value * self.sign or -math.huge
      local least = #rung.values > 0 and cutoff(rung.values, self.factor)
      rung.has[trial] = true
      rung.values[#rung.values + 1] = mine
      if least and mine < least then
        return { state = "stopped", why = ("%.6g at %s; %.6g goes on"):format(value, t, least * self.sign) }
      end
      return nil
    elseif rung.has[trial] then
      return nil
    end
  end
end
