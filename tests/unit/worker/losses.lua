-- SPDX-License-Identifier: MIT
-- Losses of one's own, the gradients that they are made of, and models of several outputs: their losses, metrics and
-- weights by position and by name. firesteel-worker runs it.
local nn, data = require "nn", require "data"

local cases = require "cases"
local test, same, near, fails = cases.test, cases.same, cases.near, cases.fails
local ops = nn.ops

local function rows()
  local x, class, value = {}, {}, {}
  for i = 1, 40 do
    x[i] = {}
    for k = 1, 5 do x[i][k] = math.sin(i * 1.7 + 2 * k) end
    class[i], value[i] = (i * 11) % 3, { math.cos(i), 2 + math.sin(3 * i) }
  end
  return data.tensor(x), data.tensor(class, { dtype = "i64" }), data.tensor(value)
end
local x, class, value = rows()

-- d(fn)/dx of every number by differences, beside what value_and_grad says.
local function check(name, fn, input, tolerance)
  local _, g = nn.value_and_grad(fn)(input)
  local numbers, shape, eps = input:reshape { -1 }:totable(), input.shape, 1e-2
  for i, number in ipairs(numbers) do
    local function at(n)
      numbers[i] = n
      local v = fn(data.tensor(numbers):reshape(shape))
      return type(v) == "number" and v or v:item()
    end
    local slope = (8 * (at(number + eps) - at(number - eps)) - (at(number + 2 * eps) - at(number - 2 * eps))) / (12 * eps)
    numbers[i] = number
    near(g:reshape({ -1 }):totable()[i], slope, (tolerance or 2e-3) * math.max(1, math.abs(slope)), ("%s, number %d"):format(name, i))
  end
end

test("gradients of functions of tensors are those that differences show", function()
  local a = data.tensor { { 0.5, -1.2, 1.9 }, { 1.5, 0.7, -0.4 } }
  local b, row, col = data.tensor { { 1.1, 0.6, -2.0 }, { -0.3, 2.2, 0.9 } }, data.tensor { 0.7, -1.1, 1.9 }, data.tensor { { 2.0 }, { -1.5 } }
  local positive = a:abs() + 0.3
  local w = data.tensor { { 0.3, -0.9 }, { 1.2, 0.4 }, { -0.6, 0.8 } }
  local list = {
    add = function(t) return ((t + b) * b):sum() end,
    ["a row"] = function(t) return ((t + row) * (row - t)):sum() end,
    ["a column, turned"] = function(t) return ((col * t) / (t * t + 1)):mean() end,
    ["tensor first"] = function(t) return (b - t):maximum(row):sum() + (b * t):mean() end,
    ["a number first"] = function(t) return (1 - t):square():sum() + (2 / (3 + t)):sum() end,
    minimum = function(t) return (ops.minimum(t, b) * row):sum() + ops.maximum(0.1, t):sum() end,
    functions = function(t) return (t:exp() + t:sin() * t:cos() + t:tanh() + t:sigmoid() + t:square() - t:abs()):sum() end,
    ops = function(t) return ops.sum(ops.exp(t) * ops.tanh(t)) + ops.mean(ops.sigmoid(t)) end,
    negative = function(t) return (-t * ops.negative(t)):sum() end,
    clip = function(t) return (t:clip(-1, 1.6) * b):sum() end,
    ["sums along axes"] = function(t) return (t:sum(0) * row):sum() + (t:sum(1, true) * t):sum() + t:mean(-1):square():sum() end,
    ["std"] = function(t) return t:std() + (t:std(1) * data.tensor { 2, 3 }):sum() + t:std(0, true):sum() end,
    ["max, min"] = function(t) return t:max() * t:min() + (t:max(1) * data.tensor { 2, 3 }):sum() + t:min(0):square():sum() end,
    reshape = function(t) return (t:reshape { 3, 2 } * w):sum() end,
    transpose = function(t) return (t:transpose() * w):sum() + (t:transpose { 1, 0 } * w):square():sum() end,
    matmul = function(t) return t:matmul(w):square():sum() + w:matmul(t):sum() + ops.matmul(t, t:transpose()):sum() end,
    ["matrix and vector"] = function(t) return (t:matmul(row) * data.tensor { 2, 3 }):sum() end,
    ["parts"] = function(t) return t:columns(1, 3):square():sum() + t:columns(-1):sum() + (t:slice(1, 2) * row):sum() + t:take({ 1, 0, 1 }):square():sum() end,
    ["rows from the end"] = function(t) return (t:take { -1 } * row):sum() + (t:take { -2, -1, -1 }):square():sum() end,
    concatenate = function(t) return (ops.concatenate { t, b, t * 2 } * ops.concatenate({ b, t, b }, 1)):sum() + ops.concatenate({ t, b }, 0):square():mean() end,
    ["used twice"] = function(t)
      local e = t:exp()
      return (e / e:sum(1, true)):log():sum()
    end,
    ["what has no gradient"] = function(t) return (t:greater(0) * t + t:sign() * 3 + t:floor()):sum() end,
    cast = function(t) return (t:cast "f32" * 2):copy():sum() end,
  }
  for name, fn in pairs(list) do check(name, fn, a) end
  local deep = data.tensor { { { 0.5, -1.2 }, { 1.9, 0.3 }, { 0.8, -0.6 } }, { { 1.5, 0.7 }, { -0.4, 1.1 }, { 0.2, -0.9 } } }
  check("columns of three dimensions", function(t) return t:columns(0, 1):square():sum() + t:columns(-2):sum() + t:sum() end, deep)
  check("columns from before the first", function(t) return t:columns(-9, 2):square():sum() end, deep)
  check("axes from the last", function(t) return (t:transpose { -1, 0, -2 } * deep:transpose { 2, 0, 1 }):square():sum() end, deep)
  check("log, sqrt and powers", function(t) return (t:log() * t:sqrt() + t ^ 3 + 2 ^ t + t ^ b):sum() end, positive)
  local v, g = nn.value_and_grad(function(both, k) return (both[1] * both[2]):sum() * k end)({ a, b }, 3)
  near(v, 3 * (a * b):sum(), 1e-5)
  same((g[1] - b * 3):abs():max(), 0.0)
  same((g[2] - a * 3):abs():max(), 0.0)
  _, g = nn.value_and_grad(function() return 3 end)(a)
  same(g, ops.zeros { 2, 3 })
  fails("the function must return one number", nn.value_and_grad(function(t) return t end), a)
  fails("argument 1 is a number, not a tensor", nn.value_and_grad(math.sin), 3)
  fails("y_pred has no 'shard' that has a gradient", nn.value_and_grad(function(t) return t:shard(0, 2):sum() end), a)
end)

local function softmax_model(loss)
  local m = nn.Sequential { nn.Dense { 24, activation = "relu", input_dim = 5 }, nn.Dense { 3, activation = "softmax" }, seed = 3 }
  m:compile { optimizer = nn.Adam { 0.01 }, loss = loss, metrics = { "accuracy" } }
  return m
end
local function number_model(loss, last, metrics)
  local m = nn.Sequential { nn.Dense { 16, activation = "tanh", input_dim = 5 }, nn.Dense { 2, activation = last }, seed = 3 }
  m:compile { optimizer = nn.SGD { 0.05, momentum = 0.9 }, loss = loss, metrics = metrics }
  return m
end

-- Keras's own, written as its users write theirs.
local function own_crossentropy(y_true, y_pred)
  local classes = data.tensor({ { 0, 1, 2 } }, { dtype = "i64" })
  return -(y_true:reshape { -1, 1 }:equal(classes) * y_pred:log()):sum(-1)
end
local own = {
  mse = function(y, p) return (y - p):square():mean(-1) end,
  mae = function(y, p) return (p - y):abs():mean(-1) end,
  log_cosh = function(y, p) return (((p - y):exp() + (y - p):exp()) / 2):log() end, -- (n, 2): the mean is taken
  poisson = function(y, p) return ops.mean(p - y * ops.log(p + 1e-7)) end,          -- a number
  rmspe = function(y, p) return ((y - p) / y):square():mean():sqrt() end,
}

test("losses of one's own train as those that are there", function()
  local weight = data.tensor((function()
    local list = {}
    for i = 1, 40 do list[i] = (i % 4) / 2 end
    return list
  end)())
  for name, fn in pairs(own) do
    local last = name == "poisson" and "softplus" or "linear"
    local number = name == "poisson" or name == "rmspe"
    local y = number and value:abs() + 0.5 or value
    local a, b = number_model(name, last, { "mae" }), number_model(fn, last, { "mae" })
    for _, w in ipairs { false, not number and weight or false } do
      local fit = { x, y, sample_weight = w or nil, epochs = 3, batch_size = 8, verbose = 0, validation_split = 0.2 }
      local h, g = a:fit(fit).history, b:fit(fit).history
      for _, log in ipairs { "loss", "mean_absolute_error" and "mae", "val_loss", "val_mae" } do
        for epoch = 1, 3 do near(g[log][epoch], h[log][epoch], 2e-5 * math.max(1, h[log][epoch]), name .. ", " .. log) end
      end
    end
  end
  local a, b = softmax_model "sparse_categorical_crossentropy", softmax_model(own_crossentropy)
  local h, g = a:fit { x, class, epochs = 8, batch_size = 8, verbose = 0 }.history, b:fit { x, class, epochs = 8, batch_size = 8, verbose = 0 }.history
  for epoch = 1, 8 do
    near(g.loss[epoch], h.loss[epoch], 2e-5, "crossentropy")
    same(g.accuracy[epoch], h.accuracy[epoch])
  end
  local e, f = { a:evaluate { x, class, verbose = 0 } }, { b:evaluate { x, class, verbose = 0 } }
  near(f[1], e[1], 2e-5)
  near(b:test_on_batch(x, class), a:test_on_batch(x, class), 2e-5)
end)

test("a loss and a metric of one's own get y with as many dimensions as the output", function()
  local input = data.tensor { { 0.1 }, { 0.5 }, { 0.9 }, { -0.4 } }
  local function one(loss)
    local m = nn.Sequential { nn.Dense { 1, input_dim = 1, kernel_initializer = "ones" } }
    m:compile { loss = loss, metrics = { "mse", mine = function(y, p) return (y - p):square() end } }
    return m
  end
  local square = function(y, p) return (y - p):square() end
  for _, y in ipairs { data.tensor { 1, 2, 3, 4 }, data.tensor { { 1 }, { 2 }, { 3 }, { 4 } }, data.tensor({ 1, 2, 3, 4 }):reshape { 4, 1, 1 } } do
    local loss, g = one(square):gradients(input, y)
    near(loss, 6.7075, 1e-5)
    near(g[1]:item(), -0.485, 1e-5)
    local e, mse, mine = one(square):evaluate { input, y, verbose = 0 }
    near(e, 6.7075, 1e-5)
    near(mine, mse, 1e-6)
  end
  -- Rows of several dimensions keep them, and class numbers are as they were given.
  local steps, want = ops.ones { 6, 5, 3 }, x:slice(0, 6):reshape { 6, 5, 1 }
  for _, y in ipairs { want, want:reshape { 6, 5 } } do
    local shapes = {}
    local function seen(a, b)
      shapes[#shapes + 1] = #a.shape == 3 and a == want and table.concat(b.shape, " ") or "other targets"
      return (a - b):square()
    end
    local function of(loss)
      local m = nn.Sequential { nn.Dense { 1, input_shape = { 5, 3 } }, seed = 2 }
      m:compile { loss = loss, metrics = { mine = seen } }
      return { m:evaluate { steps, y, batch_size = 6, verbose = 0 } }
    end
    local mine, mse = of(seen), of "mse"
    near(mine[1], mse[1], 1e-5)
    near(mine[2], mse[1], 1e-5)
    same(table.concat(shapes, ", "), "6 5 1, 6 5 1, 6 5 1")
  end
end)

test("accuracy of one logit is the output's, as Keras's", function()
  local m = nn.Sequential { nn.Dense { 1, input_dim = 1, kernel_initializer = "ones" } }
  m:compile { loss = nn.BinaryCrossentropy { from_logits = true }, metrics = { "accuracy", "binary_accuracy" } }
  local _, share, binary = m:evaluate { data.tensor { { 0.3 }, { 0.2 }, { 0.7 } }, data.tensor { 0, 0, 1 }, verbose = 0 }
  same(share, 1.0)
  same(binary, 1.0)
end)

test("a loss of one's own is for one call of gradients, too", function()
  local m = number_model("mse", "linear")
  local loss, g = m:gradients(x, value, { loss = own.mae })
  local wanted, want = m:gradients(x, value, { loss = "mae" })
  near(loss, wanted, 1e-6)
  for i, t in ipairs(g) do near((t - want[i]):abs():max(), 0, 1e-6, g.names[i]) end
  near(m:gradients(x, value), number_model("mse", "linear"):gradients(x, value), 1e-7)
  -- Two networks in one: the loss uses what is outside of it, here a number that changes.
  local factor = 1
  m:compile { loss = function(y, p) return own.mse(y, p) * factor end, optimizer = "sgd" }
  local before = m:test_on_batch(x, value)
  factor = 3
  near(m:test_on_batch(x, value), 3 * before, 1e-5)
end)

test("a loss of one's own cannot use the model that it is the loss of", function()
  local m, use
  local function loss(y, p)
    use()
    return own.mse(y, p)
  end
  local function options() return { loss = loss, optimizer = "sgd" } end
  m = number_model(loss, "linear")
  local message = "the model is in the middle of a batch: its loss cannot use it"
  local uses = {
    predict = function() m:predict(x) end,
    evaluate = function() m:evaluate { x, value, verbose = 0 } end,
    fit = function() m:fit { x, value, verbose = 0 } end,
    train_on_batch = function() m:train_on_batch(x, value) end,
    gradients = function() m:gradients(x, value, { loss = "mse" }) end,
    compile = function() m:compile(options()) end,
  }
  for _, fn in pairs(uses) do
    use = fn
    fails(message, m.train_on_batch, m, x, value)
    fails(message, m.test_on_batch, m, x, value)
  end
  use = function() end
  m:compile(options())
  m:train_on_batch(x, value) -- and goes on
  same(#m:predict(x), 40)
end)

test("a loss of one's own may use another model that has the same layers", function()
  local function trained(uses)
    local shared = nn.Dense { 2, input_dim = 5 }
    local a, b = nn.Sequential { shared }, nn.Sequential { shared }
    local function loss(y, p)
      if uses then b:predict(x) end
      return own.mse(y, p)
    end
    a:compile { loss = loss, optimizer = "sgd" }
    a:set_weights { ops.ones { 5, 2 }, ops.zeros { 2 } }
    for _ = 1, 3 do a:train_on_batch(x, value) end
    return a:get_weights()[1], b:predict(x)
  end
  local want, out = trained(false)
  local have, seen = trained(true)
  same(have, want)
  same(seen, out)
end)

test("threads and coroutines do not matter to a loss of one's own", function()
  local function trained(threads)
    local m = nn.Sequential { nn.Dense { 300, activation = "relu", input_dim = 5 }, nn.Dropout { 0.2 }, nn.Dense { 2 }, seed = 3 }
    coroutine.wrap(function() m:compile { loss = own.mse, threads = threads } end)() -- it is over when the loss is called
    collectgarbage()
    m:fit { x, value, epochs = 2, batch_size = 16, verbose = 0 }
    return m
  end
  local a, b = trained(1):get_weights(), trained(2):get_weights()
  for i, w in ipairs(a) do same(w, b[i], "weight " .. i) end
end)

test("what is wrong with a loss of one's own is told", function()
  local m = number_model("mse", "linear")
  local function with(fn, options)
    m:compile { loss = fn }
    local fit = { x, value, verbose = 0 }
    for k, v in pairs(options or {}) do fit[k] = v end
    return m:fit(fit)
  end
  fails("the loss, a function, must compute its value from y_pred", with, function() return 3 end)
  fails("does not depend on it", with, function(y) return y:mean() end)
  fails("boom", with, function() error "boom" end)
  fails("must return a number, or a tensor with one for each of the 32 rows; its shape is (2)", with, function(_, p) return p:mean(0) end)
  -- One number for all rows counts by the mean of their weights, as in Keras.
  local m = number_model(function(_, p) return p:square():mean() end, "linear")
  near(m:test_on_batch(x, value, { sample_weight = ops.ones { 40 } * 3 }), 3 * m:test_on_batch(x, value), 1e-5)
  fails("has no 'shard' that has a gradient", with, function(_, p) return p:shard(0, 1) end)
  fails("the loss is nan at step 1 of epoch 1", with, function(_, p) return (p * (0 / 0)):mean() end)
  fails("loss must be a name, a loss or a function, got boolean", m.compile, m, { loss = true })
  fails("the metrics expect y of shape (n, 2), got (40,)", function()
    m:compile { loss = function(_, p) return p:square() end, metrics = { "mae" } }
    m:fit { x, class, verbose = 0 }
  end)
end)

test("a file does not know a loss of one's own, but all else", function()
  local m = number_model(own.mse, "linear", { "mae" })
  m:fit { x, value, epochs = 2, verbose = 0 }
  local path = os.tmpname() .. ".safetensors"
  m:save(path)
  local again = nn.load(path)
  fails("the model was not compiled", again.evaluate, again, { x, value, verbose = 0 })
  same(again:predict(x), m:predict(x))
  local other = number_model(own.mse, "linear", { "mae" })
  other:load_weights(path) -- with the optimizer's state
  for _ = 1, 2 do
    m:train_on_batch(x, value)
    other:train_on_batch(x, value)
  end
  same(other:predict(x), m:predict(x))
  os.remove(path)
end)

local function two(options)
  local input = nn.Input { 5, name = "features" }
  local h = nn.Dense { 16, activation = "relu" } (input)
  local m = nn.Model { inputs = input, outputs = { nn.Dense { 2, name = "amount" } (h), nn.Dense { 1, activation = "sigmoid", name = "late" } (h) }, seed = 5 }
  options.optimizer = nn.SGD { 0.05 }
  m:compile(options)
  return m
end
local late = data.tensor((function()
  local list = {}
  for i = 1, 40 do list[i] = math.sin(i * 1.7 + 2) > 0.2 and 1 or 0 end
  return list
end)()):reshape { 40, 1 }

test("each output has its own metrics, by position and by name", function()
  local far = function(y, p) return (y - p):abs():greater(1) end
  local given = {
    { loss = { "mse", "binary_crossentropy" }, metrics = { { "mae", far = far }, { "accuracy", nn.AUC {}, far = far } }, loss_weights = { 1, 2 } },
    { loss = { amount = "mse", late = "binary_crossentropy" }, metrics = { late = { "accuracy", "AUC", far = far }, amount = { "mae", far = far } },
      loss_weights = { late = 2, amount = 1 } },
  }
  local logs = {}
  for i, options in ipairs(given) do
    local m = two(options)
    local ys = i == 1 and { value, late } or { late = late, amount = value }
    local xs = i == 1 and x or { features = x }
    local h = m:fit { xs, ys, epochs = 3, batch_size = 8, verbose = 0, validation_data = { xs, ys } }.history
    logs[i] = { h, m:evaluate { xs, ys, return_dict = true, verbose = 0 } }
    local p, q = m:predict(xs)
    local auc = i == 1 and "late_auc" or "late_AUC"
    near(h["val_" .. auc][3], logs[i][2][auc], 1e-12)
    near(logs[i][2].late_far, 0, 1e-12)
    near(logs[i][2].amount_far, far(value, p):mean(), 1e-6)
    -- A model of this output alone says the same.
    local alone = nn.Sequential { nn.Dense { 1, input_dim = 1, use_bias = false, activation = "sigmoid" } }
    alone:compile { loss = "binary_crossentropy", metrics = { nn.AUC {} } }
    alone:set_weights { ops.ones { 1, 1 } }
    local _, want = alone:evaluate { (q / (1 - q)):log(), late, verbose = 0 }
    near(logs[i][2][auc], want, 2e-3)
  end
  for _, name in ipairs { "loss", "amount_loss", "amount_mae", "late_accuracy", "amount_far" } do
    for epoch = 1, 3 do same(logs[2][1][name][epoch], logs[1][1][name][epoch], name) end
  end
  fails("metrics names 'early'; the model's outputs are amount, late", two, { loss = "mse", metrics = { early = { "mae" } } })
  fails("loss names 'early'; the model's outputs are amount, late", two, { loss = { amount = "mse", early = "mse" } })
  fails("which loss for the output 'late'?", two, { loss = { amount = "mse" } })
  fails("which loss for the output 'late'?", two, { loss = { "mse" } })
  fails("loss has 3 items, but the model has 2 outputs", two, { loss = { "mse", "mse", "mse" } })
  fails("loss is neither a list nor a table by the names of outputs, but both", two, { loss = { "mse", late = "mse" } })
  fails("loss_weights must be positive numbers, got foo", two, { loss = "mse", loss_weights = { 1, "foo" } })
  fails("loss_weights must be positive numbers", two, { loss = "mse", loss_weights = { 1, -5 } })
  -- One that is alone is a list of one, as in Keras.
  local alone = two { loss = "mse", metrics = { "mae", nn.AUC {} } }:evaluate { x, { value, late }, verbose = 0, return_dict = true }
  assert(alone.amount_mae and alone.late_auc and not alone.amount_auc)
  fails("metrics has 1 item, but the model has 2 outputs", two, { loss = "mse", metrics = { "mae" } })
  fails("there are two metrics with the name 'auc'", two, { loss = "mse", metrics = { late = { nn.AUC {}, nn.AUC {} } } })
  local m = two(given[1])
  fails("fit: the model's outputs are amount, late; give a tensor by each name", m.fit, m, { x, { late = late }, verbose = 0 })
  fails("predict: the model's inputs are features", m.predict, m, { numbers = x })
  same(m:predict { features = x }, (m:predict(x)))
end)

test("an output may be called as a field of a loss", function()
  local input = nn.Input { 5 }
  local m = nn.Model { inputs = input, outputs = { nn.Dense { 2, name = "loss" } (input), nn.Dense { 2, name = "aux" } (input) }, seed = 5 }
  m:compile { loss = { loss = "mse", aux = "mae" } }
  local e = m:evaluate { x, { value, value }, verbose = 0, return_dict = true }
  local p, q = m:predict(x)
  near(e.loss_loss, (p - value):square():mean(), 1e-5)
  near(e.aux_loss, (q - value):abs():mean(), 1e-5)
  m:compile { loss = nn.Huber { 100 } } -- an object is for each output
  near(m:evaluate({ x, { value, value }, verbose = 0, return_dict = true }).loss_loss, (p - value):square():mean() / 2, 1e-5)
  fails("Huber: delta must be greater than 0, got 0", nn.Huber, { 0 })
  fails("huber's delta must be greater than 0", two, { loss = { loss = "huber", delta = 0 } })
end)

test("the weight of a single output's loss counts", function()
  for _, given in ipairs { 3, { 3 }, { dense_1 = 3 } } do
    local function made(options)
      local m = nn.Sequential { nn.Dense { 4, activation = "relu", input_dim = 5 }, nn.Dense { 2 }, seed = 3 }
      options.loss, options.optimizer = "mse", "sgd"
      m:compile(options)
      return m
    end
    local one, three = made {}, made { loss_weights = given }
    local loss, g = one:gradients(x, value)
    local more, h = three:gradients(x, value)
    near(more, 3 * loss, 1e-5)
    for i, t in ipairs(g) do near((t * 3 - h[i]):abs():max(), 0, 1e-5, g.names[i]) end
    near(three:evaluate { x, value, verbose = 0 }, 3 * loss, 1e-5)
    fails("loss_weights must be positive numbers, got foo", made, { loss_weights = "foo" })
    fails("loss_weights has 2 items, but the model has 1 output", made, { loss_weights = { 1, 2 } })
    fails("loss_weights names 'bar'; the model's outputs are dense_1", made, { loss_weights = { bar = 1 } })
  end
end)

test("each output has weights of rows of its own", function()
  local loss = { "mse", function(y, p) return (y - p):square():mean(-1) end }
  local a, b, half = ops.ones { 40 }, ops.zeros { 40 }, {}
  for i = 1, 40 do half[i] = i % 2 end
  half = data.tensor(half)
  local function weighted(w) return two { loss = loss }:evaluate { x, { value, late }, sample_weight = w, return_dict = true, verbose = 0 } end
  local plain, one, other = weighted(nil), weighted { half, a }, weighted { late = b, amount = half }
  near(one.late_loss, plain.late_loss, 1e-6)
  same(other.late_loss, 0.0)
  near(one.amount_loss, other.amount_loss, 1e-9)
  near(weighted(half).amount_loss, one.amount_loss, 1e-9)
  near(weighted { amount = half }.late_loss, plain.late_loss, 1e-6) -- left out: each row once
  assert(math.abs(one.amount_loss - plain.amount_loss) > 1e-3)
  -- In training, and in the weights of validation: an output that counts for nothing does not learn.
  local m = two { loss = loss }
  local before = m:get_weights()
  m:fit { x, { value, late }, sample_weight = { late = b }, verbose = 0, epochs = 2, validation_data = { x, { value, late }, { late = b } } }
  local after = m:get_weights()
  same(after[5], before[5], "late/kernel")
  assert(after[3] ~= before[3], "amount/kernel")
  same(m:test_on_batch(x, { value, late }, { sample_weight = { b, b } }), 0.0)
  fails("fit: the model's outputs are amount, late", m.fit, m, { x, { value, late }, sample_weight = { early = b }, verbose = 0 })
  fails("sample_weight of late must be a tensor", m.fit, m, { x, { value, late }, sample_weight = { a, 3 }, verbose = 0 })
  fails("amount: sample_weight must have a number for each of the 40 rows", m.fit, m, { x, { value, late }, sample_weight = { amount = data.tensor { 1 } }, verbose = 0 })
end)

cases.run()
