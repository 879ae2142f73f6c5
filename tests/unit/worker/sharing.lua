-- SPDX-License-Identifier: MIT
-- Layers that two models have: one set of weights, as in Keras. firesteel-worker runs it.
local nn, data = require "nn", require "data"

local cases = require "cases"
local test, same, near, fails = cases.test, cases.same, cases.near, cases.fails

local x = {}
for i = 1, 32 do
  x[i] = {}
  for k = 1, 6 do x[i][k] = math.sin(i * k) end
end
x = data.tensor(x)

-- An autoencoder, its encoder, and the decoder behind another input.
local function three()
  local input, code = nn.Input { 6 }, nn.Input { 2 }
  local encode, norm, decode = nn.Dense { 2, activation = "tanh", name = "encode" }, nn.BatchNormalization { momentum = 0.5 }, nn.Dense { 6, name = "decode" }
  local hidden = norm(encode(input))
  local whole = nn.Model { inputs = input, outputs = decode(hidden), seed = 1 }
  local encoder = nn.Model { inputs = input, outputs = hidden, seed = 2 }
  local decoder = nn.Model { inputs = code, outputs = decode(code), seed = 3 }
  whole:compile { optimizer = nn.Adam { 0.05 }, loss = "mse" }
  return whole, encoder, decoder
end
local function same_outputs(whole, encoder, decoder, what)
  near((decoder:predict(encoder:predict(x)) - whole:predict(x)):abs():max(), 0, 1e-6, what)
end

test("what one model has learnt the others know", function()
  local whole, encoder, decoder = three()
  same_outputs(whole, encoder, decoder, "at the start")
  local before = encoder:predict(x)
  local h = whole:fit { x, x, epochs = 20, batch_size = 8, verbose = 0 }
  assert(h.history.loss[20] < h.history.loss[1])
  same_outputs(whole, encoder, decoder, "trained")
  assert(encoder:predict(x) ~= before)
  same(encoder:get_weights()[1], whole:get_weights()[1])
  same(encoder:get_weights()[5], whole:get_weights()[5]) -- moving_mean, too
  -- In turn, and by weights that are set.
  decoder:compile { optimizer = nn.SGD { 0.1 }, loss = "mse" }
  decoder:train_on_batch(before, x)
  whole:train_on_batch(x, x)
  decoder:fit { before, x, verbose = 0 }
  same_outputs(whole, encoder, decoder, "in turn")
  decoder:set_weights { nn.ops.full({ 2, 6 }, 0.25), nn.ops.ones { 6 } }
  same_outputs(whole, encoder, decoder, "set")
  near(whole:predict(nn.ops.zeros { 1, 6 }):sum() - 6, encoder:predict(nn.ops.zeros { 1, 6 }):sum() * 0.25 * 6, 1e-5)
end)

test("a model that nobody can ask goes without a copy of its weights", function()
  local function peak()
    return tonumber(io.open("/proc/self/status"):read "a":match "VmHWM:%s*(%d+)") // 1024
  end
  local model = nn.Sequential { nn.Dense { 5000, input_dim = 5000 } } -- 95 MiB
  local before = peak()
  model = nil
  collectgarbage()
  collectgarbage()
  assert(peak() < before + 50, ("the peak was %d MiB, then %d"):format(before, peak()))
end)

test("many models of one layer go in a time that their number grows with", function()
  local function seconds(n)
    local layers, models = {}, {}
    for i = 1, n do
      layers[i] = nn.Dense { 1, input_dim = 1 }
      models[i] = nn.Sequential { layers[i] }
    end
    local start = os.clock()
    models = nil
    collectgarbage()
    collectgarbage()
    return os.clock() - start, #layers
  end
  local few, many = (seconds(500)), (seconds(4000))
  assert(many < 24 * few + 0.05, ("500 took %.3f s, 4000 %.3f s"):format(few, many)) -- 64 times as long if each looks at all
end)

test("a layer that a finalizer brings back is a layer", function()
  do
    local layer = nn.Dense { 3, input_dim = 6 }
    nn.Sequential { layer }
    setmetatable({ layer = layer }, { __gc = function(o) BACK = o.layer end })
  end
  collectgarbage()
  collectgarbage()
  local a, b = nn.Sequential { BACK, seed = 1 }, nn.Sequential { BACK, seed = 2 }
  same(b:predict(x), a:predict(x))
  a:set_weights { nn.ops.full({ 6, 3 }, 0.5), nn.ops.ones { 3 } }
  same(b:predict(x), a:predict(x))
  BACK = nil
end)

test("weights outlive the model that has trained them", function()
  local whole, encoder, decoder = three()
  whole:fit { x, x, epochs = 3, verbose = 0 }
  local want = whole:predict(x)
  whole = nil
  collectgarbage()
  collectgarbage()
  near((decoder:predict(encoder:predict(x)) - want):abs():max(), 0, 1e-6)
  -- A layer keeps its weights when no model is left.
  local layer = nn.Dense { 3, input_dim = 6 }
  local first = nn.Sequential { layer, seed = 8 }
  want, first = first:predict(x), nil
  collectgarbage()
  collectgarbage()
  same(nn.Sequential({ layer, seed = 9 }):predict(x), want)
end)

test("callbacks see what is being trained, and do not change it", function()
  local whole, encoder, decoder = three()
  local seen = {}
  whole:fit { x, x, epochs = 3, verbose = 0, callbacks = { nn.LambdaCallback { on_epoch_end = function(epoch)
    seen[epoch + 1] = encoder:predict(x)
  end } } }
  assert(seen[1] ~= seen[2] and seen[2] ~= seen[3])
  same(seen[3], encoder:predict(x))
  same_outputs(whole, encoder, decoder, "after callbacks")
  fails("set_weights: decode belongs to another model, too, which is being trained", function()
    whole:fit { x, x, verbose = 0, callbacks = { nn.LambdaCallback { on_epoch_end = function() decoder:set_weights(decoder:get_weights()) end } } }
  end)
  whole:fit { x, x, verbose = 0 }
end)

test("checkpoints have the weights as they are", function()
  local whole, encoder = three()
  whole:fit { x, x, epochs = 2, verbose = 0 }
  local path = os.tmpname() .. ".safetensors"
  encoder:save(path)
  same(nn.load(path):predict(x), encoder:predict(x))
  os.remove(path)
end)

test("layers that do not fit, or whose shapes nobody tells, are errors", function()
  local dense = nn.Dense { 3, name = "out" }
  local a = nn.Sequential { nn.Flatten { 6 }, dense }
  fails("out has the weights kernel (6, 3), bias (3,) in another model, and here it would have kernel (5, 3), bias (3,)",
    nn.Sequential, { nn.Flatten { 5 }, dense })
  same(a:count_params(), 21)
  fails("out belongs to two models, whose first layers must tell the shape of their rows", nn.Sequential, { dense })
  local late = nn.Dense { 3 }
  local unbuilt = nn.Sequential { late }
  fails("belongs to two models", nn.Sequential, { nn.Flatten { 6 }, late })
  fails("Sequential: items 1 and 3 are the same layer", nn.Sequential, { dense, nn.Flatten {}, dense })
  same(getmetatable(unbuilt).__name, "model")
end)

cases.run()
