-- SPDX-License-Identifier: MIT
-- parallel, async and await: functions of a cell that wait side by side. core.branch and its like are C's
-- (script/kernel/cells/branches.c); a branch goes on while others wait.
local core = ...
local NAME = 40 -- characters of a name that is made of an item

parallel = {}

local branch = core.branch_meta
core.branch_meta = nil
branch.__name = "branch"
branch.__tostring = function(b) return ("branch %s: %s"):format(core.branch_state(b)) end
branch.__display = function() return nil end -- what it does is shown below the cell

local function is_branch(value)
  return type(value) == "userdata" and getmetatable(value) == branch
end

-- What a branch runs: its own branches end before it does.
local function body(fn, ...)
  local results = table.pack(fn(...))
  core.join()
  return table.unpack(results, 1, results.n)
end

-- async(fn, …), async("name", fn, …) → a branch, which runs fn(…) while the cell waits for something. A cell ends
-- after its branches.
function async(name, ...)
  local fn = ...
  if type(name) ~= "string" then name, fn = nil, name end
  if type(fn) ~= "function" then
    core.fail("error", 'async expects a function, and what to call it with: async(function() sh "make" end)')
  end
  if name then return core.branch({ name = name, item = { name, select(2, ...) } }, body, ...) end
  return core.branch({ name = "async", item = { ... } }, body, fn, ...)
end

-- await(branch) → what its function returned; its error is raised here. await { a, b } → the first result of each, in a
-- list; the first error of any of them is raised.
function await(what)
  if is_branch(what) then return core.await(what) end
  if type(what) ~= "table" then
    core.fail("error", ("await expects what async returned, or a list of these, not %s"):format(
      what == nil and "nil" or "a " .. type(what)))
  end
  local results = {}
  for i, b in ipairs(what) do
    if not is_branch(b) then core.fail("error", ("await: item %d of the list is not what async returned"):format(i)) end
  end
  for i, b in ipairs(what) do results[i] = core.await(b) end
  return results
end

local function text_name(value)
  if type(value) == "string" or type(value) == "number" or type(value) == "boolean" then
    local text = core.short(core.masked(tostring(value)):gsub("%c", " "), NAME)
    return text ~= "" and text or nil
  end
  if type(value) ~= "table" then return nil end
  local meta = rawget(value, "metadata")
  local name = rawget(value, "name") or (type(meta) == "table" and meta.name)
  return type(name) == "string" and text_name(name) or nil
end

-- A list of results of a function that returns none: as the value of a cell it is not shown.
local nothing = { __display = function() return nil end }

-- Stops what still runs, and waits until it has ended.
local function cancel(group, running)
  for b in pairs(running) do core.cancel(b) end
  while core.next(group) do end
end

-- parallel.map(list, { at_once = 3 }, fn) → a list of what fn(item, index) returns, in the list's order. Waits, sh,
-- trainer.run and calls to the cluster go on side by side, at_once of them (else all). The first error stops the rest and is
-- raised. With collect = true all are done: → results, errors, where errors[index] is a message. timeout = "5m" is for
-- each; name(item, index) names a branch.
function parallel.map(list, options, fn)
  if fn == nil and type(options) == "function" then options, fn = nil, options end
  core.expect_type("parallel.map", list, "table", "a list")
  options = core.check("parallel.map", options)
  core.expect_type("parallel.map", fn, "function", "a function to call with each item")
  local most = options.at_once or math.huge
  if type(most) ~= "number" or most < 1 then core.fail("error", "parallel.map: at_once is a number from 1 on") end
  local seconds = options.timeout and core.duration(options.timeout)
  local group, running, count = core.group(), {}, 0
  local results, errors, failed = {}, {}, nil

  local function take()
    local b = core.next(group)
    local i = running[b]
    running[b], count = nil, count - 1
    local ok, value = core.outcome(b)
    if ok then
      results[i] = value
    elseif options.collect then
      local _, raised = pcall(core.await, b)
      errors[i] = raised
    else
      failed = b
    end
  end

  for i, item in ipairs(list) do
    while count >= most and not failed do take() end
    if failed then break end
    local name = options.name and options.name(item, i) or text_name(item) or "#" .. i
    running[core.branch({ name = tostring(name), item = item, group = group, timeout = seconds }, body, fn, item, i)] = i
    count = count + 1
  end
  while count > 0 and not failed do take() end
  if failed then
    cancel(group, running)
    core.await(failed)
  end
  if next(results) == nil then setmetatable(results, nothing) end
  if options.collect then return results, errors end
  return results
end

core.module("parallel", parallel)

core.api [[
parallel: module -- Functions that wait side by side.
parallel.map(list, {at_once: integer=, collect=false, name: function=, timeout: duration=}, fn) -> list
  Calls fn(item, index) for each item of a list, in branches of the cell: waits, sh, trainer.run and calls to the
  cluster go on side by side. What a branch writes stands below its name. The options may be left out.
  at_once: how many branches there are at a time; all unless it is said
  collect: does all of them in spite of errors, and returns these, too
  name: name(item, index) gives the name of a branch; the item's own text or name unless it is said
  timeout: for each; a branch that takes longer is stopped, and that is an error, which can be caught, and of which `run` makes a 4
  result: what fn returned, in the order of the list; with collect also the messages of the errors, by index
  errors: the first error of a branch, after which the others are stopped (unless collect = true)
  example:
    squares = parallel.map({ 1, 2, 3 }, { at_once = 2 }, function(x)
      firesteel.sleep "10ms"
      return x * x
    end)
    print(table.concat(squares, " ")) --> 1 4 9
async(name, fn, ...) -> branch
  Runs fn(…) in a branch of the cell, which goes on while the cell waits for something. A cell ends after its
  branches; an error for which nobody has waited is raised at its end. The name may be left out.
  example:
    build = async("build", function() return sh("echo built", { quiet = true }).output end)
    firesteel.sleep "10ms"
    io.write(await(build)) --> built
branch: type -- What async gives, for await.
await(branch) -> any
  Waits until a branch has ended. Of a list of branches it waits for all.
  result: the results of the branch's function; for a list of branches, a list with the first result of each
  errors: the branch's own error; a place where Lua cannot be suspended, such as a comparison of table.sort
  example:
    a, b = async(function() return 1 end), async(function() return 2 end)
    print(await(a) + await(b)) --> 3
]]
