-- SPDX-License-Identifier: MIT
-- Groups of weights with a learning rate, a decay of their own, or frozen, beside PyTorch's parameter groups and Keras's frozen
-- layers (golden_groups.py prints the numbers). firesteel-worker runs it.
local nn, data, hvd = require "nn", require "data", require "hvd"

local cases = require "cases"
local test, same, fails = cases.test, cases.same, cases.fails

local golden = {
  SGD = { 0.57923281, 0.57211369, 0.57123566, 0.57386279, 0.57010669, 0.56476116 },
  AdamW = { 0.57923281, 0.5796302, 0.56825995, 0.5563975, 0.5537582, 0.5478456 },
  clipped = { 0.57923281, 0.57254922, 0.57180512, 0.57156467, 0.57141727, 0.57128799 },
  frozen = { 0.85768354, 0.61512452, 0.77455544, 0.76216066, 0.58832181, 0.69354284 },
}

local function wave(f, step, rows, columns, start, scale)
  local list = {}
  for k = 0, rows * columns - 1 do list[k + 1] = (scale or 1) * f((start or 0) + step * k) end
  local t = data.tensor(list)
  return columns == 1 and rows > 1 and not start and t:reshape { rows, 1 } or t:reshape { rows, columns }
end
local x, y = wave(math.sin, 0.9, 8, 3), wave(math.cos, 0.5, 8, 1)

-- Weight i holds 0.8·sin(1 + i + 0.7·k).
local function fill(model)
  local weights = model:get_weights()
  for i, w in ipairs(weights) do
    local shape, n = w.shape, 1
    for _, size in ipairs(shape) do n = n * size end
    local values = {}
    for k = 0, n - 1 do values[k + 1] = 0.8 * math.sin(i + 0.7 * k) end
    weights[i] = data.tensor(values):reshape(shape)
  end
  model:set_weights(weights)
  return model, weights
end

-- As a chain, which has one fused operation, and as a graph, which has one for each layer.
local makers = {
  chain = function()
    return nn.Sequential { nn.Dense { 4, activation = "tanh", input_dim = 3, name = "a" }, nn.Dense { 4, activation = "tanh", name = "b" }, nn.Dense { 1, name = "out" } }
  end,
  graph = function()
    return nn.Sequential { nn.Input { 3 }, nn.Dense { 4, name = "a" }, nn.Activation { "tanh" }, nn.Dense { 4, name = "b" }, nn.Activation { "tanh" }, nn.Dense { 1, name = "out" } }
  end,
}

local function losses_of(model, steps)
  local losses = {}
  for i = 1, steps or 6 do losses[i] = (model:train_on_batch(x, y)) end
  return losses
end

local function near(got, want, what)
  for i, loss in ipairs(want) do
    if not (math.abs(got[i] - loss) <= 1e-5) then error(("%s, step %d: got %.9g, want %.9g"):format(what, i, got[i], loss), 2) end
  end
end

local optimizers = {
  SGD = nn.SGD { 0.1, momentum = 0.9, groups = { { "a", learning_rate_multiplier = 0.25 }, { "b/bias", trainable = false } } },
  -- A weight that two groups name gets of each what it sets, the later one's where both do.
  AdamW = nn.AdamW { 0.02, weight_decay = 0.1, groups = { { "a", learning_rate_multiplier = 2, weight_decay = 0.3 }, { "*/bias", weight_decay = 0 } } },
  clipped = nn.SGD { 0.2, global_clipnorm = 0.3, groups = { { "a", trainable = false } } },
}
for kind, make in pairs(makers) do
  for name, optimizer in pairs(optimizers) do
    test(("a %s with %s has PyTorch's losses"):format(kind, name), function()
      for threads = 1, 3 do
        local model = fill(make())
        model:compile { optimizer = optimizer, loss = "mse", threads = threads }
        near(losses_of(model), golden[name], name)
      end
    end)
  end
end

test("what is frozen keeps its bits, and its gradient is not given", function()
  for kind, make in pairs(makers) do
    local model, before = fill(make())
    model:compile { optimizer = nn.Adam { 0.1, weight_decay = 0.5, groups = { { "a", "out/bias", trainable = false } } }, loss = "mse" }
    losses_of(model)
    local after = model:get_weights()
    for i, frozen in ipairs { true, true, false, false, false, true } do same(after[i] == before[i], frozen, kind .. " weight " .. i) end
    local _, gradients = model:gradients(x, y)
    same(table.concat(gradients.names, " "), "b/kernel b/bias out/kernel", kind)
    model.optimizer:apply(model, gradients)
    fails("trains 3 weights, but got 2", model.optimizer.apply, model.optimizer, model, { gradients[1], gradients[2] })
    -- Compiled anew they are trained again.
    model:compile { optimizer = nn.Adam { 0.1 }, loss = "mse" }
    same(#select(2, model:gradients(x, y)), 6)
  end
end)

local function with_norm(optimizer, trainable)
  local model = nn.Sequential { nn.Dense { 4, activation = "tanh", input_dim = 3 }, nn.BatchNormalization { name = "norm", trainable = trainable }, nn.Dense { 1 } }
  local _, weights = fill(model)
  -- In Keras's order the statistics are weights 5 and 6 of 8; here, too.
  weights[6] = weights[6] * weights[6] + 0.1
  model:set_weights(weights)
  model:compile { optimizer = optimizer, loss = "mse" }
  return model
end

test("a frozen BatchNormalization computes with its moving statistics, as in Keras", function()
  for threads = 1, 2 do
    local model = with_norm(nn.SGD { 0.1, momentum = 0.9 }, false)
    near(losses_of(model), golden.frozen, "the layer's trainable")
    model = with_norm(nn.SGD { 0.1, momentum = 0.9, groups = { { "norm", trainable = false } } })
    local before = model:get_weights()
    near(losses_of(model), golden.frozen, "a group's trainable")
    for i = 3, 6 do same(model:get_weights()[i], before[i]) end
    model = with_norm(nn.SGD { 0.1, momentum = 0.9, groups = { { "norm", trainable = true } } }, false)
    same(math.abs(losses_of(model)[3] - golden.frozen[3]) > 1e-3, true, "a group thaws what its layer has frozen")
  end
end)

test("a checkpoint goes on with the groups, to the bit", function()
  for name, optimizer in pairs(optimizers) do
    local model, path = fill(makers.chain()), os.tmpname()
    model:compile { optimizer = optimizer, loss = "mse" }
    losses_of(model, 3)
    model:save(path)
    local other = nn.load(path)
    os.remove(path)
    losses_of(model, 3)
    same(#other.optimizer.groups, #optimizer.groups, name)
    losses_of(other, 2)
    other:compile { optimizer = "adam", loss = "mse" }
    same(other.optimizer.groups, nil)
  end
  local model, path = fill(makers.chain()), os.tmpname()
  model:compile { optimizer = optimizers.AdamW, loss = "mse" }
  losses_of(model, 3)
  model:save(path)
  local other = nn.load(path)
  os.remove(path)
  losses_of(model, 3)
  losses_of(other, 3)
  for i, w in ipairs(model:get_weights()) do same(w, other:get_weights()[i], "weight " .. i) end
  -- A layer's own.
  model = nn.Sequential { nn.Dense { 2, input_dim = 3, trainable = false, name = "a" }, nn.Dense { 1 } }
  model:save(path)
  model = nn.load(path)
  os.remove(path)
  model:compile { loss = "mse" }
  same(#select(2, model:gradients(x, y)), 2)
end)

test("groups travel to ranks, which train as one", function()
  local one = fill(makers.graph())
  one:compile { optimizer = optimizers.AdamW, loss = "mse" }
  losses_of(one, 4)
  local want = one:get_weights()[1]:totable()
  local path = os.tmpname()
  fill(makers.graph()):save(path)
  local function train(optimizer, from, bx, by)
    hvd.init()
    local model = nn.load(from)
    model:compile { optimizer = hvd.DistributedOptimizer(optimizer), loss = "mse" }
    bx, by = bx:shard(hvd.rank(), hvd.size()), by:shard(hvd.rank(), hvd.size())
    for _ = 1, 4 do model:train_on_batch(bx, by) end
    return model:get_weights()[1]:totable()
  end
  local got = hvd.run(train, { np = 2, args = { optimizers.AdamW, path, x, y } })
  os.remove(path)
  for r = 1, 2 do
    for i, row in ipairs(want) do
      for k, value in ipairs(row) do same(math.abs(got[r][i][k] - value) < 1e-6, true, "rank " .. r) end
    end
  end
end)

test("a model is built later, and its groups are looked up then", function()
  local model = nn.Sequential { nn.Dense { 4, activation = "tanh", name = "a" }, nn.Dense { 1 } }
  model:compile { optimizer = nn.SGD { 0.1, groups = { { "a", trainable = false } } }, loss = "mse" }
  same(#select(2, model:gradients(x, y)), 2)
  model = nn.Sequential { nn.Dense { 4, activation = "tanh", name = "a" }, nn.Dense { 1 } }
  model:compile { optimizer = nn.SGD { 0.1, groups = { { "c", trainable = false } } }, loss = "mse" }
  fails('the group "c" names no weight; the model has a/kernel, a/bias, dense/kernel, dense/bias', model.train_on_batch, model, x, y)
end)

test("what is wrong in a group is said", function()
  local model = makers.chain()
  local function compiled(group) model:compile { optimizer = nn.Adam { groups = { group } }, loss = "mse" } end
  fails('the group "dense" names no weight; the model has a/kernel, a/bias', compiled, { "dense", trainable = false })
  fails("learning_rate_multiplier must be at least 0, not -1", compiled, { "a", learning_rate_multiplier = -1 })
  fails("weight_decay must be at least 0, not inf", compiled, { "a", weight_decay = math.huge })
  fails("group 1: unknown option 'lr'; known are learning_rate_multiplier, trainable, weight_decay", compiled, { "a", lr = 1 })
  fails("group 1 sets nothing", compiled, { "a" })
  fails("group 1: a name must be a string, got 3", compiled, { 3, trainable = false })
  fails("group 1 must be a table that begins with names", compiled, { trainable = false })
  fails("group 1 must be a table that begins with names", compiled, "a")
  -- A refused compile leaves the old one as it was.
  model = fill(makers.graph())
  model:compile { optimizer = optimizers.SGD, loss = "mse" }
  fails("names no weight", compiled, { "dense", trainable = false })
  near(losses_of(model), golden.SGD, "after a refused compile")
end)

test("a model that is frozen as a whole stands still", function()
  local model, before = fill(makers.graph())
  model:compile { optimizer = nn.Adam { 0.1, groups = { { "*", trainable = false } } }, loss = "mse" }
  local loss = model:train_on_batch(x, y)
  near({ loss, (model:train_on_batch(x, y)) }, { golden.SGD[1], golden.SGD[1] }, "frozen")
  for i, w in ipairs(model:get_weights()) do same(w, before[i]) end
end)

-- A layer that is called twice.
local function twice(optimizer, path)
  local input, dense = nn.Input { 3 }, nn.Dense { 3, activation = "tanh", name = "tower" }
  local model = nn.Model { inputs = input, outputs = nn.Dense { 1 } (dense(dense(input))) }
  if path then
    model:compile { optimizer = optimizer, loss = "mse" }
    losses_of(model, 2)
    model:save(path)
    return model, nn.load(path)
  end
  model:compile { optimizer = optimizer, loss = "mse" }
  return model
end

test("a layer that is called twice has its weights once: counted, saved, frozen by its first name", function()
  local model, other = twice(nn.Adam { 0.01 }, os.tmpname())
  same(model:count_params(), 3 * 3 + 3 + 3 + 1)
  losses_of(model, 3)
  losses_of(other, 3)
  for i, w in ipairs(model:get_weights()) do same(w, other:get_weights()[i], "weight " .. i) end
  local frozen = twice(nn.Adam { 0.01, groups = { { "tower", trainable = false } } })
  local before = frozen:get_weights()
  same(table.concat(select(2, frozen:gradients(x, y)).names, " "), "dense/kernel dense/bias")
  losses_of(frozen, 3)
  same(frozen:get_weights()[1], before[1])
  same(frozen:get_weights()[3] == before[3], false)
  local input, wide = nn.Input { 3 }, nn.Dense { 4, name = "wide" }
  fails("wide:2 uses the weights of wide, whose kernel has shape (3, 4), not (4, 4)", nn.Model, { inputs = input, outputs = wide(wide(input)) })
end)

-- A probability that is an output, and goes on into another layer: the same as with an Activation for each.
test("an output with an activation feeds another layer", function()
  local classes = data.tensor({ 0, 1, 2, 1, 0, 2, 1, 1 }, { dtype = "i64" })
  local results = {}
  for i, apart in ipairs { true, false } do
    local input = nn.Input { 3 }
    local z = nn.Dense { 3, activation = apart and "linear" or "softmax" } (input)
    local p = apart and nn.Activation { "softmax" } (z) or z
    local shown = apart and nn.Activation { "softmax" } (z) or z
    local model = nn.Model { inputs = input, outputs = { shown, nn.Dense { 1 } (nn.Concatenate {} { p, input }) }, seed = 4 }
    model:compile { optimizer = nn.SGD { 0.3 }, loss = { "sparse_categorical_crossentropy", "mse" }, threads = i }
    local losses = {}
    for step = 1, 5 do losses[step] = (model:train_on_batch(x, { classes, y })) end
    results[i] = { losses, (model:predict(x)), model }
  end
  near(results[2][1], results[1][1], "losses")
  same((results[1][2] - results[2][2]):abs():max() < 1e-5, true, "predictions")
  same(math.abs(results[2][2]:slice(0, 1):sum() - 1) < 1e-5, true, "a probability")
  local path = os.tmpname()
  results[2][3]:save(path)
  same(((nn.load(path):predict(x)) - results[2][2]):abs():max(), 0.0)
  os.remove(path)
end)

cases.run()
