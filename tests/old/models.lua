-- SPDX-License-Identifier: MIT
-- Checkpoints of an earlier version, in the folder that is the argument: what their models predict, and how training goes on.
local nn, data = require "nn", require "data"
local folder = arg[1]
local expected = dofile(folder .. "/expected.lua")

-- The rows that made.lua gave then.
local function rows(input, n)
  local size, flat = n, {}
  for _, d in ipairs(input) do size = size * d end
  for i = 1, size do flat[i] = input.below and i * 3 % input.below or ((i * 7 + n * 3) % 11 - 5) / 4 end
  return data.tensor(flat):reshape { n, table.unpack(input) }
end

local function all_rows(shapes, n)
  local all = {}
  for i, shape in ipairs(shapes) do all[i] = rows(shape, n) end
  return #all == 1 and all[1] or all
end

local function numbers(text)
  local all = {}
  for word in text:gmatch "%S+" do all[#all + 1] = tonumber(word) end
  return all
end

local function near(got, want, exact, what)
  local far = exact and 0 or 2e-5 * math.max(1, math.abs(want))
  if not (math.abs(got - want) <= far) then error(("%s: %a, and it was %a"):format(what, got, want), 0) end
end

local function same(model, one, texts, what)
  local p = model:predict(all_rows(one.inputs, 2))
  p = #texts == 1 and { p } or p
  for i, text in ipairs(texts) do
    local want, flat = numbers(text), p[i]:reshape { -1 }
    if #want ~= #flat then error(("%s: output %d has %d numbers, and had %d"):format(what, i, #flat, #want), 0) end
    for k, number in ipairs(want) do near(flat[k - 1], number, one.exact, ("%s, number %d of output %d"):format(what, k, i)) end
  end
end

local failed = 0
for _, one in ipairs(expected) do
  local ok, why = pcall(function()
    local model = nn.load(folder .. "/" .. one.name .. ".safetensors")
    if model:count_params() ~= one.params then error(("%d parameters, and had %d"):format(model:count_params(), one.params), 0) end
    same(model, one, one.predicts, "predicts")
    for i, loss in ipairs(one.losses or {}) do
      near(model:train_on_batch(all_rows(one.inputs, 8), all_rows(one.outputs, 8)), tonumber(loss), false, "loss of step " .. i)
      near(model.learning_rate, tonumber(one.rates[i]), false, "rate after step " .. i)
    end
    if one.then_predicts then same(model, one, one.then_predicts, "predicts after two steps") end
  end)
  print(("# %s: %s"):format(one.name, ok and "as then" or why))
  if not ok then failed = failed + 1 end
end
os.exit(failed == 0 and #expected == 18)
