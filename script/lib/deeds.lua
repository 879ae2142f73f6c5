-- SPDX-License-Identifier: MIT
-- What a cell owes (script/kernel/cells/deeds.c): functions that are called before it ends, also after an interrupt, a
-- time-out or an error that has kept the cell's own code from calling them.
local core = ...
local owed = {}

local function tell()
  local seconds = 0
  for _, deed in ipairs(owed) do seconds = seconds + deed.seconds end
  core.owing(seconds)
end

-- fn() is called at the end of the cell, in this time, unless the deed that this returns is settled before.
function core.owe(seconds, fn)
  local deed = { seconds = seconds, fn = fn }
  owed[#owed + 1] = deed
  tell()
  return deed
end

function core.settle(deed)
  for i, other in ipairs(owed) do
    if other == deed then table.remove(owed, i) end
  end
  tell()
end

function core.hooks.deeds()
  local mine = owed
  owed = {}
  for i = #mine, 1, -1 do
    local ok, why = pcall(mine[i].fn)
    if not ok then io.stderr:write(tostring(why), "\n") end
  end
end
