-- SPDX-License-Identifier: MIT
-- Two ranks train a network with convolutions; the losses of three steps.
local hvd, nn, data = require "hvd", require "nn", require "data"

local function train()
  hvd.init()
  local model = nn.Sequential {
    nn.Conv2D { 32, 3, activation = "relu", input_shape = { 12, 12, 16 } },
    nn.Conv2D { 32, 1 },
    nn.Conv2D { 16, 3, strides = 2, padding = "same" },
    nn.GlobalAveragePooling2D {},
    nn.Dense { 2 },
    seed = 3,
  }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.SGD { 0.01 }), loss = "mse" }
  local flat, y, losses = {}, {}, {}
  for i = 1, 8 * 12 * 12 * 16 do flat[i] = math.sin(i + hvd.rank()) end
  for i = 1, 8 do y[i] = { math.cos(i), math.sin(i) } end
  local x = data.tensor(flat):reshape { 8, 12, 12, 16 }
  for i = 1, 3 do losses[i] = ("%.9g"):format(model:train_on_batch(x, data.tensor(y))) end
  return table.concat(losses, " ")
end

local results = hvd.run(train, { np = 2 })
print(#results .. " ranks, losses " .. results[1])
