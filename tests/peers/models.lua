-- SPDX-License-Identifier: MIT
-- models.lua KIND NP STEPS: trains a small model on NP ranks. In the working folder it leaves the data (x0.npy, …, y.npy), the
-- model before and after (start.safetensors, end.safetensors); it prints the loss of each step. beside.py trains the same models.
local hvd, nn, data = require "hvd", require "nn", require "data"

local function train(kind, steps)
  hvd.init()
  local BATCH, ROWS = 48, 480
  local function numbers(a, ...)
    local list, n = {}, ROWS
    for _, size in ipairs { ... } do n = n * size end
    for i = 1, n do list[i] = math.sin(a * i + 0.0003 * i * i) end
    return data.tensor(list):reshape { ROWS, ... }
  end
  local function indices(step, entries)
    local list = {}
    for i = 1, ROWS do list[i] = { i * step % entries } end
    return data.tensor(list, { dtype = "i64" })
  end
  local function classes()
    local list = {}
    for i = 1, ROWS do list[i] = i * i % 7 % 5 end
    return data.tensor(list, { dtype = "i64" })
  end

  local model, x, y, optimizer, loss
  if kind == "mlp" then
    x, y = { numbers(1.7, 20) }, classes()
    model = nn.Sequential { nn.Dense { 64, activation = "relu", input_dim = 20, name = "a" }, nn.Dense { 32, activation = "tanh", name = "b" },
      nn.Dense { 5, activation = "softmax", name = "out" } }
    optimizer, loss = nn.SGD { 0.05, momentum = 0.9 }, "sparse_categorical_crossentropy"
  elseif kind == "cnn" then
    x, y = { numbers(1.1, 10, 10, 2) }, classes()
    model = nn.Sequential { nn.Input { 10, 10, 2 }, nn.Conv2D { 8, 3, padding = "same", activation = "relu", name = "a" }, nn.MaxPooling2D { 2 },
      nn.Conv2D { 16, 3, activation = "relu", name = "b" }, nn.Flatten {}, nn.Dense { 5, activation = "softmax", name = "out" } }
    optimizer, loss = nn.Adam { 0.002 }, "sparse_categorical_crossentropy"
  else
    x, y = { indices(7, 40), indices(3, 11), numbers(1.3, 6) }, numbers(0.9, 1)
    local store, day, rest = nn.Input { 1 }, nn.Input { 1 }, nn.Input { 6 }
    local h = nn.Concatenate {} { nn.Flatten {} (nn.Embedding { 40, 8, name = "store" } (store)),
      nn.Flatten {} (nn.Embedding { 11, 4, name = "day" } (day)), rest }
    h = nn.Dense { 32, activation = "relu", name = "a" } (h)
    if kind == "table" then h = nn.BatchNormalization { name = "norm" } (h) end -- each rank has its own rows' statistics
    h = nn.Dense { 16, activation = "tanh", name = "b" } (h)
    model = nn.Model { inputs = { store, day, rest }, outputs = nn.Dense { 1, name = "out" } (h) }
    optimizer, loss = nn.Adam { 0.002 }, "mse"
  end

  model:compile { optimizer = hvd.DistributedOptimizer(optimizer), loss = loss }
  if hvd.rank() == 0 then
    for k, tensor in ipairs(x) do data.save(("x%d.npy"):format(k - 1), tensor) end
    data.save("y.npy", y)
    model:save("start.safetensors", { include_optimizer = false })
  end
  local losses = {}
  for step = 0, steps - 1 do
    local from = step * BATCH % ROWS
    local function mine(tensor) return tensor:slice(from, from + BATCH):shard(hvd.rank(), hvd.size()) end
    local inputs = {}
    for k, tensor in ipairs(x) do inputs[k] = mine(tensor) end
    local history = model:fit { #inputs > 1 and inputs or inputs[1], mine(y), batch_size = BATCH // hvd.size(), shuffle = false, verbose = 0 }
    losses[step + 1] = hvd.allreduce(history.history.loss[1])
  end
  if hvd.rank() == 0 then model:save("end.safetensors", { include_optimizer = false }) end
  return losses
end

for _, loss in ipairs(hvd.run(train, { np = tonumber(arg[2]), args = { arg[1], tonumber(arg[3]) } })[1]) do
  print(("%.9g"):format(loss))
end
