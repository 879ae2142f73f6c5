-- SPDX-License-Identifier: MIT
-- Loops of one's own in a trainer file: batches, gradients and steps, compared with model:fit bit for bit.
-- firesteel-worker runs it.
local nn, data = require "nn", require "data"
local ops = nn.ops

local cases = require "cases"
local test, same, near, fails = cases.test, cases.same, cases.near, cases.fails

local function same_weights(a, b, what)
  local left, right = a:get_weights(), b:get_weights()
  for i, w in ipairs(left) do
    if w ~= right[i] then error(("%s: weight %d differs by %g"):format(what, i, (w - right[i]):abs():max()), 2) end
  end
end

-- 48 rows of 6 numbers, half of them 0; a class and a number for each.
local function rows()
  local x, class, value, ids = {}, {}, {}, {}
  for i = 1, 48 do
    x[i] = {}
    for k = 1, 6 do x[i][k] = (i * 7 + k * 5) % 4 < 2 and 0 or math.sin(i + 2 * k) end
    class[i], value[i], ids[i] = (i * 11) % 3, { math.cos(i) }, { i % 5, i % 3 }
  end
  return data.tensor(x), data.tensor(class, { dtype = "i64" }), data.tensor(value), data.tensor(ids, { dtype = "i64" })
end
local x, class, value, ids = rows()

local makers = {
  chain = function()
    return nn.Sequential { nn.Dense { 80, activation = "relu", input_dim = 6 }, nn.Dropout { 0.25 }, nn.Dense { 3, activation = "softmax" }, seed = 5 },
      "sparse_categorical_crossentropy", x, class
  end,
  graph = function()
    local id, number = nn.Input { 2 }, nn.Input { 6 }
    local h = nn.Concatenate {} { nn.Flatten {} (nn.Embedding { 5, 3 } (id)), number }
    h = nn.Dropout { 0.2 } (nn.BatchNormalization {} (nn.Dense { 9, activation = "gelu" } (h)))
    return nn.Model { inputs = { id, number }, outputs = nn.Dense { 1 } (h), seed = 7 }, "mse", { ids, x }, value
  end,
  ["shared layer"] = function()
    local id, number = nn.Input { 2 }, nn.Input { 6 }
    local dense, norm, words = nn.Dense { 6, activation = "tanh", kernel_regularizer = nn.L2 { 0.02 } }, nn.BatchNormalization {}, nn.Embedding { 5, 3 }
    local h = norm(dense(nn.Dropout { 0.2 } (norm(dense(number)))))
    h = nn.Concatenate {} { nn.Flatten {} (words(id)), h, nn.Flatten {} (words(id)) }
    return nn.Model { inputs = { id, number }, outputs = nn.Dense { 1 } (h), seed = 7 }, "mse", { ids, x }, value
  end,
}

local function cut(t, from, to)
  if type(t) ~= "table" then return t:slice(from, to) end
  local parts = {}
  for i, one in ipairs(t) do parts[i] = one:slice(from, to) end
  return parts
end

local function fitted(make, optimizer, threads)
  local m, loss, inputs, targets = make()
  m:compile { optimizer = optimizer, loss = loss, threads = threads }
  local h = m:fit { inputs, targets, batch_size = 12, epochs = 2, shuffle = false, verbose = 0 }
  return m, h.history.loss
end

-- The same two epochs by hand; step(m, x, y) returns the loss of a batch.
local function looped(make, optimizer, threads, step)
  local m, loss, inputs, targets = make()
  m:compile { optimizer = optimizer, loss = loss, threads = threads }
  local losses = {}
  for epoch = 1, 2 do
    losses[epoch] = 0
    for from = 0, 36, 12 do losses[epoch] = losses[epoch] + step(m, cut(inputs, from, from + 12), targets:slice(from, from + 12)) / 4 end
  end
  return m, losses
end

local optimizers = {
  ["SGD with momentum"] = nn.SGD { 0.1, momentum = 0.9, nesterov = true }, Adam = nn.Adam { 0.01 },
  ["Adam with clipping"] = nn.Adam { 0.01, global_clipnorm = 0.05 }, ["RMSprop on a schedule"] = nn.RMSprop { nn.CosineDecay { 0.01, 20 } },
  AdamW = nn.AdamW { 0.01, weight_decay = 0.1 }, SGD = nn.SGD { 0.1 }, Adagrad = nn.Adagrad { 0.1 }, ["Adagrad with clipping"] = nn.Adagrad { 0.1, clipnorm = 0.05 },
  ["Adam with groups"] = nn.Adam { nn.CosineDecay { 0.01, 20 }, weight_decay = 0.1, groups = {
    { "dense", learning_rate_multiplier = 0.5 }, { "*/bias", weight_decay = 0, learning_rate_multiplier = 2 }, { "dense_1/kernel", trainable = false } } },
  ["SGD with a frozen layer"] = nn.SGD { 0.1, momentum = 0.9, clipnorm = 0.05, groups = { { "dense", trainable = false } } },
  ["SGD with decay"] = nn.SGD { 0.1, weight_decay = 0.1 }, ["RMSprop, centered"] = nn.RMSprop { 0.01, momentum = 0.3, centered = true },
}
for kind, make in pairs(makers) do
  for name, optimizer in pairs(optimizers) do
    test(("a %s with %s: gradients and apply have the bits of fit"):format(kind, name), function()
      local m, losses = fitted(make, optimizer, 1)
      for threads = 1, 2 do
        local mine, sums = looped(make, optimizer, threads, function(own, bx, by)
          local loss, gradients = own:gradients(bx, by)
          optimizer:apply(own, gradients)
          return loss
        end)
        same_weights(mine, m, name .. ", threads " .. threads)
        near(sums[2], losses[2], 1e-6)
      end
      same_weights(looped(make, optimizer, 2, function(own, bx, by) return (own:train_on_batch(bx, by)) end), m, "train_on_batch")
    end)
  end
end

-- fit passes over rows of a table that no batch has named; apply has gradients for all of them. Rows of 7 numbers
-- share lines of 16.
test("epochs of steps_per_epoch go on in the data", function()
  local rows, seen = {}, {}
  for i = 1, 12 do rows[i] = { i } end
  local x = data.tensor(rows)
  local function model()
    seen = {}
    local m = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }
    m:compile { loss = "mse", optimizer = nn.SGD { 1e-9 }, metrics = { see = function(y)
      for i = 0, #y - 1 do seen[#seen + 1] = ("%d"):format(y[i][0]) end
      return 0
    end } }
    return m
  end
  local function fit(m, options)
    options[1], options[2], options.batch_size, options.verbose = x, x, 2, 0
    m:fit(options)
    return table.concat(seen, " ")
  end
  same(fit(model(), { steps_per_epoch = 2, epochs = 4, shuffle = false }), "1 2 3 4 5 6 7 8 9 10 11 12 1 2 3 4")
  same(fit(model(), { steps_per_epoch = 8, epochs = 1, shuffle = false }), "1 2 3 4 5 6 7 8 9 10 11 12 1 2 3 4")
  same(fit(model(), { steps_per_epoch = 5, epochs = 2, shuffle = false }), "1 2 3 4 5 6 7 8 9 10 11 12 1 2 3 4 5 6 7 8")
  same(fit(model(), { steps_per_epoch = 6, epochs = 2 }), fit(model(), { epochs = 2 }))
  -- Two epochs of half the data are one of all, in its order; a second fit goes on, too.
  local all = fit(model(), { epochs = 2 })
  same(fit(model(), { steps_per_epoch = 3, epochs = 4 }), all)
  same(fit(model(), { steps_per_epoch = 12 }), all)
  local m = model()
  for _ = 1, 4 do fit(m, { steps_per_epoch = 3 }) end
  same(table.concat(seen, " "), all)
  fails("steps_per_epoch = 1099511627776 is too many: an epoch has at most 268435456 rows", fit, model(), { steps_per_epoch = 1 << 40 })
end)

test("a step passes over rows of a table that no batch has named", function()
  for name, optimizer in pairs { SGD = nn.SGD { 0.5 }, Adagrad = nn.Adagrad { 0.5 }, Adam = nn.Adam { 0.01 }, LazyAdam = nn.LazyAdam { 0.01 }, ["SGD on a schedule"] = nn.SGD { nn.CosineDecay { 0.5, 9 } } } do
    local id = {}
    for i = 1, 48 do id[i] = { i * i * 31 % 997, i // 5, 996 } end
    local big = data.tensor(id, { dtype = "i32" })
    local function make()
      local input = nn.Input { 3 }
      local h = nn.Flatten {} (nn.Embedding { 997, 7 } (input))
      return nn.Model { inputs = input, outputs = nn.Dense { 1 } (h), seed = 9 }, "mse", big, value
    end
    local m = fitted(make, optimizer, 1)
    same_weights(fitted(make, optimizer, 3), m, "threads")
    local applied = looped(make, optimizer, 1, function(own, bx, by)
      local loss, gradients = own:gradients(bx, by)
      optimizer:apply(own, gradients)
      return loss
    end)
    same_weights(applied, m, "apply")
    -- A gradient of rows that the last call for gradients did not name counts, too.
    local one, sum = make()
    one:compile { optimizer = optimizer, loss = "mse" }
    for from = 0, 36, 12 do
      local _, gradients = one:gradients(big:slice(from, from + 12), value:slice(from, from + 12))
      for i, g in ipairs(gradients) do gradients[i] = (sum and sum[i] or 0) + g / 4 end
      sum = gradients
    end
    optimizer:apply(one, sum)
    local whole = make()
    whole:compile { optimizer = optimizer, loss = "mse" }
    whole:train_on_batch(big, value)
    if not name:find "Ada" then near((one:get_weights()[1] - whole:get_weights()[1]):abs():max(), 0, 1e-7, "in four parts") end
    local touched = (one:get_weights()[1] - make():get_weights()[1]):abs():max(1):greater(0)
    same(touched == (whole:get_weights()[1] - make():get_weights()[1]):abs():max(1):greater(0), true)
    -- In turn, the rows that apply had for all of them are as they should be in train_on_batch.
    local mixed = looped(make, optimizer, 2, function(own, bx, by)
      local loss, gradients = own:gradients(bx, by)
      if loss > 0.35 then optimizer:apply(own, gradients) else loss = own:train_on_batch(bx, by) end
      return loss
    end)
    same_weights(mixed, m, "in turn")
    local moved = (m:get_weights()[1] - make():get_weights()[1]):abs():max(1):greater(0):sum()
    if not (moved > 30 and moved < 100) then error("rows that moved: " .. moved) end
  end
end)

-- TensorFlow Addons's LazyAdam and PyTorch's SparseAdam, by hand: w, m and v of the rows that a batch names, by the number of the step.
test("LazyAdam leaves the rows alone that a batch does not name", function()
  for _, decay in ipairs { 0, 0.1 } do
    local input = nn.Input { 2 }
    local words = nn.Embedding { 60, 7 }
    local m = nn.Model { inputs = input, outputs = nn.Dense { 1 } (nn.Flatten {} (words(input))), seed = 3 }
    m:compile { optimizer = nn.LazyAdam { 0.02, beta_1 = 0.8, beta_2 = 0.95, epsilon = 1e-3, weight_decay = decay }, loss = "mse", threads = 2 }
    local w, rate = m:get_weights()[1]:totable(), 0.02
    local s = {}
    for row = 1, 60 do s[row] = { m = { 0, 0, 0, 0, 0, 0, 0 }, v = { 0, 0, 0, 0, 0, 0, 0 } } end
    for t = 1, 6 do
      local rows = { { t, t + 1 }, { 2 * t, 3 * t }, { 59, 2 } }
      local batch, y = data.tensor(rows, { dtype = "i64" }), data.tensor { { 3 }, { -2 }, { t } }
      local _, g = m:gradients(batch, y)
      local named, slope = {}, g[1]:totable()
      for _, both in ipairs(rows) do named[both[1] + 1], named[both[2] + 1] = true, true end
      for row in pairs(named) do
        for c = 1, 7 do
          local d, old = slope[row][c], s[row]
          w[row][c] = w[row][c] * (1 - rate * decay)
          old.m[c] = 0.8 * old.m[c] + 0.2 * d
          old.v[c] = 0.95 * old.v[c] + 0.05 * d * d
          w[row][c] = w[row][c] - rate * math.sqrt(1 - 0.95 ^ t) / (1 - 0.8 ^ t) * old.m[c] / (math.sqrt(old.v[c]) + 1e-3)
        end
      end
      m:train_on_batch(batch, y)
      near((m:get_weights()[1] - data.tensor(w)):abs():max(), 0, 2e-6, "step " .. t)
    end
  end
end)

test("gradients of two halves are the gradient of the whole", function()
  local _, loss = makers.chain()
  local m = nn.Sequential { nn.Dense { 80, activation = "tanh", input_dim = 6 }, nn.Dense { 3, activation = "softmax" }, seed = 5 }
  m:compile { optimizer = nn.SGD { 0.1 }, loss = loss }
  local whole_loss, whole = m:gradients(x, class)
  local a_loss, a = m:gradients(x:slice(0, 24), class:slice(0, 24))
  local b_loss, b = m:gradients(x:slice(24), class:slice(24))
  near((a_loss + b_loss) / 2, whole_loss, 1e-6)
  same(table.concat(whole.names, " "), "dense/kernel dense/bias dense_1/kernel dense_1/bias")
  for i, g in ipairs(whole) do near((g - (a[i] + b[i]) / 2):abs():max(), 0, 1e-7, whole.names[i]) end
end)

test("a gradient is the slope of the loss", function()
  local m, loss, inputs, targets = makers.graph()
  m:compile { optimizer = nn.SGD { 0.1 }, loss = loss }
  -- Without Dropout and statistics: those have noise, and move.
  local number = nn.Input { 6 }
  m = nn.Model { inputs = number, outputs = nn.Dense { 1 } (nn.LayerNormalization {} (nn.Dense { 5, activation = "silu" } (number))), seed = 3 }
  m:compile { optimizer = nn.SGD { 0.1 }, loss = "mse" }
  local weight = nn.ops.full({ 48 }, 0.5) + x:columns(0, 1):reshape { 48 }:abs()
  local _, g = m:gradients(x, targets, { sample_weight = weight })
  local weights, step = m:get_weights(), 1e-2
  for i, w in ipairs(weights) do
    local flat = w:reshape { -1 }
    for _, at in ipairs { 0, #flat // 2, #flat - 1 } do
      local function loss_at(by)
        local nudged = {}
        for k = 0, #flat - 1 do nudged[k + 1] = flat[k] + (k == at and by or 0) end
        weights[i] = data.tensor(nudged):reshape(w.shape)
        m:set_weights(weights)
        weights[i] = w
        return m:test_on_batch(x, targets, { sample_weight = weight })
      end
      near(g[i]:reshape({ -1 })[at], (loss_at(step) - loss_at(-step)) / (2 * step), 2e-3, g.names[i])
    end
  end
end)

test("another loss for the gradients", function()
  local m = nn.Sequential { nn.Dense { 1, input_dim = 6 }, seed = 5 }
  m:compile { optimizer = nn.SGD { 0.1 }, loss = "mse", metrics = { "mae" } }
  local squared = m:gradients(x, value)
  local absolute, g = m:gradients(x, value, { loss = "mae" })
  local mse, mae = m:test_on_batch(x, value)
  near(squared, mse, 1e-6)
  near(absolute, mae, 1e-6)
  -- d mean |p - y| / d bias is the mean of the signs
  near(g[2]:item(), (m:predict_on_batch(x) - value):sign():mean(), 1e-6)
  same((m:test_on_batch(x, value)), mse, "the compiled loss is as it was")
  near(m:gradients(x, value, { loss = nn.Huber { delta = 100 } }), mse / 2, 1e-6)
  fails("gradients: loss must be a name, a loss or a function, got boolean", m.gradients, m, x, value, { loss = true })
  fails("binary_crossentropy needs sigmoid", m.gradients, m, x, value, { loss = "binary_crossentropy" })
end)

test("weights of rows and classes, metrics by name", function()
  local m, loss = makers.chain()
  m:compile { optimizer = nn.SGD { 0.1 }, loss = loss, metrics = { "accuracy", mine = function(_, p) return p:max() end } }
  local twice = m:gradients(x, class, { sample_weight = nn.ops.full({ 48 }, 2) })
  local by_class = m:gradients(x, class, { class_weight = { [0] = 2, [1] = 2, [2] = 2 } })
  if not (twice > 0.5 and by_class > 0.5) then error(twice) end
  local logs = m:test_on_batch(x, class, { return_dict = true })
  near(logs.accuracy, m:predict(x):argmax(1):equal(class):mean(), 1e-6)
  near(logs.mine, m:predict(x):max(), 1e-6)
  fails("test_on_batch: unknown option 'class_weight'", m.test_on_batch, m, x, class, { class_weight = { 1 } })
  fails("x has 48 rows, but y has 47", m.train_on_batch, m, x, class:slice(1))
end)

test("a loop goes on from a checkpoint with the same bits", function()
  local m, loss = makers.chain()
  m:compile { optimizer = nn.Adam { nn.ExponentialDecay { 0.01, 3, 0.5, staircase = true } }, loss = loss }
  local function steps(model, n)
    for _ = 1, n do
      local _, gradients = model:gradients(x, class)
      model.optimizer:apply(model, gradients)
    end
  end
  steps(m, 4)
  local path = os.tmpname()
  m:save(path)
  local copy = nn.load(path)
  os.remove(path)
  same(copy.optimizer.learning_rate.decay_steps, 3.0)
  same(copy.optimizer.learning_rate.staircase, true)
  same(copy.optimizer, copy.optimizer)
  steps(m, 3)
  steps(copy, 3)
  same_weights(copy, m, "after a checkpoint")
end)

test("Dropout differs from one call for gradients to the next", function()
  local m, loss = makers.chain()
  m:compile { optimizer = nn.SGD { 0.1 }, loss = loss }
  local first, second = m:gradients(x, class), m:gradients(x, class)
  if first == second then error "the same noise twice" end
  local again = makers.chain()
  again:compile { optimizer = nn.SGD { 0.1 }, loss = loss }
  same(again:gradients(x, class), first)
end)

test("what cannot be applied is told", function()
  local m, loss = makers.chain()
  local sgd = nn.SGD { 0.1 }
  fails("the model was not compiled: call compile first", m.gradients, m, x, class)
  m:compile { optimizer = sgd, loss = loss }
  local _, g = m:gradients(x, class)
  fails("apply: the model was compiled with another optimizer", g.apply or nn.Adam().apply, nn.Adam {}, m, g)
  fails("the model trains 4 weights, but got 3 gradients", sgd.apply, sgd, m, { g[1], g[2], g[3] })
  fails("dense/kernel expects shape (6, 80), got (80,)", sgd.apply, sgd, m, { g[2], g[1], g[3], g[4] })
  fails("dense/bias holds nan at index 0", sgd.apply, sgd, m, { g[1], g[2] * (0 / 0), g[3], g[4] })
  fails("apply: gradient 1 is a number, not a tensor", sgd.apply, sgd, m, { 1, 2, 3, 4 })
  fails("the loss is nan: row 3 of x holds nan", m.gradients, m,
    nn.ops.concatenate({ x:slice(0, 3), nn.ops.full({ 1, 6 }, 0 / 0), x:slice(4) }, 0), class)
end)

test("a loss that is not finite after the last step is noticed", function()
  for name, make in pairs(makers) do
    local m, loss, inputs, targets = make()
    m:compile { optimizer = nn.SGD { 1e38 }, loss = loss }
    fails("after the last step: the outputs of ", m.fit, m, { inputs, targets, batch_size = 48, verbose = 0 })
    m = make()
    m:compile { optimizer = nn.SGD { 1e38 }, loss = loss }
    local h = m:fit { inputs, targets, batch_size = 48, verbose = 0, callbacks = { { on_epoch_end = function(self) self.model.stop_training = true end } } }
    if not (h.history.loss[1] < 100) then error(name) end
  end
end)

test("indices and pictures in small types train with the same bits, and take less memory", function()
  for _, dtype in ipairs { "i32", "u8" } do
    local id, other, y = ids:cast(dtype), (x * 0):cast(dtype), value
    same(id.dtype, dtype)
    local function trained(a, b)
      local m, loss = makers.graph()
      m:compile { optimizer = nn.Adam { 0.01 }, loss = loss }
      m:fit { { a, b }, y, batch_size = 12, verbose = 0, shuffle = false }
      return m
    end
    same_weights(trained(id, other), trained(ids, x * 0), dtype)
    local function dense(input)
      local m = nn.Sequential { nn.Dense { 20, activation = "relu", input_dim = 2 }, nn.Dense { 1 }, seed = 3 }
      m:compile { optimizer = nn.Adam { 0.01 }, loss = "mse" }
      m:fit { input, y, verbose = 0 }
      return m
    end
    same_weights(dense(id), dense(ids:cast("f32")), dtype .. " into Dense")
  end
  local path = os.tmpname()
  local sizes = {}
  for _, dtype in ipairs { "i64", "i32", "u8" } do
    local file = path .. "." .. dtype .. ".npy"
    data.save(file, nn.ops.ones({ 1000, 3 }):cast(dtype))
    local f = io.open(file)
    sizes[dtype] = f:seek "end" - 128
    f:close()
    same(data.npy(file):sum(), 3000.0)
    os.remove(file)
  end
  os.remove(path)
  same(("%d %d %d"):format(sizes.i64, sizes.i32, sizes.u8), "24000 12000 3000")
end)

test("what a callback takes out of the options stays until the training ends", function()
  for name, make in pairs(makers) do
    local m, loss, inputs, targets = make()
    m:compile { optimizer = "sgd", loss = loss }
    -- The only references are those of the options.
    local own
    function own(t) return type(t) == "table" and { own(t[1]), own(t[2]) } or t:copy() end
    local t = { own(inputs), own(targets), batch_size = 12, verbose = 0, sample_weight = nn.ops.ones { 48 },
      validation_data = { own(inputs), own(targets), nn.ops.ones { 48 } } }
    local held, n = setmetatable({}, { __mode = "v" }), 0
    local function hold(list)
      for _, one in ipairs(list) do
        if type(one) == "table" then hold(one) else held[#held + 1], n = one, n + 1 end
      end
    end
    hold { t, t.sample_weight, t.validation_data }
    local function there()
      collectgarbage()
      local found = 0
      for i = 1, n do found = found + (held[i] and 1 or 0) end
      return found
    end
    t.callbacks = { { on_train_begin = function()
      for key in pairs(t) do t[key] = nil end
      same(there(), n, name)
    end, on_epoch_end = function() same(there(), n, name) end } }
    m:fit(t)
    same(there(), 0, name)
  end
end)

test("what fit and its kin use cannot be closed under them", function()
  local x, y = ops.ones { 64, 3 }, ops.zeros { 64, 1 }
  local m
  local function close(what) local _ <close> = what end
  local function made(loss, metric)
    m = nn.Sequential { nn.Dense { 1, input_dim = 3 } }
    m:compile { loss = loss or "mse", metrics = { mine = metric } }
    return m
  end
  local why = "the model cannot be closed by what it calls"
  local callbacks = { { on_train_batch_end = function(self) close(self.model) end } }
  fails(why, made().fit, m, { x, y, verbose = 0, callbacks = callbacks })
  local function both(a, b)
    close(m)
    return (a - b):square()
  end
  fails(why, made(both).gradients, m, x, y)
  fails(why, made(both).train_on_batch, m, x, y)
  fails(why, made(nil, both).evaluate, m, { x, y, verbose = 0 })
  same(#m:predict(x), 64) -- it goes on
  close(m)
  fails("the model is closed", function() m:predict(x) end)
  -- fit has views of its own of tensors: what the program closes is closed for the program.
  local weights = ops.ones { 64 }
  local validation = { ops.ones { 64, 3 }, ops.zeros { 64, 1 }, ops.ones { 64 } }
  local all = { x, y, weights, table.unpack(validation) }
  local want = made():fit({ x, y, weights, verbose = 0, epochs = 2, validation_data = validation }).history
  local closer = { on_train_begin = function() for _, t in ipairs(all) do close(t) end end }
  local got = made():fit({ x, y, weights, verbose = 0, epochs = 2, validation_data = validation, callbacks = { closer } }).history
  same(got.val_loss[2], want.val_loss[2])
  fails("the tensor is closed", function() return x:sum() end)
end)

test("an option is read, or an error", function()
  local x, y = ops.ones { 64, 3 }, ops.zeros { 64, 1 }
  local m = nn.Sequential { nn.Dense { 1, input_dim = 3 }, seed = 1 }
  m:compile { loss = "mse" }
  -- One callback without a list.
  local epochs = 0
  m:fit { x = x, y = y, verbose = 0, epochs = 2, callbacks = { on_epoch_end = function() epochs = epochs + 1 end } }
  same(epochs, 2)
  m:fit { x, y, verbose = 0, callbacks = nn.TerminateOnNaN {} }
  same(#m:fit({ x, y, verbose = 0, epochs = 9, callbacks = nn.EarlyStopping { "loss", mode = "max", patience = 1 } }).epoch, 2)
  fails("callbacks must be a list of callbacks", m.fit, m, { x, y, verbose = 0, callbacks = { stop = nn.EarlyStopping {} } })
  -- x and y by their names.
  same(m:evaluate { y = y, x = x, verbose = 0 }, (m:evaluate { x, y, verbose = 0 }))
  same(m:evaluate { x, y = y, verbose = 0 }, (m:evaluate { x, y, verbose = 0 }))
  fails("fit: x is given twice", m.fit, m, { x, y, x = x, verbose = 0 })
  fails("fit: y is given twice", m.fit, m, { { x = x, y = y }, y = y, verbose = 0 })
  fails("evaluate: 'batch_size' must be at least 1, got -5", m.evaluate, m, { x, y, batch_size = -5 })
  fails("class_weight names class 1099511627776; classes count from 0 to 1048575", m.fit, m, { x, y, verbose = 0, class_weight = { [1 << 40] = 1 } })
  -- Files.
  local path = os.tmpname()
  fails(path .. " is there already", m.save, m, path, { overwrite = false })
  fails("save: unknown option 'include_optimiser'", m.save, m, path, { include_optimiser = false })
  m:save(path, { overwrite = true, include_optimizer = false })
  os.remove(path)
  m:save(path, { overwrite = false })
  os.remove(path)
  m:fit { x, y, verbose = 0, callbacks = nn.ModelCheckpoint { path .. ".onnx" } }
  fails("save: a file of ONNX has no optimizer, so no option include_optimizer", m.save, m, path .. ".onnx", { include_optimizer = true })
  os.remove(path .. ".onnx")
  -- Nothing is set when something does not fit.
  local before = m:get_weights()
  fails("set_weights: item 1 is a table, not a tensor", m.set_weights, m, { { 1 }, ops.ones { 1 } })
  fails("dense/bias expects", m.set_weights, m, { ops.ones { 3, 1 } * 9, ops.ones { 2 } })
  same(m:get_weights()[1], before[1])
  local many = {}
  for i = 1, 1001 do many[i] = nn.Dense { 1 } end
  fails("Sequential: expects 1 to 1000 layers, got 1001", nn.Sequential, many)
end)

test("a layer's trainable counts from the next compile on, as in Keras", function()
  local x, y = ops.ones { 64, 3 }, ops.zeros { 64, 1 }
  for _, last in ipairs { nn.Dense { 1 }, nn.LayerNormalization {} } do -- a fused chain, and none
    local base = nn.Dense { 4, input_dim = 3 }
    local m = nn.Sequential { base, last, nn.Dense { 1 }, seed = 1 }
    local function moves()
      m:compile { loss = "mse", optimizer = "sgd" }
      local before = m:get_weights()
      m:fit { x, y, verbose = 0 }
      local after = m:get_weights()
      return before[1] ~= after[1], before[#before] ~= after[#after]
    end
    base.trainable = false
    local first, rest = moves()
    same(first, false)
    same(rest, true)
    same(#select(2, m:gradients(x, y)).names, #m:get_weights() - 2)
    base.trainable = true
    same((moves()), true)
    base.trainable = "no"
    fails("dense: 'trainable' must be true or false", m.compile, m, { loss = "mse" })
    base.trainable = nil
    same((moves()), true)
  end
  -- Of a layer that is called twice all calls are meant, and of one that nobody has any more nothing.
  local input, shared = nn.Input { 3 }, nn.Dense { 3 }
  local m = nn.Model { inputs = input, outputs = nn.Dense { 1 } (shared(shared(input))) }
  shared.trainable = false
  m:compile { loss = "mse" }
  same(#select(2, m:gradients(x, y)).names, 2)
  input, shared = nil, nil
  collectgarbage() collectgarbage()
  m:compile { loss = "mse" }
  same(#select(2, m:gradients(x, y)).names, 2)
end)

test("a model may have more inputs than Lua's stack has room for", function()
  local inputs, outs, xs = {}, {}, {}
  for i = 1, 40 do
    inputs[i] = nn.Input { 2, name = "in" .. i }
    outs[i] = nn.Dense { 1 } (inputs[i])
    xs[i] = ops.ones { 3, 2 }
  end
  local m = nn.Model { inputs = inputs, outputs = nn.Add {} (outs) }
  m:compile { loss = "mse" }
  m:fit { xs, ops.ones { 3, 1 }, verbose = 0 }
  same(#m:predict(xs), 3)
  fails("the model has 40 inputs, got 1", m.predict, m, { xs[1] })
end)

cases.run()
