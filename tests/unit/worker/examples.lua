-- SPDX-License-Identifier: MIT
-- Twelve public examples (keras.io, the guides of Keras and TensorFlow, Géron's book), written as their readers would write them
-- here, beside the numbers of Keras (golden_examples.py). Data and weights come from formulas. firesteel-worker runs it.
local nn, data = require "nn", require "data"

local cases = require "cases"
local golden = require "golden_examples"
local ROWS <const> = 64

local function numbers(a, ...)
  local list, n = {}, ROWS
  for _, size in ipairs { ... } do n = n * size end
  for i = 1, n do list[i] = math.sin(a * i + 0.0003 * i * i) end
  return data.tensor(list):reshape { ROWS, ... }
end

local function ids(step, entries, length)
  local list = {}
  for i = 1, ROWS * (length or 1) do list[i] = i * step % entries end
  return data.tensor(list, { dtype = "i64" }):reshape { ROWS, length or 1 }
end

local function classes(n, class_of)
  local list = {}
  for i = 1, ROWS do list[i] = (class_of or function(class) return class end)(i * i % 7 % n) end
  return data.tensor(list, { dtype = "i64" })
end

local function one_hot(n, of)
  local list = {}
  for i = 1, ROWS do
    list[i] = {}
    for k = 1, of do list[i][k] = i * i % 7 % n == k - 1 and 1 or 0 end
  end
  return data.tensor(list)
end

local function column(class_of) return classes(5, class_of):cast "f32":reshape { ROWS, 1 } end
local function halves() return classes(2):cast "f32":reshape { ROWS, 1 } end

-- Kernels and tables from a formula that knows the names of layer and weight.
local function start(model)
  local path = os.tmpname()
  model:save(path .. ".safetensors", { include_optimizer = false })
  local weights = data.safetensors(path .. ".safetensors")
  for name, w in pairs(weights) do
    local seed, list, n, last = 0, {}, #w:reshape { -1 }, w.shape[#w.shape]
    for _, byte in ipairs { name:byte(1, -1) } do seed = (seed + byte) % 97 end
    for i = 1, n do list[i] = math.sin(seed + 1.3 * i) / math.sqrt(n / last) end
    if name:find "kernel$" or name:find "embeddings$" then weights[name] = data.tensor(list):reshape(w.shape) end
  end
  data.save(path .. ".safetensors", weights)
  model:load_weights(path .. ".safetensors")
  os.remove(path .. ".safetensors")
  os.remove(path)
end

local examples = {}

function examples.mnist_convnet()
  local model = nn.Sequential { nn.Input { 14, 14, 1 }, nn.Conv2D { 8, kernel_size = { 3, 3 }, activation = "relu", name = "c1" },
    nn.MaxPooling2D { pool_size = { 2, 2 } }, nn.Conv2D { 16, kernel_size = { 3, 3 }, activation = "relu", name = "c2" },
    nn.MaxPooling2D { pool_size = { 2, 2 } }, nn.Flatten {}, nn.Dense { 10, activation = "softmax", name = "out" } }
  return model, numbers(1.1, 14, 14, 1), one_hot(5, 10),
    { loss = "categorical_crossentropy", optimizer = "adam", metrics = { "accuracy" } }, { validation_split = 0.25 }
end

function examples.small_resnet()
  local inputs = nn.Input { 8, 8, 3 }
  local function block(x, filters, strides, name)
    local h = nn.Conv2D { filters, 3, strides = strides, padding = "same", use_bias = false, name = name .. "a" } (x)
    h = nn.Activation "relu" (nn.BatchNormalization { name = name .. "an" } (h))
    h = nn.BatchNormalization { name = name .. "bn" } (nn.Conv2D { filters, 3, padding = "same", use_bias = false, name = name .. "b" } (h))
    if strides > 1 then
      x = nn.BatchNormalization { name = name .. "sn" } (nn.Conv2D { filters, 1, strides = strides, use_bias = false, name = name .. "s" } (x))
    end
    return nn.Activation "relu" (nn.Add {} { h, x })
  end
  local h = nn.Conv2D { 8, 3, padding = "same", activation = "relu", name = "stem" } (inputs)
  h = block(block(h, 8, 1, "one"), 16, 2, "two")
  local model = nn.Model { inputs = inputs, outputs = nn.Dense { 5, activation = "softmax", name = "out" } (nn.GlobalAveragePooling2D {} (h)) }
  return model, numbers(0.7, 8, 8, 3), one_hot(5, 5), { loss = nn.CategoricalCrossentropy { label_smoothing = 0.1 }, metrics = { "accuracy" },
    optimizer = nn.SGD { nn.CosineDecay { 0.05, 20 }, momentum = 0.9, nesterov = true, weight_decay = 5e-4 } }
end

function examples.text_from_scratch()
  local model = nn.Sequential { nn.Input { 20, dtype = "int32" }, nn.Embedding { 50, 8, name = "words" },
    nn.Conv1D { 16, 7, padding = "valid", activation = "relu", strides = 3, name = "c1" },
    nn.Conv1D { 16, 3, padding = "same", activation = "relu", name = "c2" }, nn.GlobalMaxPooling1D {},
    nn.Dense { 16, activation = "relu", name = "d" }, nn.Dense { 1, activation = "sigmoid", name = "predictions" } }
  return model, ids(7, 50, 20), classes(2), { loss = "binary_crossentropy", optimizer = "adam", metrics = { "accuracy" } }
end

function examples.structured_data()
  local numeric, kind = nn.Input { 3, name = "numeric" }, nn.Input { 1, name = "kind", dtype = "int32" }
  local x = numbers(1.3, 3) * 5 + data.tensor { 3, 40, 500 }
  local normalize = nn.Normalization {}
  normalize:adapt(x)
  local h = nn.Concatenate {} { normalize(numeric), nn.Flatten {} (nn.Embedding { 6, 4, name = "table" } (kind)) }
  h = nn.Dense { 32, activation = "relu", name = "d" } (h)
  local model = nn.Model { inputs = { numeric, kind }, outputs = nn.Dense { 1, activation = "sigmoid", name = "out" } (h) }
  return model, { x, ids(5, 6) }, classes(2), { loss = "binary_crossentropy", optimizer = "rmsprop", metrics = { "accuracy" } }
end

function examples.wide_and_deep()
  local wide, deep = nn.Input { 5, name = "wide" }, nn.Input { 6, name = "deep" }
  local h = nn.Dense { 30, activation = "relu", name = "d2" } (nn.Dense { 30, activation = "relu", name = "d1" } (deep))
  local model = nn.Model { inputs = { wide, deep },
    outputs = { nn.Dense { 1, name = "main" } (nn.Concatenate {} { wide, h }), nn.Dense { 1, name = "aux" } (h) } }
  local y = numbers(0.9, 1)
  return model, { numbers(1.7, 5), numbers(0.4, 6) }, { y, y }, { loss = { "mse", "mse" }, loss_weights = { 0.9, 0.1 }, optimizer = nn.SGD { 0.01 } }
end

function examples.siamese_contrastive()
  local left, right = nn.Input { 6, 6, 1 }, nn.Input { 6, 6, 1 }
  local layers = { nn.Conv2D { 4, 3, activation = "tanh", name = "c" }, nn.AveragePooling2D { 2 }, nn.Flatten {},
    nn.Dense { 8, activation = "tanh", name = "d" } }
  local function tower(x)
    for _, layer in ipairs(layers) do x = layer(x) end
    return x
  end
  local model = nn.Model { inputs = { left, right }, outputs = nn.Concatenate {} { tower(left), tower(right) } }
  local function contrastive(y, p)
    local apart = p:columns(0, 8) - p:columns(8, 16)
    local d = ((apart * apart):sum(-1) + 1e-6):sqrt()
    local near = (1 - d):clip(0, math.huge)
    y = y:reshape { #y }
    return (1 - y) * d * d + y * near * near
  end
  return model, { numbers(1.1, 6, 6, 1), numbers(0.6, 6, 6, 1) }, halves(), { loss = contrastive, optimizer = nn.RMSprop { 0.002 } }
end

function examples.functional_guide()
  local title, body, tags = nn.Input { 8, dtype = "int32", name = "title" }, nn.Input { 12, dtype = "int32", name = "body" }, nn.Input { 4, name = "tags" }
  local h = nn.Concatenate {} { nn.GlobalAveragePooling1D {} (nn.Embedding { 30, 6, name = "te" } (title)),
    nn.GlobalMaxPooling1D {} (nn.Embedding { 30, 6, name = "be" } (body)), tags }
  local model = nn.Model { inputs = { title, body, tags },
    outputs = { nn.Dense { 1, activation = "sigmoid", name = "priority" } (h), nn.Dense { 4, name = "department" } (h) } }
  return model, { title = ids(7, 30, 8), body = ids(11, 30, 12), tags = numbers(1.9, 4) }, { priority = halves(), department = one_hot(4, 4) },
    { loss = { priority = nn.BinaryCrossentropy {}, department = nn.CategoricalCrossentropy { from_logits = true } },
      loss_weights = { priority = 1, department = 0.2 }, optimizer = nn.RMSprop { 1e-3 } }
end

function examples.auto_mpg()
  local x = numbers(0.8, 9) * 30 + data.tensor { 0, 100, 200, 300, 400, 500, 600, 700, 800 }
  local normalize = nn.Normalization { axis = -1 }
  normalize:adapt(x)
  local model = nn.Sequential { nn.Input { 9 }, normalize, nn.Dense { 64, activation = "relu", name = "d1" },
    nn.Dense { 64, activation = "relu", name = "d2" }, nn.Dense { 1, name = "out" } }
  return model, x, numbers(0.9, 1) * 8 + 23, { loss = "mean_absolute_error", optimizer = nn.Adam { 0.001 } }, { validation_split = 0.25 }
end

function examples.timeseries_fcn()
  local inputs = nn.Input { 24, 1 }
  local h = inputs
  for name in ("abc"):gmatch "." do
    h = nn.Conv1D { filters = 16, kernel_size = 3, padding = "same", use_bias = false, name = "c" .. name } (h)
    h = nn.ReLU {} (nn.BatchNormalization { name = "n" .. name } (h))
  end
  local model = nn.Model { inputs = inputs, outputs = nn.Dense { 3, activation = "softmax", name = "out" } (nn.GlobalAveragePooling1D {} (h)) }
  return model, numbers(0.31, 24, 1), classes(3),
    { loss = "sparse_categorical_crossentropy", optimizer = "adam", metrics = { "sparse_categorical_accuracy" } }
end

function examples.imbalanced()
  local model = nn.Sequential { nn.Input { 10 }, nn.Dense { 32, activation = "relu", name = "d1" },
    nn.Dense { 32, activation = "relu", name = "d2" }, nn.Dense { 1, activation = "sigmoid", name = "out" } }
  local y = column(function(class) return class == 4 and 1 or 0 end)
  return model, numbers(1.7, 10), y, { loss = "binary_crossentropy", optimizer = nn.Adam { 1e-2 }, metrics = { nn.FalseNegatives { name = "fn" },
    nn.FalsePositives { name = "fp" }, nn.TrueNegatives { name = "tn" }, nn.TruePositives { name = "tp" }, nn.Precision { name = "precision" },
    nn.Recall { name = "recall" } } }, { class_weight = { [0] = 0.02, [1] = 0.08 } }
end

function examples.mini_xception()
  local inputs = nn.Input { 16, 16, 3 }
  local h = nn.Rescaling { 1 / 255 } (inputs)
  h = nn.Conv2D { 8, 3, strides = 2, padding = "same", use_bias = false, name = "stem" } (h)
  h = nn.Activation "relu" (nn.BatchNormalization { name = "sn" } (h))
  local before = h
  for name in ("ab"):gmatch "." do
    h = nn.SeparableConv2D { 16, 3, padding = "same", use_bias = false, name = "s" .. name } (nn.Activation "relu" (h))
    h = nn.BatchNormalization { name = "n" .. name } (h)
  end
  h = nn.MaxPooling2D { 3, strides = 2, padding = "same" } (h)
  h = nn.Add {} { h, nn.Conv2D { 16, 1, strides = 2, padding = "same", name = "residual" } (before) }
  local model = nn.Model { inputs = inputs, outputs = nn.Dense { 1, name = "out" } (nn.GlobalAveragePooling2D {} (h)) }
  return model, (numbers(0.9, 16, 16, 3) * 127 + 127.5):floor(), halves(), { loss = nn.BinaryCrossentropy { from_logits = true },
    optimizer = nn.SGD { 0.01, momentum = 0.9 }, metrics = { nn.BinaryAccuracy { threshold = 0, name = "acc" } } }
end

-- A frozen base learns with a new head; then all of it, with BatchNormalization as it was.
function examples.fine_tuning()
  local base, norm = nn.Dense { 12, activation = "relu", name = "base" }, nn.BatchNormalization { name = "norm" }
  base.trainable, norm.trainable = false, false
  local model = nn.Sequential { nn.Input { 7 }, base, norm, nn.Dense { 3, activation = "softmax", name = "head" } }
  local x, y, loss = numbers(1.7, 7), classes(3), "sparse_categorical_crossentropy"
  start(model)
  model:compile { loss = loss, optimizer = nn.Adam { 0.01 } }
  local first = model:fit { x, y, batch_size = 16, epochs = 2, shuffle = false, verbose = 0 }
  base.trainable = true
  model:compile { loss = loss, optimizer = nn.Adam { 0.001 } }
  local second = model:fit { x, y, batch_size = 16, epochs = 2, shuffle = false, verbose = 0 }
  return model, x, { first = first.history.loss, second = second.history.loss }
end

local function trained(make)
  local model, x, y, how, fit = make()
  if not how then return model, x, y end
  start(model)
  model:compile(how)
  local options = { x, y, batch_size = 16, epochs = 3, shuffle = false, verbose = 0 }
  for name, value in pairs(fit or {}) do options[name] = value end
  return model, x, model:fit(options).history
end

local function compare(what, have, want)
  if #have ~= #want then error(("%s: %d numbers, Keras has %d"):format(what, #have, #want), 0) end
  for i, value in ipairs(want) do
    if not (math.abs(have[i] - value) <= 1e-4 * (1 + math.abs(value))) then error(("%s[%d]: %.9g, Keras %.9g"):format(what, i, have[i], value), 0) end
  end
end

for name, make in pairs(examples) do
  cases.test(name:gsub("_", " ") .. ": losses, metrics and outputs are Keras's", function()
    local model, x, history = trained(make)
    local outputs = {}
    for _, output in ipairs { model:predict(x) } do
      for _, value in ipairs(output:slice(0, 4):reshape { -1 }:totable()) do outputs[#outputs + 1] = value end
    end
    for key, want in pairs(golden[name]) do compare(key, key == "outputs" and outputs or history[key], want) end
  end)
end

cases.run()
