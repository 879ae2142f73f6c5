-- SPDX-License-Identifier: MIT
-- The Lua API of a trainer file, tested by a trainer file that prints TAP. firesteel-worker runs
-- it.
local nn, data, hvd = require "nn", require "data", require "hvd"

local cases = require "cases"
local test, same, near, fails = cases.test, cases.same, cases.near, cases.fails

local folders = {}
local function folder()
  local path = os.tmpname()
  os.remove(path)
  os.execute("mkdir -p " .. path)
  folders[#folders + 1] = path
  return path
end

-- Two classes separated by a line; labels count from 0.
local function points(n)
  local x, y = {}, {}
  for i = 1, n do
    local a, b = (i * 37 % 101) / 101, (i * 53 % 97) / 97
    x[i], y[i] = { a, b }, a > b and 1 or 0
  end
  return data.tensor(x), data.tensor(y, { dtype = "i64" })
end

local function model(options)
  local m = nn.Sequential { nn.Dense { 8, activation = "relu", input_dim = 2 }, nn.Dense { 2, activation = "softmax" } }
  options = options or {}
  options.loss = options.loss or "sparse_categorical_crossentropy"
  options.metrics = options.metrics or { "accuracy" }
  m:compile(options)
  return m
end

test("tensors count from 0 with half-open slices", function()
  local t = data.tensor { { 1, 2 }, { 3, 4 }, { 5, 6 } }
  same(#t, 3)
  same(table.concat(t.shape, "x"), "3x2")
  same(t.dtype, "f32")
  same(t[0][1], 2.0)
  same(t[-1][0], 5.0)
  same(#t:slice(1, 3), 2)
  same(#t:slice(1, 100), 2)
  same(t:slice(1, 2)[0][0], 3.0)
  same(t:shard(1, 2)[0][0], 3.0)
  same(table.concat(t:reshape { 2, -1 }.shape, "x"), "2x3")
  same(t:argmax(), 5)
  same(t:argmax(1)[2], 1)
  same(t:sum(), 21.0)
  same(t:mean(), 3.5)
  same(t:min(), 1.0)
  same(t:max(), 6.0)
  same(t:totable()[3][2], 6.0)
  same(t[0]:slice(0, 1):item(), 1.0)
  fails("out of range", function() return t[3] end)
  fails("a tensor has no 'nothing'", function() return t.nothing end)
end)

test("a slice has a step", function()
  local t = data.tensor { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 }, { 9, 10 } }
  same(tostring(t:slice(0, 5, 2)), "[[1, 2],\n [5, 6],\n [9, 10]]")
  same(tostring(t:slice(1, -1, 2)), "[[3, 4],\n [7, 8]]")
  same(#t:slice(3, 1, 2), 0)
  fails("the step must be 1 or more", t.slice, t, 0, 5, -1)
end)

test("no argument is ignored", function()
  local t = data.tensor { { 1, 2 }, { 3, 4 } }
  fails("slice: takes 3 arguments, got 4", t.slice, t, 0, 5, 1, 1)
  fails("sum: takes 2 arguments, got 3", t.sum, t, 1, true, 1)
  fails("argmax: keepdims must be true or false", t.argmax, t, 1, 1)
end)

test("a name that a module lacks is told with those it has", function()
  fails("nn has no 'Nothing'; it has AUC, Activation, Adagrad, Adam, AdamW, Add, AveragePooling1D, ", function() return nn.Nothing end)
  fails("data has no 'minst'; did you mean mnist? It has Frame, ", function() return data.minst end)
  fails("hvd has no 'ranks'; did you mean rank? It has Average, ", function() return hvd.ranks() end)
  fails("nn.applications has no 'ResNet5'; did you mean ResNet50? It has MobileNet, ", function() return nn.applications.ResNet5 {} end)
  fails("nn.initializers has no 'he_normal'; did you mean HeNormal? It has Constant, ", function() return nn.initializers.he_normal end)
  fails("nn.optimizers has no 'Adadelta': Keras has an optimizer of this name, and the trainer has none", function() return nn.optimizers.Adadelta end)
  fails("nn.regularizers has no 'L3'; did you mean L1? It has L1, L1L2, L2", function() return nn.regularizers.L3 end)
  fails("nn.ops has no 'expp'; did you mean exp? It has abs, add, ", function() return nn.ops.expp(1) end)
end)

test("losses and metrics by name and as objects", function()
  local x = points(100)
  local y = {}
  for i = 0, 99 do y[i + 1] = { x[i][0] * 2 - x[i][1] } end
  y = data.tensor(y)
  for _, loss in ipairs { "mse", "mean_absolute_error", "mape", "log_cosh", nn.Huber { delta = 0.5 } } do
    local m = nn.Sequential { nn.Dense { 8, activation = "tanh", input_dim = 2 }, nn.Dense { 1 } }
    m:compile { optimizer = nn.Adam { 0.01 }, loss = loss, metrics = { "mae", "root_mean_squared_error" } }
    local h = m:fit({ x, y, epochs = 10, verbose = 0, validation_data = { x, y } }).history
    if not (h.val_mae[10] < h.val_mae[1] and h.root_mean_squared_error[10] > 0) then error(h.val_mae[1] .. " " .. h.val_mae[10]) end
  end
  local m = nn.Sequential { nn.Dense { 2, input_dim = 2 } }
  m:compile { loss = nn.SparseCategoricalCrossentropy { from_logits = true }, metrics = { "acc" } }
  m:compile { loss = "mse" }
  same(m.optimizer.class, "RMSprop", "Keras's default")
  fails("huber has no from_logits", function() m:compile { loss = "huber", from_logits = true } end)
  fails("loss must be a name, a loss or a function, got boolean", function() m:compile { loss = true } end)
  fails("the metric mae does not go with sparse_categorical_crossentropy", model, { metrics = { "mae" } })
  fails("Huber: unknown option 'gamma'; known are delta", nn.Huber, { gamma = 1 })
end)

test("fit takes Keras's weights and validation_split", function()
  local x, y = points(200)
  local ones, zeros = {}, {}
  for i = 1, 200 do ones[i], zeros[i] = 1, i > 150 and 1 or 0 end
  local function trained(options)
    local m = model { optimizer = nn.SGD { 0.5 } }
    options[1], options[2] = options[1] or x, options[2] or y
    options.epochs, options.verbose, options.shuffle, options.batch_size = 3, 0, false, 10
    return m:fit(options).history, m
  end
  local plain, m = trained {}
  near(trained { sample_weight = data.tensor(ones) }.loss[3], plain.loss[3])
  -- Rows that count nothing teach nothing: the same as without them, but for the mean.
  local weighted = trained { sample_weight = data.tensor(zeros) }
  local _, tail = trained { x:slice(150), y:slice(150) }
  local whole = { tail:evaluate { x, y, sample_weight = data.tensor(zeros), verbose = 0 } }
  near(whole[1] * 4, tail:evaluate { x:slice(150), y:slice(150), verbose = 0 }, 1e-6)
  if not (weighted.loss[1] < plain.loss[1] / 2) then error(weighted.loss[1]) end
  near(trained { class_weight = { [0] = 1, [1] = 1 } }.loss[3], plain.loss[3])
  local by_label = {}
  for i = 0, 199 do by_label[i + 1] = y[i] == 1 and 3 or 1 end
  same(trained { class_weight = { [1] = 3 } }.loss[3], trained { sample_weight = data.tensor(by_label) }.loss[3])
  local split = trained { validation_split = 0.25 }
  local given = trained { x:slice(0, 150), y:slice(0, 150), validation_data = { x:slice(150), y:slice(150) } }
  same(split.loss[3], given.loss[3])
  same(split.val_loss[3], given.val_loss[3])
  same(split.val_accuracy[3], given.val_accuracy[3])
  given = trained { validation_data = { x, y, data.tensor(zeros) } }
  near(given.val_loss[3], m:evaluate { x, y, sample_weight = data.tensor(zeros), verbose = 0 })
  fails("class_weight and sample_weight cannot be given at the same time", trained, { class_weight = {}, sample_weight = data.tensor(ones) })
  fails("sample_weight must have a number for each of the 200 rows, its shape is (2,)", trained, { sample_weight = data.tensor { 1, 2 } })
  fails("validation_split must be between 0 and 1", trained, { validation_split = 1.5 })
  fails("leaves none for one of the parts", trained, { validation_split = 0.5, x:slice(0, 1), y:slice(0, 1) })
  fails("class_weight names class -1", trained, { class_weight = { [-1] = 1 } })
  fails("class_weight names class 2; classes count from 0 to 1, but a list in Lua from 1: write {[0] = 1, [1] = 5}", trained, { class_weight = { 1, 5 } })
  fails("class_weight names class 9", trained, { class_weight = { [9] = 3 } })
  local three = nn.Sequential { nn.Dense { 3, activation = "softmax" } }
  three:compile { loss = "sparse_categorical_crossentropy" }
  fails("class_weight is a list, which begins at 1, so class 0 has no weight", three.fit, three, { x, y, class_weight = { 1, 5 } })
  fails("class_weight names class 3", three.train_on_batch, three, x, y, { class_weight = { [3] = 5 } })
  three:compile { loss = "categorical_crossentropy" }
  fails("class_weight names class 3; classes count from 0 to 2", three.fit, three, { x, data.tensor { { 0, 1, 0 } }, class_weight = { [3] = 5 } })
  fails("row 1 of sample_weight holds nan", trained, { sample_weight = data.tensor { 1, 0 / 0 }, x:slice(0, 2), y:slice(0, 2) })
end)

test("a set of data is given as it is", function()
  local x, y = points(50)
  local m = model {}
  local h = m:fit { { x = x, y = y }, verbose = 0, validation_data = { x = x, y = y } }
  near(h.history.val_loss[1], m:evaluate { { x = x, y = y }, verbose = 0 })
end)

test("AUC and functions watch a training", function()
  local x, y = points(200)
  local m = nn.Sequential { nn.Dense { 8, activation = "relu", input_dim = 2 }, nn.Dense { 1, activation = "sigmoid" } }
  local seen = 0
  m:compile {
    optimizer = nn.Adam { 0.05 }, loss = "binary_crossentropy",
    metrics = { "accuracy", "AUC", nn.AUC { curve = "PR", name = "pr" },
      far = function(y_true, y_pred)
        seen = seen + 1
        local sum = 0
        for i = 0, #y_pred - 1 do sum = sum + math.abs(y_true[i][0] - y_pred[i][0]) end
        return sum / #y_pred
      end,
      highest = function(_, y_pred) return y_pred end },
  }
  local h = m:fit { x, y, epochs = 8, verbose = 0, validation_data = { x, y }, batch_size = 30 }
  same(seen, 8 * 14)
  local last = h.history
  if not (last.AUC[8] > 0.95 and last.pr[8] > 0.95 and last.val_far[8] < last.val_far[1]) then error(last.AUC[8]) end
  local p, sum = m:predict(x), 0
  for i = 0, 199 do sum = sum + math.abs(y[i] - p[i][0]) end
  local said = m:evaluate { x, y, verbose = 0, return_dict = true }
  near(said.far, sum / 200, 1e-6)
  near(said.highest, p:mean(), 1e-6)
  near(m:evaluate({ x, y, verbose = 0, return_dict = true, batch_size = 7 }).far, said.far, 1e-6)
  same(select("#", m:evaluate { x, y, verbose = 0 }), 6)
  local function compiled(metrics) m:compile { loss = "binary_crossentropy", metrics = metrics } return m:evaluate { x, y, verbose = 0 } end
  fails("a metric that is a function needs a name", compiled, { function() end })
  fails("the metric 'odd' must return a number", compiled, { odd = function() return "x" end })
  fails("the metric 'odd' failed: ", compiled, { odd = function() return nil + 1 end })
  fails("there are two metrics with the name 'mse'", compiled, { "mse", mse = function() return 1 end })
  compiled { "mae", mse = function() return 1 end } -- a name of one's own, where nobody else has it
  fails("there are two metrics with the name 'auc'", compiled, { nn.AUC {}, nn.AUC {} })
  fails("AUC: curve must be ROC or PR, got 'F1'", nn.AUC, { curve = "F1" })
  for _, n in ipairs { 0, 1, (1 << 32) + 200 } do -- too large a number has no other meaning
    local ok, why = pcall(function() compiled { nn.AUC { num_thresholds = n } } end)
    same(ok, false)
    same(why:find "num_thresholds" ~= nil, true, why)
  end
  local soft = model { metrics = { "AUC" } }
  fails("AUC needs a target for each output: the outputs have shape (32, 2), the targets (32,)", soft.fit, soft, { x, y, verbose = 0 })
end)

test("accuracies have Keras's names, and top-k its k", function()
  local p = data.tensor { { 0.5, 0.3, 0.1, 0.1 }, { 0.1, 0.2, 0.3, 0.4 }, { 0.4, 0.3, 0.2, 0.1 } } -- the logits of a layer that is the identity
  local y = data.tensor({ 1, 3, 3 }, { dtype = "i64" })
  local hot = data.tensor { { 0, 1, 0, 0 }, { 0, 0, 0, 1 }, { 0, 0, 0, 1 } }
  local function measure(loss, targets, metrics, activation)
    local m = nn.Sequential { nn.Dense { 4, activation, false, "identity", input_dim = 4 } }
    m:compile { loss = loss, metrics = metrics }
    return m:evaluate { p, targets, verbose = 0, return_dict = true }
  end
  local logs = measure(nn.SparseCategoricalCrossentropy { true }, y,
    { "accuracy", "sparse_categorical_accuracy", nn.SparseTopKCategoricalAccuracy { 2 }, nn.SparseTopKCategoricalAccuracy { k = 4, name = "top_4" } })
  near(logs.accuracy, 1 / 3, 1e-6)
  near(logs.sparse_categorical_accuracy, 1 / 3, 1e-6)
  near(logs.sparse_top_k_categorical_accuracy, 2 / 3, 1e-6)
  near(logs.top_4, 1, 1e-6)
  logs = measure("mse", hot, { "categorical_accuracy", "binary_accuracy", "rmspe", nn.TopKCategoricalAccuracy { k = 2 } })
  near(logs.categorical_accuracy, 1 / 3, 1e-6)
  near(logs.binary_accuracy, 9 / 12, 1e-6) -- 0.5 is not above one half
  near(logs.top_k_categorical_accuracy, 2 / 3, 1e-6)
  near(logs.rmspe, math.sqrt((0.7 ^ 2 + 0.6 ^ 2 + 0.9 ^ 2) / 3), 1e-5)
  same(measure(nn.MeanSquaredError {}, hot).loss, logs.loss)
  fails('the metric "binary_accuracy" is for classes, but row 0 of y holds 0.5', measure, "mse", p, { "mae", "binary_accuracy" })
  fails("the metric sparse_categorical_accuracy does not go with mean_squared_error", measure, "mse", hot, { "sparse_categorical_accuracy" })
  fails("the metric binary_accuracy does not go with sparse_categorical", measure, nn.SparseCategoricalCrossentropy { true }, y, { "binary_accuracy" })
  near(measure(nn.SparseCategoricalCrossentropy { true }, y, { nn.SparseTopKCategoricalAccuracy { (1 << 32) + 1 } }).sparse_top_k_categorical_accuracy, 1, 1e-6)
  fails("SparseTopKCategoricalAccuracy: k must be 1 or more, got 0", nn.SparseTopKCategoricalAccuracy, { 0 })
  fails("TopKCategoricalAccuracy needs a target of each class for each row of 4 outputs, but the targets have shape (3,)",
    measure, nn.SparseCategoricalCrossentropy { true }, y, { nn.TopKCategoricalAccuracy {} })
end)

test("every optimizer learns", function()
  local x, y = points(200)
  for _, optimizer in ipairs { "SGD", "Adam", nn.AdamW { 0.02, weight_decay = 0.01 }, nn.RMSprop { 0.01, momentum = 0.5 },
    nn.Adagrad { 0.1, initial_accumulator_value = 0.2 }, nn.SGD { 0.5, global_clipnorm = 0.5 } } do
    local m = model { optimizer = optimizer }
    local h = m:fit({ x, y, epochs = 5, verbose = 0 }).history
    if not (h.loss[5] < h.loss[1]) then error("loss " .. h.loss[1] .. " to " .. h.loss[5]) end
  end
  fails("only one of clipvalue, clipnorm and global_clipnorm", model, { optimizer = nn.SGD { clipnorm = 1, clipvalue = 1 } })
  fails("rho must be at least 0 and less than 1", model, { optimizer = nn.RMSprop { rho = 2 } })
  fails("RMSprop: unknown option 'beta_1'", nn.RMSprop, { beta_1 = 2 })
end)

test("integers stay integers", function()
  local t = data.tensor({ 1, 2 }, { dtype = "i64" })
  same(math.type(t[0]), "integer")
  same(t.dtype, "i64")
  fails("numbers with a fraction", data.tensor, { 1.5 }, { dtype = "i64" })
end)

test("uneven tables are refused", function()
  fails("rows differ in length", data.tensor, { { 1, 2 }, { 3 } })
  fails("a string among the numbers", data.tensor, { 1, "x" })
end)

test("mnist is found, and sharded", function()
  local all, part = data.mnist(), data.mnist { rank = 1, size = 3 }
  same(#all.train.x, 60000)
  same(#all.test.y, 10000)
  same(all.test.y[100], 6)
  same(math.type(all.test.y[100]), "integer")
  same(#part.train.x, 20000)
  same(part.train.y[5], all.train.y[16])
  near(all.train.x:slice(0, 100):max(), 1, 1e-6)
  fails("rank 3 is not in [0, 3)", data.mnist, { rank = 3, size = 3 })
  fails("/nowhere", data.mnist, { path = "/nowhere" })
end)

test("a model learns", function()
  local x, y = points(400)
  local m = model { optimizer = nn.Adam { learning_rate = 0.02 } }
  local h = m:fit { x, y, epochs = 20, verbose = 0, validation_data = { x, y } }
  same(#h.history.loss, 20)
  same(#h.history.val_accuracy, 20)
  same(h.epoch[1], 0)
  local loss, accuracy = m:evaluate { x, y, verbose = 0 }
  if accuracy < 0.95 then error("accuracy " .. accuracy) end
  same(m:evaluate({ x, y, verbose = 0, return_dict = true }).loss, loss)
  local p = m:predict(x)
  same(table.concat(p.shape, "x"), "400x2")
  same(p:argmax(1)[7], y[7])
end)

test("a checkpoint is the model", function()
  local x, y = points(64)
  local path = folder() .. "/m.safetensors"
  local m = model()
  m:fit { x, y, verbose = 0 }
  m:save(path)
  local bytes = nn.read_checkpoint(path)
  local want = tostring(m:predict(x):slice(0, 3))
  same(tostring(nn.load(path):predict(x):slice(0, 3)), want)
  same(tostring(nn.load(bytes):predict(x):slice(0, 3)), want)
  local other = model()
  other:load_weights(bytes)
  same(tostring(other:predict(x):slice(0, 3)), want)
  other:set_weights(m:get_weights())
  same(#m:get_weights(), 4)
  same(m:count_params(), 2 * 8 + 8 + 8 * 2 + 2)
  fails("nowhere", nn.load, "/nowhere/m.safetensors")
  fails("nowhere", nn.read_checkpoint, "/nowhere/m.safetensors")
  if pcall(nn.load, bytes:sub(1, 100)) then error("a cut-off checkpoint was believed") end
end)

test("a closed model is an error", function()
  local kept
  do
    local m <close> = model()
    kept = m
  end
  fails("the model is closed", function() kept:summary() end)
end)

test("shapes and labels that do not fit", function()
  local m = nn.Sequential { nn.Flatten { 28, 28 }, nn.Dense { 128, activation = "relu" }, nn.Dense { 10, activation = "softmax" } }
  m:compile { loss = "sparse_categorical_crossentropy" }
  local row = {}
  for i = 1, 785 do row[i] = 0 end
  fails("785", m.fit, m, { data.tensor { row }, data.tensor({ 1 }, { dtype = "i64" }), verbose = 0 })
  local x = points(4)
  fails("7", function() model():fit { x, data.tensor({ 0, 1, 7, 0 }, { dtype = "i64" }), verbose = 0 } end)
  fails("fit: item 2, the labels y, must be a tensor, got nil", function() model():fit { x } end)
end)

test("the first options may be given by their place, in Keras's order", function()
  local function has(object, fields)
    for field, value in pairs(fields) do
      local got = object[field]
      same(type(got) == "table" and got[1] or got, value, field)
    end
  end
  has(nn.Conv2D { 32, { 3, 3 }, 2, "same" }, { filters = 32, kernel_size = 3, strides = 2, padding = "same" })
  has(nn.MaxPooling2D { 3, 2, "same" }, { pool_size = 3, strides = 2, padding = "same" })
  has(nn.Dense { 4, "relu", false }, { units = 4, activation = "relu", use_bias = false })
  has(nn.BatchNormalization { -1, 0.9, 1e-5 }, { axis = -1, momentum = 0.9, epsilon = 1e-5 })
  has(nn.SGD { 0.1, 0.9, true }, { learning_rate = 0.1, momentum = 0.9, nesterov = true })
  has(nn.AdamW { 0.1, 0.02, 0.8 }, { learning_rate = 0.1, weight_decay = 0.02, beta_1 = 0.8 })
  has(nn.BinaryCrossentropy { true, 0.1 }, { from_logits = true, label_smoothing = 0.1 })
  has(nn.EarlyStopping { "loss", 0.1, 3 }, { monitor = "loss", min_delta = 0.1, patience = 3 })
end)

test("wrong options list the known ones", function()
  fails("Dense: unknown option 'unit'; did you mean units? known are activation, bias_initializer, bias_regularizer, dtype, input_dim, input_shape, kernel_initializer, kernel_regularizer, name, trainable, units, use_bias", nn.Dense, { unit = 3 })
  fails("Dense: units must be an integer, got x", nn.Dense, { "x" })
  fails("Dense: units must be positive, got 0", nn.Dense, { 0 })
  fails("Dense: how many units?", nn.Dense, {})
  fails("relu", function() nn.Sequential { nn.Dense { 3, activation = "rely" } } end)
  fails("Sequential: item 1 is a string, not a layer", nn.Sequential, { "dense" })
  fails("compile: which loss?", function() nn.Sequential { nn.Dense { 1 } }:compile {} end)
  fails("fit: unknown option 'epoch'; did you mean epochs? known are: batch_size", function() model():fit { epoch = 1 } end)
  fails("fit: 'epochs' must be an integer of 32 bits, got 4294967297", function() local x, y = points(4) model():fit { x, y, epochs = (1 << 32) + 1, verbose = 0 } end)
  fails("compile: 'threads' must be an integer of 32 bits", model, { threads = 1 << 32 })
  fails("rank must be in [0, size)", function() data.tensor({ 1, 2 }):shard(1 << 32, 2) end)
  fails("fit: 'batch_size' must be at least 1, got 0", function() local x, y = points(4) model():fit { x, y, batch_size = 0 } end)
  fails("unknown metric 'f1'", model, { metrics = { "f1" } })
  fails("Adam", model, { optimizer = "Adamo" })
  fails("unknown option 'rate'", hvd.LearningRateWarmupCallback, { initial_lr = 1, rate = 1 })
end)

test("options by place are taken in Keras's order, or refused", function()
  local m, path = nn.Sequential { nn.Dense { 1, input_dim = 1 } }, os.tmpname()
  local x, hvd = data.tensor { { 1 }, { 2 } }, require "hvd"
  m:compile { nn.Adam { 0.5 }, "mae", metrics = { "mse" } }
  same(m.learning_rate, 0.5)
  near(m:evaluate { x, m:predict(x, { 1 }) + 2, verbose = 0 }, 2, 1e-5)
  same(m:train_on_batch(x, x, { x:reshape { -1 } * 0 }), 0.0)
  fails("compile: loss is given twice, by place and by name", m.compile, m, { "sgd", "mae", loss = "mse" })
  fails("compile: item 5 is one too many; by place it takes: optimizer loss loss_weights metrics", m.compile, m, { "sgd", "mse", 1, {}, 5 })
  fails("compile: the options must be a table, as { optimizer = … }, got adam", m.compile, m, "adam", "mse")
  fails("predict: the options must be a table, as { batch_size = … }, got 32", m.predict, m, x, 32)
  fails("fit: takes one table: model:fit { x, y, epochs = 5 }, not model:fit(x, y)", m.fit, m, x, x)
  fails("evaluate: takes one table: model:evaluate { x, y,", m.evaluate, m, { x, x }, { verbose = 0 })
  fails("fit: unknown option '1.5'", m.fit, m, { x, x, [1.5] = 2 })
  m:save(path)
  fails("overwrite is false", m.save, m, path, { false })
  os.remove(path)
  fails("save: item 2 is one too many; by place it takes: overwrite", m.save, m, path, { true, false })
  fails("data.mnist: item 1 has no name; write path = …; known are: path rank size", data.mnist, { 0, 2 })
  fails("data.csv: item 2 is one too many; by place it takes: path", data.csv, { "a.csv", "b.csv" })
  fails("data.csv: path is given twice", data.csv, { "a.csv", path = "b.csv" })
  fails("data.save: item 1 has no name; write compressed = …", data.save, path .. ".npy", x, { true })
  fails("hvd.run: item 1 has no name; write args = …", hvd.run, print, { 2 })
  local inherited = setmetatable({}, { __index = { "no place", loss = "mse", optimizer = "sgd" } })
  m:compile(inherited)
  same(m.learning_rate, 0.01)
end)

test("errors name the user's line, and what there is", function()
  local x, m = data.tensor { { 1, 2 }, { 3, 4 } }, nn.Sequential { nn.Dense { 1, input_dim = 2 } }
  fails("nn.optimizers.schedules has no 'StepDecay'; it has CosineDecay, CosineDecayRestarts", function() return nn.optimizers.schedules.StepDecay end)
  fails("a model has no 'nothing'; it has compile, count_params, cpu, evaluate", function() return m.nothing end)
  fails("a model has no 'name' that can be set; there are learning_rate, momentum, stop_training", function() m.name = "x" end)
  fails("a tensor has no 'nothing'; it has abs, add", function() return x.nothing end)
  fails("mean_squared_error (mse), mean_absolute_error (mae)", m.compile, m, { loss = "msee" })
  fails("compile: item 2 of metrics is Dense, which is no metric; there are names", m.compile, m, { loss = "mse", metrics = { "mae", nn.Dense { 1 } } })
  fails("compile: item 1 of metrics is a number, not a metric", m.compile, m, { loss = "mse", metrics = { 3 } })
  m:compile { loss = "mse" }
  local function said(fn, ...) return tostring(select(2, pcall(fn, ...))):match "api.lua:%d+: (.*)" end
  same(said(function() local v = nn.value_and_grad(function(t) local y = t:matmul(x:slice(0, 1)) return y:sum() end)(x) return v end),
    "matmul: shapes (2, 2) and (1, 2) do not fit together")
  local function fit(callback)
    m:fit { x, data.tensor { 1, 2 }, verbose = 0, callbacks = { callback } }
    return nil -- no tail call: its line is named
  end
  same(said(fit, nn.LearningRateScheduler { function() return -1 end }), "learning_rate must be at least 0, not -1")
  same(said(fit, { on_epoch_end = function() m:set_weights {} end }), "set_weights: the model has 2 weights, got 0")
end)

test("what Keras calls by other names, too, is there", function()
  local x, y = points(20)
  local conv = nn.Conv2D { 3, 3, padding = "SAME" }
  same(conv.padding, "same")
  fails('Conv2D: padding must be "valid" or "same", got "full"', nn.Conv2D, { 3, 3, padding = "FULL" })
  local m = nn.Sequential { nn.Dense { 4, input_dim = 2 }, nn.LeakyReLU { 0.2 }, nn.LeakyReLU { name = "second" }, nn.Dense { 3 }, nn.Softmax {} }
  m:compile { loss = "sparse_categorical_crossentropy", metrics = { nn.SparseCategoricalAccuracy {} } }
  local h = m:fit({ x, y, verbose = 0 }).history
  assert(h.sparse_categorical_accuracy[1])
  near(m:predict(x)[0]:sum(), 1, 1e-6)
  fails("LeakyReLU: unknown option 'alpha'; known are dtype, input_shape, name, negative_slope, trainable", nn.LeakyReLU, { alpha = 1 })
  fails("Softmax: axis must be -1, the last, got 1", nn.Softmax, { axis = 1 })
  local leaky = nn.Sequential { nn.Dense { 2, input_dim = 2, kernel_initializer = nn.initializers.Identity {} }, nn.LeakyReLU {} }
  same(leaky:predict(data.tensor { { -1, 2 } }), data.tensor { { -0.3, 2 } })
  m = nn.Sequential { nn.Dense { 1, activation = "sigmoid", input_dim = 2 } }
  m:compile { loss = "bce", metrics = { nn.MeanAbsoluteError {}, nn.MeanSquaredError {}, nn.RootMeanSquaredError {}, nn.BinaryAccuracy {} } }
  h = m:evaluate { x, y, verbose = 0, return_dict = true }
  near(h.root_mean_squared_error ^ 2, h.mean_squared_error, 1e-9)
  assert(h.mean_absolute_error and h.binary_accuracy)
  fails("unknown metric 'huber'", m.compile, m, { loss = "bce", metrics = { nn.Huber {} } })
  fails("evaluate: 'verbose' must be an integer, got loud", m.evaluate, m, { x, y, verbose = "loud" })
  m = nn.Sequential { nn.Embedding { 3, 2 }, nn.Flatten {} }
  fails("embedding expects indices from 0 to 2, but row 1 of x holds 1.5", m.predict, m, data.tensor { { 1 }, { 1.5 } })
  same(tostring(data.tensor { { 0 / 0, -(0 / 0) } }:sum()), "nan")
  same(tostring(data.tensor { 0 / 0, -(0 / 0) }), "[nan, nan]")
end)

test("a callback's method that is never called is refused", function()
  local x, m = data.tensor { { 1 }, { 2 } }, nn.Sequential { nn.Dense { 1, input_dim = 1 } }
  m:compile { loss = "mse" }
  local function fit(...) m:fit { x, x, verbose = 0, callbacks = { ... } } end
  fails("fit: callback 2 has 'on_epoch_ended', which is never called; there are on_train_begin, on_train_end, on_epoch_begin, on_epoch_end, on_train_batch_begin, on_train_batch_end",
    fit, {}, { on_epoch_ended = print })
  fails("fit: callback 1 has 'epoch_end', which is never called", fit, { epoch_end = print })
  fit({ on_epoch_end = function(self) self:helps() end, helps = function() end })
end)

test("weights start as an initializer says, and regularizers add to the loss", function()
  local m = nn.Sequential { nn.Dense { 2, input_dim = 2, kernel_initializer = nn.initializers.Constant { 3 }, bias_initializer = "Ones",
    kernel_regularizer = nn.L1 { 0.5 }, bias_regularizer = "l2" } }
  assert(m:predict(data.tensor { { 1, 1 } }):totable()[1][1] == 7)
  m:compile { loss = "mse", optimizer = nn.SGD { 0.1 } }
  local x, y = data.tensor { { 1, 1 } }, data.tensor { { 7, 7 } }
  assert(math.abs(m:evaluate { x, y, verbose = 0 } - (0.5 * 12 + 0.01 * 2)) < 1e-5) -- the data is fitted
  local path = os.tmpname()
  m:save(path)
  assert(math.abs(nn.load(path):evaluate { x, y, verbose = 0 } - 6.02) < 1e-5)
  os.remove(path)
  m:train_on_batch(x, y)
  local after = m:get_weights()
  assert(math.abs(after[1]:totable()[1][1] - (3 - 0.1 * 0.5)) < 1e-6 and math.abs(after[2]:totable()[1] - (1 - 0.1 * 0.02)) < 1e-6)
  local seeded = nn.initializers.HeNormal { seed = 4 }
  local function kernel(seed)
    return nn.Sequential({ nn.Dense { 3, input_dim = 4, kernel_initializer = seeded }, seed = seed }):get_weights()[1]
  end
  assert(kernel(1) == kernel(2))
  for name in pairs(nn.initializers) do
    local layers = { nn.Input { 6, 6, 2 }, nn.SeparableConv2D { 4, 3, bias_initializer = nn.initializers.RandomNormal { 0, 1 } }, nn.Conv2D { 4, 2, groups = 2, kernel_regularizer = "L1L2" },
      nn.BatchNormalization { moving_variance_initializer = "zeros", gamma_regularizer = "l1" }, nn.DepthwiseConv2D { 2, depthwise_initializer = "he_uniform", depthwise_regularizer = nn.regularizers.L2 {} },
      nn.Flatten {}, nn.LayerNormalization { beta_initializer = "ones" }, nn.Dense { 4, kernel_initializer = name } }
    assert(nn.Sequential(layers):count_params() > 0, name)
  end
  assert(nn.Sequential { nn.Input { 3 }, nn.Embedding { 5, 2, embeddings_initializer = "ones", embeddings_regularizer = nn.L1L2 { l2 = 0.1 } }, nn.Flatten {}, nn.Dense { 1 } })
  fails('Dense: kernel_initializer must be an object of nn.initializers or one of Constant, GlorotNormal', nn.Dense, { 3, kernel_initializer = "he" })
  fails('Dense: bias_regularizer must be an object of nn.regularizers or one of L1, L1L2, L2, got 3', nn.Dense, { 3, bias_regularizer = 3 })
  fails("Dense: kernel_regularizer must be an object of nn.regularizers", nn.Dense, { 3, kernel_regularizer = nn.initializers.Zeros {} })
  fails("L1: l1 must be 0 or more, got -1", nn.L1, { -1 })
  fails("VarianceScaling: unknown mode \"fan\" (known: fan_in, fan_out, fan_avg)", function()
    nn.Sequential { nn.Dense { 3, input_dim = 2, kernel_initializer = nn.initializers.VarianceScaling { mode = "fan" } } }
  end)
  fails("dense: bias_initializer: Orthogonal is for weights of two dimensions or more", function()
    nn.Sequential { nn.Dense { 3, input_dim = 2, bias_initializer = "orthogonal" } }
  end)
end)

test("rows of steps: Conv1D, its pools, Dense over each step, Concatenate along any dimension", function()
  local x = nn.Input { 8, 3 }
  local h = nn.Conv1D { 4, 3, padding = "causal", dilation_rate = { 2 }, activation = "relu" } (x)
  h = nn.Concatenate { axis = 1 } { nn.MaxPooling1D { 2 } (h), nn.AveragePooling1D { 3, padding = "same" } (h) }
  h = nn.Dense { 5, activation = "relu" } (nn.Concatenate { axis = -2 } { h, h })
  local out = nn.Dense { 2 } (nn.Concatenate {} { nn.GlobalMaxPooling1D {} (h), nn.Flatten {} (nn.GlobalAveragePooling1D { keepdims = true } (h)) })
  local m = nn.Model { inputs = x, outputs = out }
  local list = {}
  for i = 1, 10 * 24 do list[i] = math.sin(i) end
  local rows, y = data.tensor(list):reshape { 10, 8, 3 }, data.tensor(list):slice(0, 20):reshape { 10, 2 }
  m:compile { loss = "mse", optimizer = nn.Adam { 0.01 } }
  local h1 = m:fit { rows, y, epochs = 30, verbose = 0 }
  assert(h1.history.loss[30] < h1.history.loss[1] * 0.7)
  local path = os.tmpname()
  m:save(path)
  assert(nn.load(path):predict(rows) == m:predict(rows))
  os.remove(path)
  local each = nn.Sequential { nn.Dense { 5, input_shape = { 8, 3 } }, nn.Flatten {}, nn.Dense { 1 } }
  assert(each:count_params() == 20 + 41)
  local plain = nn.Sequential { nn.Dense { 10, activation = "softmax" } }
  plain:compile { loss = "sparse_categorical_crossentropy" }
  fails("dense has softmax, which expects rows of one dimension, got (8, 3): put Flatten before", plain.fit, plain,
    { rows, data.tensor({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { dtype = "i64" }), verbose = 0 })
  fails("Concatenate: axis must not be 0, which are the rows", nn.Concatenate, { axis = 0 })
  fails('Conv1D: padding must be "valid", "same" or "causal", got "full"', nn.Conv1D, { 3, 3, padding = "full" })
  fails("Conv1D: kernel_size must be a positive integer", nn.Conv1D, { 3, { 3, 3 } })
  fails("Conv1D: how many filters, of which size?", nn.Conv1D, { 3 })
  fails("MaxPooling1D: padding must be", nn.MaxPooling1D, { padding = "causal" })
end)

test("normalisations have Keras's axis", function()
  local x = nn.Input { 4, 3 }
  local m = nn.Model { inputs = x, outputs = nn.LayerNormalization { axis = { 2, 1 } } (nn.BatchNormalization { axis = -1 } (nn.LayerNormalization { axis = -1 } (x))) }
  local shapes = {}
  for i, w in ipairs(m:get_weights()) do shapes[i] = table.concat(w.shape, "x") end
  assert(table.concat(shapes, " ") == "3 3 3 3 3 3 4x3 4x3", table.concat(shapes, " "))
  fails("LayerNormalization: axis must list dimensions that follow each other", nn.LayerNormalization, { axis = { 1, 3 } })
  fails("LayerNormalization: axis must be that of a dimension, 1 or -1 and so on, got 0", nn.LayerNormalization, { axis = 0 })
  fails("batch_normalization normalises the last dimension of its input, which has 2: axis must be -1", function()
    nn.Sequential { x, nn.BatchNormalization { axis = 1 }, nn.Flatten {}, nn.Dense { 1 } }
  end)
end)

test("bf16 is asked for by model or by layer, and a checkpoint remembers", function()
  local function net(model_dtype, layer_dtype)
    local m = nn.Sequential { nn.Input { 8, 8, 16 }, nn.Conv2D { 16, 3, dtype = layer_dtype }, nn.GlobalAveragePooling2D {},
      nn.Dense { 2 }, seed = 3, dtype = model_dtype }
    m:compile { loss = "mse", optimizer = "SGD" }
    return m
  end
  local function text(m)
    local path = os.tmpname()
    m:save(path)
    local file <close> = io.open(path, "rb")
    local all = file:read "a"
    os.remove(path)
    return all
  end
  local half = 'mixed_bfloat16'
  same(text(net()):find(half, 1, true), nil)
  same(text(net("float32")):find(half, 1, true), nil)
  same(text(net(half, "float32")):match 'Conv2D.-}':find(half, 1, true), nil)
  local path = os.tmpname()
  for _, m in ipairs { net(half), net(nil, half), net("float32", half) } do
    if not text(m):match 'Conv2D.-}':find(half, 1, true) then error("the layer is not bf16") end
    m:save(path)
    if not text(nn.load(path)):match 'Conv2D.-}':find(half, 1, true) then error("the checkpoint has forgotten it") end
  end
  os.remove(path)
  fails('Sequential: dtype must be "float32" or "mixed_bfloat16", got "bf16"', net, "bf16")
  fails('Conv2D: dtype must be "float32" or "mixed_bfloat16", got "float16"', net, nil, "float16")
  -- Each layer has the option.
  for _, layer in ipairs { nn.Dense { 2, dtype = half }, nn.ReLU { dtype = half }, nn.BatchNormalization { dtype = half }, nn.Dropout { 0.5, dtype = half } } do
    same(text(nn.Sequential { nn.Input { 4 }, layer, nn.Dense { 3 } }):find(half, 1, true) ~= nil, true, layer.class)
  end
end)

test("layers are computed anew by model or by layer, and a checkpoint remembers", function()
  local function net(remat, mark)
    local relu = nn.ReLU {}
    return nn.Sequential { nn.Input { 8, 8, 16 }, nn.Conv2D { 16, 3, activation = "relu" }, nn.BatchNormalization {}, mark and nn.remat(relu) or relu,
      nn.Conv2D { 4, 3 }, nn.GlobalAveragePooling2D {}, nn.Dense { 2 }, seed = 3, remat = remat }
  end
  local function marks(m) -- the layers in a saved model's text, in their order
    local path, found = os.tmpname(), {}
    nn.load((function() m:save(path) return path end)()):save(path)
    local file <close> = io.open(path, "rb")
    for layer in file:read "a":gmatch "{[^{}]*type[^{}]*}" do
      found[#found + 1] = layer:match 'remat\\?":(%d+)' and layer:match 'name\\?":\\?"([%w_]+)' or nil
    end
    os.remove(path)
    return table.concat(found, " ")
  end
  same(marks(net()), "")
  same(marks(net(nil, true)), "re_lu")
  same(marks(net("activations")), "re_lu")
  same(marks(net("full")), "conv2d batch_normalization re_lu conv2d_1 global_average_pooling2d dense")
  same(marks(net(nn.RematScope { mode = "list_of_layers", layer_names = { "conv2d", "re_lu" } })), "conv2d re_lu")
  same(marks(nn.applications.ResNet18 { input_shape = { 32, 32, 3 }, remat = nn.RematScope { "list_of_layers", layer_names = { "conv1" } } }), "conv1")
  fails('remat must be "full", "activations" or an nn.RematScope, got larger_than', net, "larger_than")
  fails('remat must be "full", "activations" or an nn.RematScope, got Adam', net, nn.Adam {})
  fails('remat: no layer is called "conv"; the first is "input_layer", the last "dense"', net,
    nn.RematScope { mode = "list_of_layers", layer_names = { "conv" } })
  fails('mode must be one of activations, full, larger_than, list_of_layers, got "all"', nn.RematScope, { mode = "all" })
  fails("output_size_threshold must be 0 or more, and goes with", nn.RematScope, { output_size_threshold = 3 })
  fails("layer_names must name layers, and goes with", nn.RematScope, { mode = "list_of_layers" })
  fails("layer_names: item 1 is a number, not a name", nn.RematScope, { mode = "list_of_layers", layer_names = { 3 } })
  fails("remat: expects a layer, as nn.remat(nn.ReLU {}); a whole model has the option remat", nn.remat, net())
end)

test("callbacks see what Keras shows them", function()
  local x, y = points(100)
  local seen = {}
  local function note(name) return function(self, number, logs)
    seen[#seen + 1] = name .. (math.type(number) or "")
    if name == "epoch_end" then logs.extra = 7 end
    same(self.params.steps, 4)
    same(getmetatable(self.model), getmetatable(model()))
  end end
  local callback = {}
  for _, name in ipairs { "train_begin", "train_end", "epoch_begin", "epoch_end", "train_batch_begin", "train_batch_end" } do
    callback["on_" .. name] = note(name)
  end
  local h = model():fit { x, y, batch_size = 32, epochs = 1, verbose = 0, callbacks = { callback } }
  same(table.concat(seen, " "), "train_begin epoch_begininteger " .. ("train_batch_begininteger train_batch_endinteger "):rep(4)
    .. "epoch_endinteger train_end")
  same(h.history.extra[1], 7.0)
end)

test("an error in a callback comes out of fit", function()
  local x, y = points(10)
  fails("my error", function()
    model():fit { x, y, verbose = 0, callbacks = { { on_train_batch_end = function() error "my error" end } } }
  end)
end)

test("stop_training ends training", function()
  local x, y = points(10)
  local stop = nn.LambdaCallback { on_epoch_end = function(epoch) if epoch == 1 then STOP.stop_training = true end end }
  STOP = model()
  same(#STOP:fit({ x, y, epochs = 9, verbose = 0, callbacks = { stop } }).epoch, 2)
  STOP = nil
end)

test("ModelCheckpoint keeps the best", function()
  local x, y = points(50)
  local path = folder()
  local values = { 0.5, 0.7, 0.6 }
  local set = { on_epoch_end = function(_, epoch, logs) logs.accuracy = values[epoch + 1] end }
  local every = nn.ModelCheckpoint { path .. "/e{epoch:02d}-{accuracy:.2f}", monitor = "accuracy" }
  local best = nn.ModelCheckpoint { path .. "/best{epoch}", monitor = "accuracy", save_best_only = true }
  model():fit { x, y, epochs = 3, verbose = 0, callbacks = { set, every, best } }
  for name, there in pairs { ["e01-0.50"] = true, ["e03-0.60"] = true, best1 = true, best2 = true, best3 = false } do
    local f = io.open(path .. "/" .. name)
    same(f ~= nil, there, name)
    if f then f:close() end
  end
  -- From a threshold on, and after a number of batches.
  local over = nn.ModelCheckpoint { path .. "/over{epoch}", monitor = "accuracy", save_best_only = true, initial_value_threshold = 0.65 }
  local often = nn.ModelCheckpoint { path .. "/often{epoch}-{batch:02d}-{loss:.9f}", save_freq = 3 }
  model():fit { x, y, epochs = 3, batch_size = 25, verbose = 0, callbacks = { set, over, often } }
  local files = {}
  for line in io.popen("ls " .. path):lines() do files[#files + 1] = line:match "^o[^-]*-?%d*" end
  same(table.concat(files, " "), "often2-01 often3-02 over2", "over2 and two of six batches")
  local m = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }
  m:compile { loss = "mse", optimizer = nn.SGD(0.01) }
  local one, kept = data.tensor { { 1 }, { 2 } }, nn.ModelCheckpoint { path .. "/kept", monitor = "loss", save_best_only = true }
  m:fit { one, one, epochs = 2, verbose = 0, callbacks = { kept } }
  local least = kept.best
  m:set_weights { data.tensor { { 9 } }, data.tensor { 9 } }
  m:fit { one, one, verbose = 0, callbacks = { kept } } -- another training, which is worse
  same(kept.best, least)
  same(nn.load(path .. "/kept"):get_weights()[1]:sum() < 5, true)
  fails('save_freq must be "epoch" or a number of batches, got 0', nn.ModelCheckpoint, { "x", save_freq = 0 })
  fails("there is no metric 'val_loss' to monitor; this epoch has accuracy, loss", function()
    model():fit { x, y, verbose = 0, callbacks = { nn.ModelCheckpoint { path .. "/x", save_best_only = true } } }
  end)
  fails("after a number of batches (save_freq = 3) there is no val_loss yet", nn.ModelCheckpoint, { "x", save_best_only = true, save_freq = 3 })
  nn.ModelCheckpoint { "x", save_best_only = true, save_freq = 3, monitor = "loss" }
  fails("'batch' in the file's name is no metric", function()
    model():fit { x, y, verbose = 0, callbacks = { nn.ModelCheckpoint { path .. "/x{batch}" } } }
  end)
  fails("which file?", nn.ModelCheckpoint)
end)

test("what looks at epochs alone takes no part in batches", function()
  local x, y = points(50)
  local checkpoint, board, seen = nn.ModelCheckpoint { folder() .. "/x" }, nn.TensorBoard { log_dir = folder() }, 0
  same(checkpoint.on_train_batch_end, nil)
  same(board.on_train_batch_end, nil)
  same(type(nn.ModelCheckpoint({ "x", save_freq = 1 }).on_train_batch_end), "function")
  same(type(nn.TensorBoard({ update_freq = "batch" }).on_train_batch_end), "function")
  function checkpoint.on_batch_end() seen = seen + 1 end -- one of its own
  model():fit { x, y, epochs = 2, batch_size = 25, verbose = 0, callbacks = { checkpoint, board } }
  same(seen, 4)
end)

test("EarlyStopping waits, stops, restores", function()
  local x, y = points(50)
  local values, at = { 0.9, 0.5, 0.6, 0.7, 0.8, 0.9 }, nil
  local m = model()
  local set = { on_epoch_end = function(_, epoch, logs)
    logs.loss = values[epoch + 1]
    if epoch == 1 then at = m:get_weights()[1]:sum() end
  end }
  local early = nn.EarlyStopping { "loss", patience = 2, restore_best_weights = true }
  same(#m:fit({ x, y, epochs = 6, verbose = 0, callbacks = { set, early } }).epoch, 4)
  near(m:get_weights()[1]:sum(), at, 1e-6)
  -- From the second epoch on it only grows; the first one has the greatest.
  local later = nn.EarlyStopping { "loss", patience = 1, mode = "max", start_from_epoch = 1 }
  same(#model():fit({ x, y, epochs = 6, verbose = 0, callbacks = { set, later } }).epoch, 6)
  same(#model():fit({ x, y, epochs = 6, verbose = 0, callbacks = { set, nn.EarlyStopping { "loss", patience = 1, mode = "max" } } }).epoch, 2)
end)

test("EarlyStopping restores the best epoch also when it did not stop", function()
  local x, y = points(50)
  local function trained(values, options)
    local m, at = model(), {}
    local set = { on_epoch_end = function(_, epoch, logs)
      logs.loss, at[epoch + 1] = values[epoch + 1], m:get_weights()[1]:sum()
    end }
    options[1], options.restore_best_weights = "loss", true
    local h = m:fit { x, y, epochs = #values, verbose = 0, callbacks = { set, nn.EarlyStopping(options) } }
    return #h.epoch, m:get_weights()[1]:sum(), at
  end
  local epochs, sum, at = trained({ 0.9, 0.5, 0.7 }, { patience = 10 })
  same(epochs, 3)
  near(sum, at[2], 1e-6)
  -- No epoch beats the baseline: it stops, and the best of them is restored.
  epochs, sum, at = trained({ 0.9, 0.5, 0.4, 0.6, 0.7 }, { patience = 2, baseline = 0.1 })
  same(epochs, 4)
  near(sum, at[3], 1e-6)
end)

test("mode auto knows which metrics are to grow", function()
  local x, y = points(50)
  local function saves(monitor, values, mode)
    local m = model()
    local set = { on_epoch_end = function(_, epoch, logs) logs[monitor] = values[epoch + 1] end }
    local best = nn.ModelCheckpoint { folder() .. "/best", monitor = monitor, save_best_only = true, mode = mode }
    m:fit { x, y, epochs = #values, verbose = 0, callbacks = { set, best } }
    return best.best
  end
  same(saves("val_AUC", { 0.5, 0.7, 0.6 }), 0.7)
  same(saves("val_out_accuracy", { 0.5, 0.7, 0.6 }), 0.7)
  same(saves("val_mse", { 0.5, 0.3, 0.6 }), 0.3)
  same(saves("root_mean_squared_percentage_error", { 0.5, 0.3, 0.6 }), 0.3)
  same(saves("f1", { 0.5, 0.7, 0.6 }, "max"), 0.7)
  fails("ModelCheckpoint: could not infer whether 'f1' is to be maximised or minimised", saves, "f1", { 1 })
end)

test("logs have their whole names, however many there are", function()
  local x, y, i = points(20), data.tensor { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 }, nn.Input { 2 }
  local outputs, ys, metrics = {}, {}, {}
  for k = 1, 4 do
    outputs[k], ys[k] = nn.Dense { 1, name = "a_forecast_of_the_customers_of_day_" .. k }(i), y
    metrics[k] = { "mean_squared_error", "root_mean_squared_error", "root_mean_squared_percentage_error" }
  end
  local m = nn.Model { inputs = i, outputs = outputs }
  m:compile { loss = "mse", optimizer = nn.SGD { 0 }, metrics = metrics }
  same(select("#", m:evaluate { x, ys, verbose = 0 }), 17)
  local late = { on_epoch_end = function(_, epoch, logs) if epoch > 0 then logs.late = epoch end end }
  local h = m:fit({ x, ys, epochs = 3, verbose = 0, validation_data = { x, ys }, callbacks = { late } }).history
  local n = 0
  for _ in pairs(h) do n = n + 1 end
  same(n, 35)
  same(#h.val_a_forecast_of_the_customers_of_day_4_root_mean_squared_percentage_error, 3)
  same(table.concat(h.late, " "), "1.0 2.0")
  fails("is too long", function()
    m:fit { x, ys, verbose = 0, callbacks = { { on_epoch_end = function(_, _, logs) logs[("x"):rep(128)] = 1 end } } }
  end)
end)

test("sample_weight is taken wherever it is given", function()
  local x, y, z = data.tensor { { 1, 2 }, { 3, 4 } }, data.tensor { 1, 2 }, data.tensor { 0, 0 }
  local m = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
  m:compile { loss = "mse", optimizer = nn.SGD { 0 } }
  local set = { x = x, y = y, sample_weight = z }
  if m:evaluate { x, y, verbose = 0 } == 0 then error "without weights there is a loss" end
  for _, given in ipairs { { x, y, z }, { x, y, sample_weight = z }, { set } } do
    given.verbose = 0
    same(m:evaluate(given), 0.0)
    same(m:fit(given).history.loss[1], 0.0)
  end
  for _, given in ipairs { { x, y, z }, { x, y, sample_weight = z }, set, { set } } do
    same(m:fit({ x, y, verbose = 0, validation_data = given }).history.val_loss[1], 0.0)
  end
  fails("evaluate: sample_weight is given twice", m.evaluate, m, { x, y, z, sample_weight = z })
  fails("fit: sample_weight is given twice", m.fit, m, { set, sample_weight = z })
  fails("fit: item 4 is one too many", m.fit, m, { x, y, z, z })
  fails("fit: item 2 is one too many", m.fit, m, { set, y })
  fails("sample_weight must be a tensor of a number for each row, got number", m.fit, m, { x, y, 3 })
  local i = nn.Input { 2 }
  local two = nn.Model { inputs = i, outputs = { nn.Dense { 1 }(i), nn.Dense { 1 }(i) } }
  two:compile { loss = "mse" }
  fails("the model has 2 outputs: class_weight needs a table for each", two.fit, two, { x, { y, y }, class_weight = { [0] = 1 }, verbose = 0 })
end)

test("a normalisation's momentum and epsilon may be 0", function()
  local m = nn.Sequential { nn.Input { 2 }, nn.BatchNormalization { momentum = 0, epsilon = 0 }, nn.Dense { 1 } }
  m:compile { optimizer = nn.SGD { 0 }, loss = "mse" }
  local x = data.tensor { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } }
  m:fit { x, data.tensor { 1, 2, 3, 4 }, verbose = 0 }
  same(m:get_weights()[3][0], 4.0)
  local path = folder() .. "/m.safetensors"
  m:save(path)
  local again = nn.load(path)
  again:fit { x:slice(0, 2), data.tensor { 1, 2 }, verbose = 0 }
  same(again:get_weights()[3][0], 2.0)
end)

-- The learning rates of a training whose metric takes these values.
local function rates_of(values, options)
  local x, y = points(20)
  local set = { on_epoch_end = function(_, epoch, logs) logs.loss = values[epoch + 1] end }
  options[1] = options[1] or "loss"
  local h = model({ optimizer = nn.SGD { 1.0 } }):fit { x, y, epochs = #values, verbose = 0, callbacks = { set, nn.ReduceLROnPlateau(options) } }
  local all = {}
  for i, rate in ipairs(h.history.learning_rate) do all[i] = ("%g"):format(rate) end
  return table.concat(all, " ")
end

-- What Keras 3.15 gives for the same values.
test("ReduceLROnPlateau waits, lowers and cools down", function()
  same(rates_of({ 5, 4, 4, 4, 3, 3, 3, 3 }, { patience = 2, factor = 0.5 }), "1 1 1 1 0.5 0.5 0.5 0.25")
  same(rates_of({ 5, 5, 5, 5, 5, 5, 5, 5 }, { patience = 1, factor = 0.5, cooldown = 2, min_lr = 0.3 }), "1 1 0.5 0.5 0.3 0.3 0.3 0.3")
  same(rates_of({ 5, 4.99, 4.98, 4.97 }, { patience = 1, factor = 0.5, min_delta = 0.05 }), "1 1 0.5 0.25")
  same(rates_of({ 1, 2, 3, 2, 2 }, { patience = 1, factor = 0.5, mode = "max" }), "1 1 1 1 0.5")
  fails("does not support a factor >= 1.0", nn.ReduceLROnPlateau, { factor = 1.5 })
  fails("there is no metric 'val_loss' to monitor", rates_of, { 1 }, { "val_loss" })
end)

test("LearningRateScheduler sets each epoch's rate", function()
  local x, y = points(20)
  local given = {}
  local half = nn.LearningRateScheduler { function(epoch, rate) given[#given + 1] = epoch .. ":" .. rate return rate / 2 end }
  local h = model({ optimizer = nn.SGD { 1.0 } }):fit { x, y, epochs = 3, verbose = 0, callbacks = { half } }
  same(table.concat(given, " "), "0:1.0 1:0.5 2:0.25")
  same(table.concat(h.history.learning_rate, " "), "0.5 0.25 0.125")
  fails("the schedule must return a number, got nil", function()
    model():fit { x, y, verbose = 0, callbacks = { nn.LearningRateScheduler { function() end } } }
  end)
  fails("which schedule?", nn.LearningRateScheduler)
end)

test("TerminateOnNaN ends the training, and without it that is an error", function()
  local x, y = points(64)
  local rows = x:totable()
  rows[40][1] = 0 / 0
  local bad = data.tensor(rows)
  fails("the loss is nan at step 2 of epoch 1: row 39 of x holds nan", function()
    model():fit { bad, y, shuffle = false, epochs = 3, verbose = 0 }
  end)
  local stdout, said = io.stdout, ""
  io.stdout = { write = function(_, text) said = said .. text end }
  local h = model():fit { bad, y, shuffle = false, epochs = 3, verbose = 0, callbacks = { nn.TerminateOnNaN {} } }
  io.stdout = stdout
  same(said, "Batch 1: Invalid loss, terminating training\n")
  same(#h.epoch, 1)
  same(tostring(h.history.loss[1]), "nan")
end)

test("CSVLogger writes a line for each epoch", function()
  local x, y = points(20)
  local path = folder() .. "/t.csv"
  local m = model()
  local function lines()
    local all = {}
    for line in io.lines(path) do all[#all + 1] = line end
    return all
  end
  local h = m:fit { x, y, epochs = 2, verbose = 0, callbacks = { nn.CSVLogger { path } } }
  same(#lines(), 3)
  same(lines()[1], "epoch,accuracy,loss")
  local epoch, accuracy, loss = lines()[3]:match "^(%d+),([^,]+),([^,]+)$"
  same(epoch, "1")
  same(tonumber(accuracy), h.history.accuracy[2])
  same(tonumber(loss), h.history.loss[2]) -- to the last bit
  m:fit { x, y, epochs = 1, verbose = 0, callbacks = { nn.CSVLogger { path, append = true, separator = ";" } } }
  same(#lines(), 4)
  same(lines()[4]:sub(1, 2), "0;")
  m:fit { x, y, epochs = 1, verbose = 0, callbacks = { nn.CSVLogger { path } } }
  same(#lines(), 2)
  fails("CSVLogger: /nowhere/x.csv", function() m:fit { x, y, verbose = 0, callbacks = { nn.CSVLogger { "/nowhere/x.csv" } } } end)
end)

test("Horovod must be initialized", function()
  hvd.shutdown()
  fails("Horovod has not been initialized; use hvd.init().", hvd.rank)
  fails("Horovod has not been initialized; use hvd.init().", hvd.allreduce, 1)
  fails("Horovod has not been initialized; use hvd.init().", hvd.DistributedOptimizer, nn.Adam())
end)

test("a job of one", function()
  hvd.init()
  same(hvd.is_initialized(), true)
  same(hvd.size() .. hvd.rank() .. hvd.local_size() .. hvd.local_rank() .. hvd.cross_size() .. hvd.cross_rank(), "101010")
  same(hvd.allreduce(3), 3.0)
  same(hvd.allreduce(3, hvd.Sum), 3)
  fails("hvd.allreduce: item 1 has no name; write op = …; known are: op name", hvd.allreduce, data.tensor { 1 }, { hvd.Sum })
  same(hvd.allreduce(data.tensor { 1, 2 })[1], 2.0)
  same(hvd.broadcast(data.tensor({ 5 }, { dtype = "i64" }), 0)[0], 5)
  same(#hvd.allgather(data.tensor { 1, 2 }), 2)
  same(hvd.allgather(7)[0], 7)
  same(hvd.broadcast_object({ a = 1 }, 0).a, 1)
  same(hvd.allgather_object("x")[1], "x")
  hvd.barrier()
  fails("no such rank", hvd.broadcast, 1, 1)
  fails("integers have no average", hvd.allreduce, data.tensor({ 1 }, { dtype = "i64" }))
end)

test("run calls in place for one rank", function()
  local results = hvd.run(function(a, b) hvd.init() return a, nil, b end, { np = 1, args = table.pack(1, 2) })
  same(#results, 1)
  same(results[1], 1)
  same(select("#", results:rank(0)), 3)
  same(select(3, results:rank(0)), 2)
  fails("there is no rank 1: the ranks are 0 to 0", results.rank, results, 1)
  fails("np must be from 1", hvd.run, print, { np = 0 })
  fails("unknown option 'nproc'", hvd.run, print, { nproc = 2 })
  fails("boom", hvd.run, function() error "boom" end)
end)

-- initial_lr/size · ((epoch + batch/steps + 1/steps)·(size-1)/warmup_epochs + 1): Horovod's formula
test("the warm-up follows Horovod's formula", function()
  local x, y = points(96)
  local size, rates, momenta, at_end = hvd.size, {}, {}, {}
  hvd.size = function() return 4 end
  local m = model { optimizer = nn.SGD { learning_rate = 0.4, momentum = 0.9 } }
  local warmup = hvd.LearningRateWarmupCallback { initial_lr = 0.4, warmup_epochs = 2 }
  local watch = {
    on_train_batch_begin = function() rates[#rates + 1], momenta[#momenta + 1] = m.learning_rate, m.momentum end,
    on_train_batch_end = function() near(m.momentum, 0.9) end,
    on_epoch_end = function(_, _, logs) at_end[#at_end + 1] = logs.lr end,
  }
  m:fit { x, y, batch_size = 32, epochs = 3, verbose = 0, callbacks = { warmup, watch } }
  hvd.size = size
  local old = 0.4
  for i = 1, 9 do
    local epoch, batch = (i - 1) // 3, (i - 1) % 3
    local want = epoch < 2 and 0.4 / 4 * ((epoch + batch / 3 + 1 / 3) * 3 / 2 + 1) or 0.4
    near(rates[i], want, 1e-7)
    near(momenta[i], epoch < 2 and 0.9 * want / old or 0.9, 1e-6)
    old = want
  end
  near(rates[6], 0.4, 1e-7)
  near(at_end[3], 0.4, 1e-7)
end)

test("metrics are averaged in the logs", function()
  local logs = { loss = 2, accuracy = 1 }
  hvd.MetricAverageCallback():on_epoch_end(0, logs)
  same(logs.loss, 2.0)
end)

-- Two inputs (indices, numbers), two outputs (a number, a class), and 63 rows for them.
local function two_and_two()
  local store, rest = nn.Input { 1, name = "store" }, nn.Input { 3 }
  local h = nn.Concatenate {} { nn.Flatten {} (nn.Embedding { 7, 4 } (store)), rest }
  h = nn.BatchNormalization {} (nn.Dense { 12, activation = "gelu" } (h))
  local sales, kind = nn.Dense { 1, name = "sales" } (h), nn.Dense { 3, activation = "softmax", name = "kind" } (h)
  local m = nn.Model { inputs = { store, rest }, outputs = { sales, kind }, seed = 4 }
  m:compile { optimizer = nn.Adam { 0.02 }, loss = { "mse", "sparse_categorical_crossentropy" }, loss_weights = { 1, 0.5 },
    metrics = { { "mae" }, { "accuracy" } } }
  local x, r, y, k = {}, {}, {}, {}
  for i = 1, 63 do x[i], r[i], y[i], k[i] = { i % 7 }, { math.sin(i), math.cos(i), i % 2 }, (i % 7) / 7, i % 3 end
  return m, { data.tensor(x), data.tensor(r) }, { data.tensor(y), data.tensor(k, { dtype = "i64" }) }
end

test("a graph has several inputs and outputs", function()
  local m, x, y = two_and_two()
  local h = m:fit { x, y, batch_size = 16, epochs = 20, validation_data = { x, y }, verbose = 0 }.history
  near(h.loss[20], h.sales_loss[20] + 0.5 * h.kind_loss[20], 1e-6)
  if h.loss[20] > 0.5 * h.loss[1] then error("it does not learn: " .. h.loss[20]) end
  near(h.val_kind_accuracy[20], m:evaluate { x, y, verbose = 0, return_dict = true }.kind_accuracy)
  local sales, kind = m:predict(x)
  same(table.concat(sales.shape, "x"), "63x1")
  same(table.concat(kind.shape, "x"), "63x3")
  local path = folder() .. "/graph.safetensors"
  m:save(path)
  local copy = nn.load(path)
  same(copy:predict(x):sum(), sales:sum())
  local a, b = m:fit { x, y, verbose = 0 }, copy:fit { x, y, verbose = 0 }
  same(a.history.loss[1], b.history.loss[1])
  same(m:count_params(), 7 * 4 + 8 * 12 - 0 + 4 * 12 + 13 + 3 * 13)
end)

-- By the outputs' names, as Keras 2 had it; Keras 3 refuses class_weight where there are several outputs.
test("validation_split and class_weight are for several outputs, too", function()
  local function fitted(options)
    local m, x, y = two_and_two()
    options[1], options[2] = options[1] or x, options[2] or y
    options.verbose, options.epochs, options.batch_size = 0, 2, 16
    return m:fit(options).history, m, x, y
  end
  local function part(list, from, to) return { list[1]:slice(from, to), list[2]:slice(from, to) } end
  local _, _, x, y = fitted {}
  local weights = { sales = data.tensor(nn.ops.ones { 63 }:totable()) * 2 }
  local cut = math.floor(63 * (1 - 0.3))
  for _, weighted in ipairs { false, true } do
    local one = fitted { validation_split = 0.3, sample_weight = weighted and weights or nil }
    local two = fitted { part(x, 0, cut), part(y, 0, cut), sample_weight = weighted and { sales = weights.sales:slice(0, cut) } or nil,
      validation_data = { part(x, cut, 63), part(y, cut, 63), weighted and { sales = weights.sales:slice(cut, 63) } or nil } }
    for _, name in ipairs { "loss", "sales_loss", "kind_accuracy", "val_loss", "val_kind_loss", "val_sales_mae" } do same(one[name][2], two[name][2]) end
  end
  local by_row, classes = {}, y[2]:totable()
  for i, class in ipairs(classes) do by_row[i] = class == 1 and 5 or class == 2 and 0.5 or 3 end
  local want = fitted { sample_weight = { kind = data.tensor(by_row) } }
  for _, given in ipairs { { kind = { [0] = 3, [1] = 5, [2] = 0.5 } }, { false, { [0] = 3, [1] = 5, [2] = 0.5 } } } do
    local got = fitted { class_weight = given }
    same(got.loss[2], want.loss[2])
    same(got.kind_loss[2], want.kind_loss[2])
  end
  local _, m = fitted {}
  local a = m:train_on_batch(x, y, { class_weight = { kind = { [0] = 3, [1] = 5, [2] = 0.5 } } })
  _, m = fitted {}
  same(a, (m:train_on_batch(x, y, { sample_weight = { kind = data.tensor(by_row) } })))
  -- Weights by class are only for what is trained with.
  same(fitted { validation_split = 0.3, class_weight = { kind = { [0] = 9 } } }.val_loss[1] ~= nil, true)
  fails("the model has 2 outputs: class_weight needs a table for each, as {sales = {[0] = 1, [1] = 5}}", fitted, { class_weight = { [1] = 5 } })
  fails("the model's outputs are sales, kind", fitted, { class_weight = { colour = { [1] = 5 } } })
  fails("class_weight is for classes, but row 0 of y holds", fitted, { class_weight = { sales = { [1] = 5 } } })
  fails("class_weight and sample_weight cannot be given", fitted, { class_weight = { kind = {} }, sample_weight = weights })
  fails("fit: x has 63 rows, but y has 60", fitted, { validation_split = 0.2, [2] = { y[1], y[2]:slice(0, 60) } })
end)

test("a Sequential model has convolutions and begins with an Input", function()
  local m = nn.Sequential { nn.Input { 6, 5, 1 }, nn.Conv2D { 4, { 3, 2 }, padding = "same", activation = "relu" }, nn.MaxPooling2D {},
    nn.GlobalAveragePooling2D {}, nn.Dense { 2, activation = "softmax" } }
  m:compile { loss = "sparse_categorical_crossentropy" }
  local x, y = {}, {}
  for i = 1, 30 * 8 do x[i] = (i * 31 % 17) / 17 end
  for i = 1, 8 do y[i] = i % 2 end
  x, y = data.tensor(x):reshape { 8, 6, 5 }, data.tensor(y, { dtype = "i64" })
  m:fit { x, y, verbose = 0 }
  same(table.concat(m:predict(x).shape, "x"), "8x2")
  same(table.concat(m:get_weights()[1].shape, "x"), "3x2x1x4")
  fails("input_layer expects rows of shape (6, 5, 1), got (5, 5)", m.predict, m, data.tensor { { { 1, 2, 3, 4, 5 }, { 1, 2, 3, 4, 5 },
    { 1, 2, 3, 4, 5 }, { 1, 2, 3, 4, 5 }, { 1, 2, 3, 4, 5 } } })
end)

test("pictures are cut and mirrored while training only, each in its own way", function()
  local list = {}
  for i = 1, 40 * 12 do list[i] = (i - 1) % 12 end
  local x = data.tensor(list):reshape { 40, 4, 3, 1 }
  local function predicted(layer)
    local m = nn.Sequential { nn.Input { 4, 3, 1 }, nn.Conv2D { 1, 1, use_bias = false }, layer }
    m:set_weights { nn.ops.ones { 1, 1, 1, 1 } }
    return m:predict(x)
  end
  local middle = predicted(nn.CenterCrop { 2, 2 })
  same(table.concat(middle[0]:reshape { 4 }:totable(), " "), "3.0 4.0 6.0 7.0")
  same(predicted(nn.RandomCrop { 2, 2 }), middle)
  same(predicted(nn.RandomFlip {}), x)
  -- Learning nothing, with a rate of 0, a model shows in its own metric what a picture becomes.
  local function seen(layer, width)
    local got, kinds = {}, 0
    local m = nn.Sequential { nn.Input { 4, 3, 1 }, nn.Conv2D { 1, 1, use_bias = false }, layer, nn.Flatten {}, seed = 3 }
    m:set_weights { nn.ops.ones { 1, 1, 1, 1 } }
    m:compile { optimizer = nn.SGD { 1e-30 }, loss = "mse", metrics = { seen = function(_, p)
      for i = 0, 39 do
        local text = table.concat(p[i]:totable(), " ")
        if not got[text] then got[text], kinds = true, kinds + 1 end
      end
      return 0
    end } }
    m:train_on_batch(x, nn.ops.zeros { 40, width })
    return kinds, got
  end
  local kinds, got = seen(nn.RandomFlip { "horizontal" }, 12)
  same(kinds, 2)
  same(got["2.0 1.0 0.0 5.0 4.0 3.0 8.0 7.0 6.0 11.0 10.0 9.0"], true)
  same(seen(nn.RandomFlip {}, 12), 4)
  kinds, got = seen(nn.RandomCrop { 3, 2 }, 6)
  same(kinds, 4)
  same(got["4.0 5.0 7.0 8.0 10.0 11.0"], true)
  near(predicted(nn.Normalization { mean = 2, variance = 4 }):max(), 4.5, 1e-6)
end)

test("graphs that do not fit are told where they are made", function()
  local a, b = nn.Input { 4 }, nn.Input { 3 }
  fails("api.lua", function() nn.Add {} (7) end)
  fails("Add: a layer is called on a node, or on a list of them", nn.Add {}, 7)
  fails("Model: add expects inputs that fit together, got rows of shapes (4,) and (3,)", nn.Model,
    { inputs = { a, b }, outputs = nn.Dense { 2 } (nn.Add {} { a, b }) })
  fails("Model: no output needs input 2", nn.Model, { inputs = { a, b }, outputs = nn.Dense { 2 } (a) })
  fails("Model: input_layer_1 is not among the model's inputs", nn.Model,
    { inputs = a, outputs = nn.Concatenate {} { nn.Dense { 2 } (a), b } })
  local dense = nn.Dense { 2 }
  fails("Model: dense:2 uses the weights of dense, whose kernel has shape (4, 2), not (3, 2)", nn.Model,
    { inputs = { a, b }, outputs = { dense(a), dense(b) } })
  fails("Sequential: item 2 is a node", nn.Sequential, { nn.Dense { 2, input_dim = 4 }, nn.Dense { 2 } (a) })
  fails("Conv2D: groups must be positive and divide the 6 filters, got 4", nn.Conv2D, { 6, 3, groups = 4 })
  fails("Conv2D: dilation_rate must be a positive integer or two of them", nn.Conv2D, { 6, 3, dilation_rate = 0 })
  fails("DepthwiseConv2D: depth_multiplier must be positive, got 0", nn.DepthwiseConv2D, { 3, depth_multiplier = 0 })
  fails("SeparableConv2D: depth_multiplier must be positive, got 0", nn.SeparableConv2D, { 8, 3, depth_multiplier = 0 })
  fails("SeparableConv2D: how many filters, of which size? nn.SeparableConv2D { 32, 3 }", nn.SeparableConv2D, { 8 })
  fails("ZeroPadding2D: padding must be an integer of 0 or more, { rows, columns } or { { top, bottom }, { left, right } }",
    nn.ZeroPadding2D, { { { 1, 2 }, { 1, 2, 3 } } })
  fails('RandomFlip: mode must be "horizontal", "vertical" or "horizontal_and_vertical", got "x"', nn.RandomFlip, { "x" })
  fails('UpSampling2D: interpolation must be "nearest" or "bilinear", got "bicubic"', nn.UpSampling2D, { 2, interpolation = "bicubic" })
  fails("UpSampling2D: size must be a positive integer or two of them", nn.UpSampling2D, { 0 })
  fails("UpSampling2D: unknown option 'data_format': leave it out: channels come last", nn.UpSampling2D, { 2, data_format = "channels_last" })
  fails("RandomCrop: of which height and width? nn.RandomCrop { 224, 224 }", nn.RandomCrop, { 3 })
  fails("Normalization: has 2 means and 1 variances", nn.Normalization, { mean = { 1, 2 }, variance = 1 })
  fails("Normalization: which mean and variance?", nn.Normalization, { mean = 1 })
  fails("ReLU: threshold must be 0 or more, got -1.0", nn.ReLU, { threshold = -1.0 })
  fails('Conv2D: padding must be "valid" or "same", got "full"', nn.Conv2D, { 3, 3, padding = "full" })
  fails("MaxPooling2D: pool_size must be a positive integer or two of them", nn.MaxPooling2D, { 0 })
  local m, x, y = two_and_two()
  fails("fit: the model has 2 inputs, item 1 has 1 tensors", m.fit, m, { x[1], y })
  fails("predict: the model has 2 inputs, got 1", m.predict, m, x[1])
  fails("embedding expects indices from 0 to 6, but row 0 of x holds 9", m.predict, m, { data.tensor { { 9 } }, data.tensor { { 1, 2, 3 } } })
end)

cases.run(function()
  for _, path in ipairs(folders) do os.execute("rm -rf " .. path) end
end)
