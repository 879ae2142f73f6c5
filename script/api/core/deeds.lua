-- SPDX-License-Identifier: MIT
-- What a cell owes (script/kernel/cells/deeds.c): functions that are called before it ends, also after an interrupt, a
-- time-out or an error that has kept the cell's own code from calling them.
local core = ...
local owed = {}

local function seconds_of_all()
  local seconds = 0
  for _, deed in ipairs(owed) do seconds = seconds + deed.seconds end
  return seconds
end

-- fn() is called at the end of the cell, in this time, unless the deed that this returns is settled before.
function core.owe(seconds, fn)
  local deed = { seconds = seconds, fn = fn }
  core.owing(seconds_of_all() + seconds) -- first: an interrupt may come after any line, and what is in the list is to be done
  owed[#owed + 1] = deed
  return deed
end

function core.settle(deed)
  for i, other in ipairs(owed) do
    if other == deed then table.remove(owed, i) end
  end
  core.owing(seconds_of_all())
end

-- A cell begins: what another one could not do is not its own.
function core.hooks.forget_deeds()
  owed = {}
end

function core.hooks.deeds()
  local mine = owed
  owed = {}
  for i = #mine, 1, -1 do
    local ok, why = pcall(mine[i].fn)
    if not ok then io.stderr:write(core.error_text(why), "\n") end
  end
end
