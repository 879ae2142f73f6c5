-- SPDX-License-Identifier: MIT
-- What errors say to somebody who comes from Keras: names that there are not, the line of the file, what to write instead.
-- firesteel-worker runs it.
local nn, data, hvd = require "nn", require "data", require "hvd"

local cases = require "cases"
local test, same, fails = cases.test, cases.same, cases.fails

local x, y = data.tensor { { 1, 2 }, { 3, 4 }, { 5, 6 } }, data.tensor { 0, 1, 1 }
local function model()
  local m = nn.Sequential { nn.Dense { 2, input_dim = 2, activation = "softmax" } }
  m:compile { loss = "sparse_categorical_crossentropy", metrics = { "accuracy" } }
  return m
end

-- The message of an error names this file's line, whoever raised it, and nothing of a library.
local function placed(fn, ...)
  local ok, why = pcall(fn, ...)
  assert(not ok, "should have failed")
  local place = why:match "^([^:]+):%d+: "
  assert(place and place:find "messages.lua$", "no line of the file: " .. why)
  for _, name in ipairs { "nn", "gradient", "metrics", "callbacks", "hvd", "data", "tables", "elastic", "applications" } do
    assert(not why:find("%f[%w]" .. name .. ":%d+:"), "a line of a library: " .. why)
  end
  assert(not why:find "messages.lua:%d+: .*messages.lua:%d+:", "two places: " .. why)
  return why
end

test("every error names the line of the file", function()
  placed(nn.Embedding, { 10, 4, x = 1 }) -- called by pcall itself
  placed(function() return nn.Embedding { 10, 4, x = 1 } end) -- as a tail call
  placed(function() return nn.Input { 4, dtype = "float16" } end)
  placed(function() return nn.Input { 4 } * 2 end)
  placed(function() return nn.ops.square(nn.Input { 4 }) end)
  placed(function() return nn.ops.square "x" end)
  placed(function() return nn.ops.concatenate { 1, 2 } end)
  placed(function() hvd.DistributedOptimizer(nn.SGD {}) end)
  placed(function() return hvd.DistributedOptimizer "sgd" end)
  placed(function() return hvd.rank() end)
  placed(function() return hvd.LearningRateWarmupCallback {} end)
  placed(function() return nn.Sequential {} end)
  placed(nn.Sequential, { 1 })
  placed(function() return nn.Model { inputs = 1, outputs = 2 } end)
  placed(function() local i, j = nn.Input { 2 }, nn.Input { 2 } return nn.Model { inputs = i, outputs = nn.Dense { 1 } (nn.Add {} { i, j }) } end)
  placed(function() model():fit { x, y, verbose = 0, callbacks = { nn.EarlyStopping { monitor = "val_acc" } } } end)
  placed(function() model():fit { x, y, verbose = 0, callbacks = { nn.ModelCheckpoint { "/nonexistent/x.safetensors" } } } end)
  placed(function() return nn.EarlyStopping { montor = "loss" } end)
  placed(function() return data.csv "nowhere.csv" end)
  placed(data.csv, "nowhere.csv")
  placed(data.csv, { "nowhere.csv", kinds = 1 })
  placed(function() return data.images "nowhere" end)
  placed(function() return nn.load "nowhere.safetensors" end)
  placed(function() return data.frame { { "a", x:sum(1) } }.b end)
  placed(function() return data.frame { { "a", data.tensor { 1, 2 } } }:numbers { "b" } end)
  placed(function() return data.frame { { "a", data.tensor { 1, 2 } } }:groupby { "b" } end)
  placed(function() return nn.applications.ResNet50 { weights = "nowhere.npz" } end)
  placed(function() return x + "a" end)
  placed(nn.value_and_grad(function(t) return t:shard(0, 1) end), x)
end)

test("a file's own errors stay as they are", function()
  same(select(2, pcall(error, "mine", 0)), "mine")
  same(select(2, pcall(function() error("mine", 0) end)), "mine")
  same(select(2, pcall(assert, false, "mine")), "mine")
  same(select(2, pcall(error)), nil)
  local object = { code = 3 }
  same(select(2, pcall(error, object)), object)
  same(select(2, xpcall(function() error("mine", 0) end, function(m) return "handled " .. m end)), "handled mine")
  same(select("#", pcall(function() return 1, nil, 3 end)), 4)
  same(select(2, xpcall(function(a, b) return a + b end, print, 1, 2)), 3)
  local co = coroutine.wrap(function() return pcall(function() return coroutine.yield(7) + 1 end) end)
  same(co(), 7)
  same(select(2, co(1)), 2)
end)

test("unknown fields are answered with what there is", function()
  local h = model():fit { x, y, verbose = 0 }
  fails("a History has no 'loss': write h.history.loss", function() return h.loss end)
  fails("a History has no 'accuracy': write h.history.accuracy", function() return h.accuracy end)
  fails("a History has no 'histoy'; did you mean history? It has epoch, history", function() return h.histoy end)
  fails("a History has no 'x1'; it has epoch, history", function() return h.x1 end)
  same(h.history.val_loss, nil)
  local m = model()
  fails("a model has no 'compil'; did you mean compile? It has compile, count_params, cpu", function() m:compil {} end)
  fails("a model has no 'layers': model:summary() shows its layers", function() return m.layers end)
  fails("a model has no 'save_weights': write model:save", function() return m.save_weights end)
  fails("a model has no 'trainable' that can be set: layers have it", function() m.trainable = false end)
  fails("a model has no 'loss': model:fit returns it", function() return m.loss end)
  fails("a tensor has no 'T': write t:transpose()", function() return x.T end)
  fails("a tensor has no 'reshpe'; did you mean reshape?", function() return x.reshpe end)
  fails("a tensor has no 'numpy'", function() return x:numpy() end)
  local d = nn.Dense { 3 }
  same(d.units, 3)
  same(d.name, nil)
  fails("a Dense has no 'unit'; did you mean units? It has activation", function() return d.unit end)
  fails("a Dense has no 'kernel': model:get_weights() has those of all layers", function() return d.kernel end)
  fails("an Embedding has no 'get_weights'", function() return nn.Embedding { 2, 2 }:get_weights() end)
  fails("a Dense has no option 'trainabel'; did you mean trainable?", function() d.trainabel = false end)
  d.note = "mine"
  same(d.note, "mine")
  local i = nn.Input { 4 }
  fails("a node has no 'shape': shapes are known when a model is made", function() return i.shape end)
  fails("a node has no 'zzz'; it has from, layer", function() return i.zzz end)
  fails("hvd has no 'broadcast_parameters': write hvd.broadcast_model(model, 0)", function() return hvd.broadcast_parameters end)
end)

test("what Keras has and the trainer has not is said in one line", function()
  for name, kind in pairs { ConvLSTM2D = "a layer", Tversky = "a loss", MeanIoU = "a metric", Ftrl = "an optimizer", SwapEMAWeights = "a callback",
    OrthogonalRegularizer = "a regularizer", MaxNorm = "a constraint" } do
    local why = placed(function() return nn[name] end)
    assert(why:find(("nn has no '%s': Keras has %s of this name, and the trainer has none"):format(name, kind), 1, true), why)
    assert(#why < 200, why)
  end
  fails("nn.ops has no 'einsum': Keras has a function of this name", function() return nn.ops.einsum end)
  fails("nn.initializers has no 'STFT': Keras has an initializer of this name", function() return nn.initializers.STFT end)
  fails("nn has no 'MaxPool2D': Keras's other name of MaxPooling2D: write nn.MaxPooling2D", function() return nn.MaxPool2D end)
  fails("nn has no 'layers': layers are in nn itself", function() return nn.layers.Dense end)
  fails("nn has no 'dens'; did you mean Dense?", function() return nn.dens end)
  assert(#placed(function() return nn.dens end) < 120)
  fails("unknown option 'mask_zero': Keras has this option", nn.Embedding, { 10, 4, mask_zero = true })
  fails("unknown option 'lr': write learning_rate", nn.SGD, { lr = 0.1 })
  fails("unknown option 'data_format': leave it out", nn.Conv2D, { 3, 3, data_format = "channels_last" })
  fails("fit: unknown option 'validation_freq': each epoch is validated", function() model():fit { x, y, validation_freq = 2 } end)
  fails("fit: unknown option 'epcohs'; did you mean epochs? known are: batch_size", function() model():fit { x, y, epcohs = 2 } end)
  fails("compile: unknown option 'run_eagerly': leave it out", function() model():compile { loss = "mse", run_eagerly = true } end)
end)

test("what is no layer says what to write instead", function()
  local i, m = nn.Input { 2 }, model()
  fails("a model is not called: write model:predict(x)", function() return m(x) end)
  assert(not pcall(nn.Dense { 1 }, 3))
  fails("several nodes are given as a list: layer { a, b }", nn.Concatenate {}, i, i)
  fails("the layer is made first, and then called on the node: nn.Dense { … } (node)", nn.Dense, i)
  fails("item 1 is the class Dense, not a layer: nn.Dense { … } makes one", nn.Sequential, { nn.Dense })
  fails("item 1 is a tensor, not a layer", nn.Sequential, { x })
  fails("must be a tensor, got variable", nn.value_and_grad(function(t) return m:evaluate { t, y, verbose = 0 } end), x)
  fails("nn has no 'InputLayer': write nn.Input", function() return nn.InputLayer end)
  fails("data has no 'read_csv': write data.csv", function() return data.read_csv end)
  fails("item 1 of what it is called on is a tensor, not a node; numbers go through a model", nn.Dense { 1 }, x)
  fails("nn.ops.exp: nodes have no numbers", nn.ops.exp, i)
  fails("got a node, which has no numbers", function() return x:add(i) end)
  fails("got one whose gradient is asked for", nn.value_and_grad(function(t) return m:predict(t):mean() end), x)
  fails("a tensor was expected, got a table: data.tensor(t) makes one", function() m:predict { { 1, 2 } } end)
  fails("must be a tensor, got table: data.tensor(t) makes one", function() m:fit { { { 1, 2 } }, y } end)
  fails("must be a tensor, got function: all rows are given at once", function() m:fit { function() end, y } end)
  fails("must be a tensor, got node", function() m:fit { i, y } end)
  fails('unknown activation "hard_sigmoid"', nn.Dense, { 3, activation = "hard_sigmoid" })
  fails('unknown activation "relU6"', nn.Activation, { "relU6" })
  fails("not nan", function() nn.Sequential { nn.Dense { 1 } }:compile { optimizer = nn.SGD { 0 / 0 }, loss = "mse" } end)
  fails("it has no layers: give all at once", nn.Sequential, {})
end)

cases.run()
