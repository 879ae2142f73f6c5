-- SPDX-License-Identifier: MIT
-- retry: does something again that failed.
local core = ...

-- The options of a call: a number is how often.
local function retry_options(options)
  if math.type(options) == "integer" then options = { times = options } end
  options = core.check("retry", options)
  local times = options.times or options[1] or 3
  if math.type(times) ~= "integer" or times < 1 then core.fail("error", "retry: times is an integer from 1 on") end
  local backoff = options.backoff or 2
  if backoff < 1 then core.fail("error", "retry: backoff is 1 or more") end
  return times, core.duration(options.delay or 1), backoff, core.duration(options.most or 60), options.when
end

-- Errors that another try does not mend are raised at once: a refusal would be one again.
local function is_worth(when, why, try)
  if core.raised(why) == "refused" then return false end
  return not when or when(why, try)
end

function retry(options, fn)
  if type(options) == "function" then options, fn = nil, options end
  local times, delay, backoff, most, when = retry_options(options)
  core.expect_type("retry", fn, "function", "what it shall do, a function")
  for try = 1, times do
    local results = table.pack(pcall(fn, try))
    if results[1] then return table.unpack(results, 2, results.n) end
    local why = tostring(results[2])
    if try == times or not is_worth(when, why, try) then error(results[2], 0) end
    core.output("stderr", ("try %d of %d failed, the next one in %s: %s\n"):format(try, times, core.span(delay), why))
    core.sleep(delay)
    delay = math.min(delay * backoff, most)
  end
end

core.api [[
retry({times: integer=3, delay: duration=1, backoff: number=2, most: duration=60, when: function=}, fn)
  Calls fn(try) until it raises no error, and returns what it returned: retry(5, fn), retry({…}, fn), retry(fn).
  times: how often at most
  delay: how long it waits after the first failure
  backoff: the wait grows by this factor each time
  most: the longest wait
  when: when(message, try) says whether that error is worth another try
  result: what fn returned
  errors: the last error; a refusal and an interrupt at once
  example:
    print(retry({ times = 3, delay = "10ms" }, function(try)
      if try < 2 then error "not yet" end
      return "there at " .. try
    end)) --> there at 2
]]
