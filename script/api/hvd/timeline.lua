-- SPDX-License-Identifier: MIT
-- hvd.timeline: reads a timeline of hvd.run (Chrome's trace events, as trainer/dist/timeline.h writes them), checks it by the rules of
-- those who show it, and says what took how long.
local core = ...

-- The phases of the Trace Event Format (its document, "Event Types").
local PHASES = {}
for phase in ("B E X i I R C b n e S T p F s t f P N O D M V v c ( )"):gmatch "%S" do PHASES[phase] = true end

local function wrong(path, i, format, ...)
  core.fail("error", ("%s: event %d: %s"):format(path, i, format:format(...)))
end

local function number(path, i, event, name)
  local value = event[name]
  if type(value) ~= "number" or value < 0 then wrong(path, i, "%s must be a number of microseconds, not %s", name, tostring(value)) end
  return value
end

-- What Perfetto's importer (src/trace_processor/importers/json) drops or counts as an error is an error here: an event without
-- phase or place, an X without duration, an E without its B, time that goes back within a process.
local function check(path, i, event, open)
  if type(event) ~= "table" then wrong(path, i, "it is no object") end
  if not PHASES[event.ph] then wrong(path, i, 'ph must be a phase as "B" or "X", not %s', tostring(event.ph)) end
  if math.type(event.pid) ~= "integer" then wrong(path, i, "pid must be an integer, not %s", tostring(event.pid)) end
  if event.ph ~= "E" and type(event.name) ~= "string" then wrong(path, i, "it has no name") end
  if event.ph == "M" then return end
  local at = number(path, i, event, "ts")
  local stack = open[event.pid] or { last = at }
  open[event.pid] = stack
  if at < stack.last then wrong(path, i, "ts goes back from %s to %s in process %d", stack.last, at, event.pid) end
  stack.last = at
  if event.ph == "X" then number(path, i, event, "dur") end
  if event.ph == "B" then stack[#stack + 1] = event end
  if event.ph == "E" then
    if #stack == 0 then wrong(path, i, "it ends what has not begun in process %d", event.pid) end
    return table.remove(stack)
  end
end

-- What a slice that has ended says of its tensor: how long its ranks waited for each other, and how long the operation took.
local function count(sums, tensor, begun, ended)
  local one = sums[tensor] or { name = tensor, count = 0, seconds = 0.0, waited = 0.0 }
  sums[tensor] = one
  local seconds = (ended.ts - begun.ts) / 1e6
  if begun.name:find "^NEGOTIATE_" then
    one.waited = one.waited + seconds
  elseif not (begun.name:find "^MPI_" or begun.name:find "^SHM_") then
    one.kind, one.count, one.seconds = begun.name, one.count + 1, one.seconds + seconds
  end
end

local summary = { __name = "timeline" }

function summary.__tostring(t)
  local lines = { ("%d events, %d operations, %.3f s from first to last"):format(t.events, t.operations, t.seconds) }
  for i = 1, math.min(#t, 10) do
    local one = t[i]
    lines[#lines + 1] = ("%8d × %-12s %9.3f s, waited %9.3f s  %s"):format(one.count, one.kind or "", one.seconds, one.waited, one.name)
  end
  if #t > 10 then lines[#lines + 1] = ("%d more"):format(#t - 10) end
  return table.concat(lines, "\n")
end

summary.__display = summary.__tostring

function hvd.timeline(path)
  local ok, given = pcall(json.decode, fs.read(core.expect_type("hvd.timeline", path, "string", "a file that a run has written")))
  if not ok then core.fail("error", ("%s: %s"):format(path, tostring(given))) end
  local events = type(given) == "table" and (given.traceEvents or given)
  if type(events) ~= "table" or (events[1] == nil and next(events)) then
    core.fail("error", path .. ": it is no list of events, nor an object with traceEvents")
  end
  local open, names, sums, first, last = {}, {}, {}, math.huge, 0
  for i, event in ipairs(events) do
    local begun = check(path, i, event, open)
    if event.ph == "M" and event.name == "process_name" then names[event.pid] = event.args and event.args.name end
    if begun then count(sums, names[event.pid] or tostring(event.pid), begun, event) end
    if event.ts then first, last = math.min(first, event.ts), math.max(last, event.ts + (event.dur or 0)) end
  end
  for pid, stack in pairs(open) do
    if #stack > 0 then core.fail("error", ('%s: "%s" of process %d never ends'):format(path, stack[#stack].name, pid)) end
  end
  local result = { events = #events, operations = 0, seconds = math.max(0, last - first) / 1e6 }
  for _, one in pairs(sums) do
    result[#result + 1], result.operations = one, result.operations + one.count
  end
  table.sort(result, function(a, b)
    if a.seconds ~= b.seconds then return a.seconds > b.seconds end
    return a.name < b.name
  end)
  return setmetatable(result, summary)
end

core.api [[
hvd.timeline(path) -> table
  Reads the timeline of a run, checks that Perfetto and chrome://tracing take it (the Trace Event Format), and says what took how long.
  result: {events, operations, seconds, {name, kind, count, seconds, waited}, …}: for each tensor how many operations, how long they took, and how long ranks waited for each other before; the longest first
  errors: a file that is no such trace, with the number of the event
  effect: pure
  example:
    fs.write("timeline.json", '[{"ph":"B","pid":0,"ts":1,"name":"ALLREDUCE"},{"ph":"E","pid":0,"ts":5}]')
    print(hvd.timeline("timeline.json").operations) --> 1
]]
