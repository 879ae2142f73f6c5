-- Made the files of this folder and what they must give (expected.lua): firesteel-worker made.lua
local nn, data = require "nn", require "data"
local expected = {}

-- Numbers that a float has exactly, and sums and products of a few of them, in any order.
local function number(i, m) return ((i * 7 + m * 3) % 11 - 5) / 4 end

local function filled(shape, value)
  local size = 1
  for _, n in ipairs(shape) do size = size * n end
  local flat = {}
  for i = 1, size do flat[i] = value(i) end
  return data.tensor(flat):reshape(shape)
end

local function rows(input, n) -- input: a shape; of an Embedding { 3, below = 5 }
  local shape = { n, table.unpack(input) }
  return filled(shape, function(i) return input.below and i * 3 % input.below or number(i, n) end)
end

local function hex(tensor)
  local all, flat = {}, tensor:reshape { -1 }
  for i = 0, #flat - 1 do all[#all + 1] = ("%a"):format(flat[i]) end
  return table.concat(all, " ")
end

local function predictions(model, inputs)
  local x = {}
  for i, input in ipairs(inputs) do x[i] = rows(input, 2) end
  local p = model:predict(#x == 1 and x[1] or x)
  local all = {}
  for i, one in ipairs(type(p) == "table" and p or { p }) do all[i] = hex(one) end
  return all
end

local function quoted(list)
  local all = {}
  for i, one in ipairs(list) do all[i] = type(one) == "table" and "{ " .. quoted(one) .. " }" or ("%q"):format(one) end
  return table.concat(all, ", ")
end

local function said(inputs)
  local all = {}
  for i, input in ipairs(inputs) do
    all[i] = ("{ %s%s }"):format(table.concat(input, ", "), input.below and (", below = %d"):format(input.below) or "")
  end
  return table.concat(all, ", ")
end

-- Weights that a float has exactly. A model that is not trained then predicts the same on any machine, to the bit.
local function exact_weights(model)
  local list = model:get_weights()
  for k, w in ipairs(list) do list[k] = filled(w.shape, function(i) return ((i * 7 + k * 3) % 5 - 2) / 2 end) end
  model:set_weights(list)
end

local function note(name, inputs, model, fields)
  expected[#expected + 1] = ("  { name = %q, inputs = { %s }, params = %d, predicts = { %s }%s },"):format(
    name, said(inputs), model:count_params(), quoted(predictions(model, inputs)), fields or "")
end

-- A model with weights of our choice, never trained.
local function exact(name, inputs, model)
  exact_weights(model)
  model:save(name .. ".safetensors")
  note(name, inputs, model, ", exact = true")
end

local function targets(model, inputs, outputs)
  local x, y = {}, {}
  for i, input in ipairs(inputs) do x[i] = rows(input, 8) end
  for i, output in ipairs(outputs) do y[i] = rows(output, 8) end
  return #x == 1 and x[1] or x, #y == 1 and y[1] or y
end

local function step(model, inputs, outputs) return (model:train_on_batch(targets(model, inputs, outputs))) end

-- A model that was compiled and trained for three steps, and what two more steps give.
local function trained(name, inputs, outputs, model)
  for _ = 1, 3 do step(model, inputs, outputs) end
  model:save(name .. ".safetensors")
  local before = predictions(model, inputs)
  local losses, rates = {}, {}
  for i = 1, 2 do
    losses[i] = ("%a"):format(step(model, inputs, outputs))
    rates[i] = ("%a"):format(model.learning_rate)
  end
  local after = predictions(model, inputs)
  expected[#expected + 1] = ("  { name = %q, inputs = { %s }, outputs = { %s }, params = %d, predicts = { %s },\n    losses = { %s }, rates = { %s }, then_predicts = { %s } },"):format(
    name, said(inputs), said(outputs), model:count_params(), quoted(before), quoted(losses), quoted(rates), quoted(after))
end

-- Layers whose arithmetic is exact
exact("pictures", { { 7, 7, 4 } }, nn.Sequential {
  nn.Input { 7, 7, 4 }, nn.ZeroPadding2D { { { 1, 0 }, { 0, 1 } } },
  nn.Conv2D { 4, 3, strides = 2, padding = "same", activation = "relu", dtype = "mixed_bfloat16" },
  nn.DepthwiseConv2D { 3, depth_multiplier = 2, padding = "same", use_bias = false }, nn.MaxPooling2D { 2, strides = 1, padding = "same" },
  nn.Conv2D { 4, { 1, 2 }, groups = 2, dilation_rate = 2, padding = "same" }, nn.GlobalAveragePooling2D { keepdims = true, name = "means" },
  nn.Flatten {}, nn.Dense { 3 },
})
exact("crops", { { 9, 9, 2 } }, nn.Sequential {
  nn.Rescaling { 0.5, offset = 1, input_shape = { 9, 9, 2 } }, nn.RandomFlip { "horizontal" }, nn.RandomCrop { 8, 8 }, nn.CenterCrop { 6, 6 },
  nn.Normalization { mean = { 0.5, 1 }, variance = { 4, 0.25 } },
  nn.SeparableConv2D { 3, 3, depth_multiplier = 2 }, nn.AveragePooling2D { 2 }, nn.ReLU { max_value = 4, negative_slope = 0.5, threshold = 0.25 },
  nn.GlobalMaxPooling2D {},
})
do
  local words, rest = nn.Input { 8, name = "words" }, nn.Input { 2, name = "rest" }
  local h = nn.Embedding { 7, 4 } (words)
  h = nn.Conv1D { 4, 3, padding = "causal", dilation_rate = 2, activation = "relu" } (h)
  h = nn.MaxPooling1D { 2, strides = 1, padding = "same" } (h)
  local a = nn.AveragePooling1D { 2 } (h)
  a = nn.Add {} { a, nn.Conv1D { 4, 1, name = "across", trainable = false } (a) }
  local most, mean = nn.GlobalMaxPooling1D {} (a), nn.GlobalAveragePooling1D {} (a)
  local both = nn.Concatenate {} { most, mean, rest }
  both = nn.Reshape { 5, -1 } (both)
  local tower = nn.Dense { 2, name = "tower" }
  local one, two = tower(both), tower(nn.Activation { "relu" } (both))
  local joined = nn.Concatenate { axis = 1 } { one, two }
  exact("steps", { { 8, below = 7 }, { 2 } }, nn.Model { inputs = { words, rest },
    outputs = { nn.Flatten { name = "flat" } (joined), nn.Dense { 1, name = "sum" } (nn.Dropout { 0.5 } (nn.Flatten {} (joined))) } })
end

-- Layers and activations that round
do
  local x = nn.Input { 4, 4, 4 }
  local h = nn.Conv2D { 8, 3, padding = "same", use_bias = false } (x)
  h = nn.BatchNormalization { momentum = 0.9, epsilon = 0.002, synchronized = true } (h)
  h = nn.Activation { "relu" } (h)
  h = nn.LayerNormalization { axis = { 2, 3 }, center = false } (h)
  h = nn.Flatten {} (h)
  h = nn.LayerNormalization { epsilon = 0.01 } (nn.remat(nn.Dense { 6 }) (h))
  h = nn.BatchNormalization { scale = false } (h)
  local model = nn.Model { inputs = { x }, outputs = nn.Dense { 2 } (h) }
  model:compile { optimizer = nn.Adam { 0.01 }, loss = "mse" }
  trained("normalized", { { 4, 4, 4 } }, { { 2 } }, model)
end
do
  local x = nn.Input { 3 }
  local all = {}
  for i, f in ipairs { "linear", "relu", "sigmoid", "tanh", "softmax", "gelu", "silu", "elu", "selu", "leaky_relu", "softplus" } do
    all[i] = nn.Dense { 2, activation = f, name = f, kernel_initializer = i % 2 == 0 and "he_normal" or nn.initializers.RandomUniform { -0.5, 0.5, seed = i },
      bias_initializer = nn.initializers.Constant { 0.25 }, kernel_regularizer = i == 3 and nn.L1L2 { 0.01, 0.02 } or i == 4 and nn.L2 { 0.05 } or nil } (x)
  end
  local model = nn.Model { inputs = { x }, outputs = { nn.Dense { 1, name = "amount" } (nn.Concatenate {} (all)), nn.Dense { 1, activation = "sigmoid", name = "late" } (all[2]) } }
  model:compile { optimizer = nn.SGD { 0.01 }, loss = { amount = "huber", late = "mse" }, loss_weights = { amount = 1, late = 0.5 }, metrics = { amount = { "mae" } } }
  trained("activations", { { 3 } }, { { 1 }, { 1 } }, model)
end

-- Optimizers, with their state
local function small()
  return nn.Sequential { nn.Embedding { 5, 3, input_shape = { 4 } }, nn.Flatten {}, nn.Dense { 4, activation = "tanh" }, nn.Dense { 2 }, seed = 3 }
end
local function optimizer(name, o)
  local model = small()
  model:compile { optimizer = o, loss = "mse", metrics = { "mae" } }
  trained(name, { { 4, below = 5 } }, { { 2 } }, model)
end
optimizer("sgd", nn.SGD { 0.05, momentum = 0.9, nesterov = true, clipnorm = 1 })
optimizer("adam", nn.Adam { 0.01, beta_1 = 0.8, beta_2 = 0.99, epsilon = 1e-6, clipvalue = 0.5 })
optimizer("adamw", nn.AdamW { 0.01, weight_decay = 0.05 })
optimizer("rmsprop", nn.RMSprop { 0.01, rho = 0.8, momentum = 0.5, centered = true })
optimizer("adagrad", nn.Adagrad { 0.05, initial_accumulator_value = 0.2, global_clipnorm = 0.75 })
optimizer("lazyadam", nn.LazyAdam { 0.01 })
optimizer("groups", nn.AdamW { 0.01, groups = { { "embedding*", trainable = false }, { "dense", learning_rate_multiplier = 0.5 }, { "*/bias", weight_decay = 0 } } })

-- Schedules, in the middle of their way
local function schedule(name, s)
  local model = nn.Sequential { nn.Dense { 2, input_dim = 3 }, seed = 3 }
  model:compile { optimizer = nn.SGD { s }, loss = "mse" }
  trained(name, { { 3 } }, { { 2 } }, model)
end
schedule("exponential", nn.ExponentialDecay { 0.1, 2, 0.5, staircase = true })
schedule("inverse-time", nn.InverseTimeDecay { 0.1, 3, 0.5 })
schedule("polynomial", nn.PolynomialDecay { 0.1, 4, 0.01, power = 2, cycle = true })
schedule("cosine", nn.CosineDecay { 0.01, 10, alpha = 0.1, warmup_target = 0.2, warmup_steps = 4 })
schedule("restarts", nn.CosineDecayRestarts { 0.1, 2, t_mul = 2, m_mul = 0.5, alpha = 0.05 })
schedule("piecewise", nn.PiecewiseConstantDecay { { 1, 4 }, { 0.1, 0.05, 0.01 } })

io.open("expected.lua", "w"):write("return {\n", table.concat(expected, "\n"), "\n}\n"):close()
