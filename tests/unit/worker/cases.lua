-- SPDX-License-Identifier: MIT
-- TAP for tests in a trainer file: cases by name, what they assert, and the run of all of them.
--   local cases = require "cases"
--   cases.test("a sum", function() cases.same(1 + 1, 2) end)
--   cases.run()
local M, list = {}, {}

function M.test(name, fn) list[#list + 1] = { name, fn } end

function M.same(got, want, what)
  if got ~= want then error(("%s: got %s, want %s"):format(what or "value", tostring(got), tostring(want)), 2) end
end

function M.near(got, want, tolerance, what)
  if not (math.abs(got - want) <= (tolerance or 1e-9)) then error(("%s: got %.17g, want %.17g"):format(what or "value", got, want), 2) end
end

-- Does fn fail, with a message that has this in it?
function M.fails(why, fn, ...)
  local ok, message = pcall(fn, ...)
  if ok then error("should have failed: " .. why, 2) end
  if not tostring(message):find(why, 1, true) then error(("got \"%s\", want \"%s\""):format(message, why), 2) end
end

-- Ends the program. finish: what is called after all cases; may be nil.
function M.run(finish)
  io.stdout:setvbuf "line"
  print("1.." .. #list)
  local failed = false
  for i, case in ipairs(list) do
    local ok, problem = xpcall(case[2], debug.traceback)
    print((ok and "ok " or "not ok ") .. i .. " - " .. case[1])
    if not ok then
      failed = true
      print("# " .. tostring(problem):gsub("\n", "\n# "))
    end
  end
  if finish then finish() end
  os.exit(not failed)
end

return M
