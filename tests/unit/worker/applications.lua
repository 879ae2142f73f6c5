-- SPDX-License-Identifier: MIT
-- nn.applications, and weights that other programs have written: as Keras names them, and as PyTorch does. firesteel-worker runs it.
local nn, data = require "nn", require "data"

local cases = require "cases"
local test, same, near, fails = cases.test, cases.same, cases.near, cases.fails

local pipe = assert(io.popen "mktemp -d")
local folder = pipe:read()
pipe:close()

local function waves(...)
  local list, n = {}, 1
  for _, size in ipairs { ... } do n = n * size end
  for i = 1, n do list[i] = math.sin(1 + 0.7 * i) end
  return data.tensor(list):reshape { ... }
end

local function write(name, bytes)
  local path = folder .. "/" .. name
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
  return path
end

test("networks have as many numbers as Keras's and torchvision's", function()
  local small = { 32, 32, 3 }
  same(nn.applications.ResNet50 { input_shape = small }:count_params(), 25636712)
  same(nn.applications.ResNet50 { input_shape = small, classes = 10 }:count_params(), 23608202)
  same(nn.applications.ResNet50 { input_shape = small, include_top = false }:count_params(), 23587712)
  same(nn.applications.MobileNet {}:count_params(), 4253864)
  same(nn.applications.MobileNet { alpha = 0.5, input_shape = small }:count_params(), 1342536)
  same(nn.applications.MobileNetV2 {}:count_params(), 3538984)
  same(table.concat(nn.applications.MobileNetV2 { input_shape = { 35, 32, 3 }, alpha = 0.35, classes = 3 }:predict(waves(1, 35, 32, 3)).shape, "x"), "1x3")
  -- torchvision's figures leave out the running statistics: 11,689,512 and 25,557,032 without 9,600 and 53,120.
  same(nn.applications.ResNet18 { input_shape = small }:count_params(), 11689512 + 9600)
  same(nn.applications.ResNet50 { input_shape = small, variant = "torchvision" }:count_params(), 25557032 + 53120)
end)

test("a network is called as its option says", function()
  local model, name = nn.Model, nil
  function nn.Model(given) name = given.name return model(given) end
  nn.applications.MobileNet { input_shape = { 32, 32, 3 }, alpha = 0.25, classes = 2, name = "eyes" }
  nn.Model = model
  same(name, "eyes")
end)

test("a network ends as its options say", function()
  local x = waves(2, 32, 32, 3)
  local function shape(given)
    given.input_shape, given.alpha = { 32, 32, 3 }, 0.25
    return table.concat(nn.applications.MobileNet(given):predict(x).shape, "x")
  end
  same(shape { classes = 7 }, "2x7")
  same(shape { include_top = false }, "2x1x1x256")
  same(shape { include_top = false, pooling = "max" }, "2x256")
  local p = nn.applications.ResNet18 { input_shape = { 32, 32, 3 }, classes = 5, seed = 3 }:predict(x)
  near(p:sum(), 2, 1e-5)
  local m = nn.applications.MobileNet { input_shape = { 32, 32, 3 }, alpha = 0.25, classes = 4 }
  x = waves(50, 32, 32, 3)
  same(m:predict(x, { batch_size = 7 }), m:predict(x), "the size of batches changes no bit")
  fails("predict: batch_size must be positive, got 0", m.predict, m, x, { batch_size = 0 })
  fails("predict: unknown option 'verbose'", m.predict, m, x, { verbose = 0 })
end)

test("a network is trained as any model", function()
  local x, y = waves(6, 32, 32, 3), data.tensor({ 0, 1, 2, 0, 1, 2 }, { dtype = "i64" })
  local model = nn.applications.ResNet18 { input_shape = { 32, 32, 3 }, classes = 3, seed = 1 }
  model:compile { optimizer = nn.SGD { 0.005 }, loss = "sparse_categorical_crossentropy" }
  local first = model:train_on_batch(x, y)
  for _ = 1, 3 do model:train_on_batch(x, y) end
  local last = model:train_on_batch(x, y)
  if not (last < first) then error(("the loss went from %g to %g"):format(first, last)) end
end)

-- For some sizes oneDNN wants its weights in an order that cannot be packed 64 filters at a time.
test("a wide 1 x 1 convolution is a product of matrices", function()
  local x, model = waves(4, 2, 2, 512), nn.Sequential { nn.Input { 2, 2, 512 }, nn.Conv2D { 2048, 1, use_bias = false }, seed = 3 }
  local want = x:reshape { 16, 512 }:matmul(model:get_weights()[1]:reshape { 512, 2048 })
  near((model:predict(x):reshape { 16, 2048 } - want):abs():max(), 0, 1e-4)
end)

test("options that are wrong are told", function()
  local ResNet50 = nn.applications.ResNet50
  fails("ResNet50: unknown option 'wights'; known are classes, classifier_activation", ResNet50, { wights = "x" })
  fails('ResNet50: weights = "imagenet" cannot be fetched from here', ResNet50, { weights = "imagenet" })
  fails("ResNet50: classes must be an integer, got 1.5", ResNet50, { classes = 1.5 })
  fails("ResNet50: input_shape must be { height, width, channels } of at least 32 x 32 pixels", ResNet50, { input_shape = { 8, 8, 3 } })
  fails('MobileNet: pooling must be "avg" or "max", got "mean"', nn.applications.MobileNet, { pooling = "mean" })
  fails("cannot read /nowhere.npz", ResNet50, { weights = "/nowhere.npz", input_shape = { 32, 32, 3 } })
end)

test("pictures are prepared as the networks were trained", function()
  local x = data.tensor { { { { 10, 20, 30 } } } }
  local caffe = nn.applications.resnet50.preprocess_input(x):totable()[1][1][1]
  near(caffe[1], 30 - 103.939, 1e-4)
  near(caffe[3], 10 - 123.68, 1e-4)
  near(nn.applications.mobilenet.preprocess_input(x):totable()[1][1][1][2], 20 / 127.5 - 1, 1e-6)
  near(nn.applications.torchvision.preprocess_input(x):totable()[1][1][1][3], (30 / 255 - 0.406) / 0.225, 1e-5)
  fails("expects pictures", nn.applications.resnet50.preprocess_input, data.tensor { { 1, 2 } })
end)

local function net(classes)
  return nn.Sequential {
    nn.Input { 6, 5, 2 }, nn.Conv2D { 4, { 3, 2 }, use_bias = false, name = "stem.conv" }, nn.BatchNormalization { epsilon = 1e-5, name = "stem.norm" },
    nn.DepthwiseConv2D { 2, depth_multiplier = 2, name = "depth" }, nn.GlobalAveragePooling2D {}, nn.Dense { classes or 3, name = "fc" }, seed = 9,
  }
end
-- A state dict of PyTorch: (outputs, inputs, height, width), (outputs, inputs).
local function state_dict()
  return {
    ["stem.conv.weight"] = waves(4, 2, 3, 2), ["stem.norm.weight"] = waves(4) + 2, ["stem.norm.bias"] = waves(4),
    ["stem.norm.running_mean"] = waves(4) / 3, ["stem.norm.running_var"] = waves(4) + 1.5,
    ["stem.norm.num_batches_tracked"] = data.tensor({ 7 }, { dtype = "i64" }),
    ["depth.weight"] = waves(8, 1, 2, 2), ["depth.bias"] = waves(8), ["fc.weight"] = waves(3, 8), ["fc.bias"] = waves(3),
  }
end

test("weights of PyTorch's names are turned", function()
  local model, d = net(), state_dict()
  data.save(folder .. "/torch.npz", d)
  same(#model:load_weights(folder .. "/torch.npz"), 0)
  local w = model:get_weights()
  same(w[1], d["stem.conv.weight"]:transpose { 2, 3, 1, 0 })
  same(w[2], d["stem.norm.weight"])
  same(w[5], d["stem.norm.running_var"])
  same(w[6]:reshape { 2, 2, 8 }, d["depth.weight"]:reshape { 8, 2, 2 }:transpose { 1, 2, 0 }) -- channel 0's two, then channel 1's
  same(w[8], d["fc.weight"]:transpose())
end)

-- What PyTorch 2.15 puts out with these numbers: Conv2d(2, 3, 3), ReLU, Flatten, BatchNorm1d(18), Linear(18, 4).
test("a Dense behind a Flatten of pictures gets PyTorch's weights in our order", function()
  local function wave(a, step, ...)
    local list, n = {}, 1
    for _, size in ipairs { ... } do n = n * size end
    for i = 0, n - 1 do list[i + 1] = math.sin(a + step * i) end
    return data.tensor(list):reshape { ... }
  end
  data.save(folder .. "/flat.npz", {
    ["conv.weight"] = wave(1, 0.7, 3, 2, 3, 3), ["conv.bias"] = wave(2, 0.7, 3), ["bn.weight"] = wave(3, 0.7, 18), ["bn.bias"] = wave(4, 0.7, 18),
    ["bn.running_mean"] = wave(5, 0.7, 18), ["bn.running_var"] = wave(6, 0.7, 18) + 1.5, ["fc.weight"] = wave(7, 0.7, 4, 18), ["fc.bias"] = wave(8, 0.7, 4),
  })
  local model = nn.Sequential {
    nn.Input { 4, 5, 2 }, nn.Conv2D { 3, 3, activation = "relu", name = "conv" }, nn.Flatten {}, nn.BatchNormalization { epsilon = 1e-5, name = "bn" },
    nn.Dropout { 0.5 }, nn.Dense { 4, name = "fc" },
  }
  model:load_weights(folder .. "/flat.npz")
  local y = model:predict(wave(0, 0.3, 2, 4, 5, 2)):totable()
  local want = { { -26.009609, -25.624527, -25.521524, -25.401281 }, { -23.807425, -23.471521, -23.420135, -23.353888 } }
  for i, row in ipairs(want) do
    for k, value in ipairs(row) do near(y[i][k], value, 1e-4) end
  end
end)

test("weights of Keras's names are taken as they are, from .npz and safetensors", function()
  local from, a, b = net(), net(), net()
  local named, names = {}, { "stem.conv/kernel", "stem.norm/gamma", "stem.norm/beta", "stem.norm/moving_mean", "stem.norm/moving_variance",
    "depth/kernel", "depth/bias:0", "fc/kernel:0", "fc/bias" }
  data.save(folder .. "/torch.npz", state_dict())
  from:load_weights(folder .. "/torch.npz")
  for i, t in ipairs(from:get_weights()) do named[names[i]] = t end
  data.save(folder .. "/keras.npz", named, { compressed = true })
  a:load_weights(folder .. "/keras.npz")
  from:save(folder .. "/own.safetensors")
  b:load_weights(folder .. "/own.safetensors")
  local x = waves(3, 6, 5, 2)
  same(a:predict(x), from:predict(x))
  same(b:predict(x), from:predict(x))
end)

-- What {w.path: w.numpy() for w in model.weights} is called by Keras 3.15, of a model in each form.
test("weights are found behind the path of a model", function()
  local function two(a, b) return nn.Sequential { nn.Input { 4 }, nn.Dense { 3, name = a }, nn.Dense { 2, name = b } } end
  local forms = {
    { "Sequential", two("a", "b"), "sequential/a", "sequential/b" }, { "of a name", two("a", "b"), "net/a", "net/b" },
    { "functional", two("a", "b"), "a", "b" }, { "subclassed", two("a", "b"), "my_model/a", "my_model/b" },
    { "layers in layers", two("one", "two"), "m2/one/inner", "m2/two/inner" }, { "nested", two("q", "b"), "base/q", "b" },
    { "nested in a Sequential", two("q", "b"), "base/q", "outer/b" }, { "automatic names", two(), "sequential/dense", "sequential/dense_1" },
    { "automatic names of a later model", two(), "sequential_1/dense_2", "sequential_1/dense_3" },
    { "of a later functional one", two(), "dense_1", "dense_2" }, { "numbers of two digits", two(), "sequential_4/dense_9", "sequential_4/dense_10" },
    { "the nearer one", two("a", "b"), "m/a", "m/b", { ["m/other/a/kernel"] = waves(7, 7), ["m/other/a/bias"] = waves(7) } },
  }
  local x = waves(3, 4)
  for _, form in ipairs(forms) do
    local what, model, first, second, more = table.unpack(form)
    local w = { waves(4, 3), waves(3), waves(3, 2), waves(2) }
    local named = { [first .. "/kernel"] = w[1], [first .. "/bias"] = w[2], [second .. "/kernel"] = w[3], [second .. "/bias"] = w[4] }
    for name, t in pairs(more or {}) do named[name] = t end
    for _, file in ipairs { "/form.npz", "/form.safetensors" } do
      data.save(folder .. file, named)
      same(#model:load_weights(folder .. file), 0, what)
      for i, t in ipairs(model:get_weights()) do same(t, w[i], what) end
    end
  end
  local model = two("a", "b")
  local w = { waves(4, 3), waves(3), waves(3, 2), waves(2) }
  data.save(folder .. "/place.npz", { arr_0 = w[1], arr_1 = w[2], arr_2 = w[3], arr_3 = w[4] }) -- numpy.savez(path, *model.get_weights())
  model:load_weights(folder .. "/place.npz")
  for i, t in ipairs(model:get_weights()) do same(t, w[i]) end
  data.save(folder .. "/prefix.safetensors", { ["module.a.weight"] = w[1]:transpose(), ["module.a.bias"] = w[2], ["module.b.weight"] = w[3]:transpose(), ["module.b.bias"] = w[4] })
  model:load_weights(folder .. "/prefix.safetensors") -- of torch.nn.DataParallel
  for i, t in ipairs(model:get_weights()) do same(t, w[i]) end

  data.save(folder .. "/two.npz", { ["m/one/a/kernel"] = w[1], ["m/one/a/bias"] = w[2], ["m/two/a/kernel"] = w[1], ["m/two/a/bias"] = w[2] })
  fails('"a/kernel" may be "m/', model.load_weights, model, folder .. "/two.npz")
  fails("among its 4 tensors: ", two("u", "v").load_weights, two("u", "v"), folder .. "/two.npz")
  fails("the model's weights are u/kernel, u/bias, v/kernel, v/bias. A layer has one name on both sides", model.load_weights, two("u", "v"), folder .. "/two.npz")
  local part = two("a", "v")
  same(table.concat(part:load_weights(folder .. "/prefix.safetensors", { skip_mismatch = true }), " "), "v/kernel v/bias")
end)

test("a name that means another program's format is refused", function()
  local model = nn.Sequential { nn.Dense { 2, input_dim = 3 } }
  for _, name in ipairs { "m.keras", "m.h5", "m.weights.h5", "M.H5", "m.hdf5", "m.pt", "m.pth", "m.pkl", "m.npz", "m.npy", "m.pb", "m.tflite", "m.json" } do
    local path = folder .. "/" .. name
    fails("would promise another format: write \"m.safetensors\", or \"m.onnx\"", model.save, model, path)
    fails("would promise another format", nn.ModelCheckpoint, { path })
    same(io.open(path), nil, name)
  end
  for _, name in ipairs { "/m.safetensors", "/m.ckpt", "/m", "/m.onnx", "/m.v2", "/h5" } do model:save(folder .. name) end
  data.save(folder .. "/w.npz", { a = waves(2) })
  fails("call model:load_weights(path) where it has weights alone", nn.load, folder .. "/w.npz")
end)

test("a safetensors file of another program", function()
  local head = '{"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},'
    .. '"a.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}'
  local bytes = string.pack("<s8", head) .. string.pack("<fff", 3, 5, 7)
  local model = nn.Sequential { nn.Dense { 1, input_dim = 2, name = "a" } }
  model:load_weights(bytes)
  same(model:predict(data.tensor { { 10, 100 } })[0][0], 537.0)
end)

test("what does not fit names the tensor and both shapes", function()
  local d = state_dict()
  d["fc.weight"] = waves(5, 8)
  data.save(folder .. "/wrong.npz", d)
  local model = net()
  local before = model:get_weights()[1]
  fails('tensor "fc.weight": fc/kernel expects shape (8, 3), got (8, 5)', model.load_weights, model, folder .. "/wrong.npz")
  same(model:get_weights()[1], before, "no weight is written when one does not fit")
  d["fc.weight"], d["depth.bias"] = waves(3, 8), nil
  data.save(folder .. "/less.npz", d)
  fails('the file has neither "depth/bias" nor "depth.bias" among its 9 tensors', model.load_weights, model, folder .. "/less.npz")
  d["depth.bias"] = waves(8)
  d["stem.norm.running_mean"] = waves(4) / 0
  data.save(folder .. "/nan.npz", d)
  fails('tensor "stem.norm.running_mean": stem.norm/moving_mean holds', model.load_weights, model, folder .. "/nan.npz")
end)

test("another head is trained on weights of all else", function()
  data.save(folder .. "/torch.npz", state_dict())
  local model = net(5)
  fails("fc/kernel expects shape (8, 5), got (8, 3)", model.load_weights, model, folder .. "/torch.npz")
  same(table.concat(model:load_weights(folder .. "/torch.npz", { skip_mismatch = true }), " "), "fc/kernel fc/bias")
  same(model:get_weights()[2], state_dict()["stem.norm.weight"])
  fails("load_weights: unknown option 'by_name'", model.load_weights, model, "x", { by_name = true })
end)

test("a checkpoint is one, whatever the length of its header looks like", function()
  local model = nn.Sequential { nn.Dense { 2, input_dim = 3 }, seed = 1 }
  local again = nn.Sequential { nn.Dense { 2, input_dim = 3 }, seed = 2 }
  model:save(folder .. "/own.safetensors")
  local file = assert(io.open(folder .. "/own.safetensors", "rb"))
  local bytes = file:read "a"
  file:close()
  local length = string.unpack("<I8", bytes)
  for _, n in ipairs { 0x280, 0x4b50 } do -- as "\x80\x02" of a pickle begins, and "PK" of a ZIP archive
    n = n >= length and n or n + 0x10000
    local padded = string.pack("<I8", n) .. bytes:sub(9, 8 + length) .. (" "):rep(n - length) .. bytes:sub(9 + length)
    again:load_weights(write("padded", padded))
    same(again:get_weights()[1], model:get_weights()[1])
    fails("truncated", again.load_weights, again, write("cut", padded:sub(1, 200)))
  end
end)

test("files of other formats are told how they become one of ours", function()
  local model = net()
  fails("numpy.savez", model.load_weights, model, write("w.h5", "\x89HDF\r\n\x1a\n" .. ("\0"):rep(100)))
  fails("numpy.savez", model.load_weights, model, write("w.keras", "PK\3\4" .. ("\0"):rep(26) .. "config.json" .. ("\0"):rep(100)))
  fails("safetensors.torch.save_file", model.load_weights, model, write("w.pth", "PK\3\4" .. ("\0"):rep(26) .. "archive/data.pkl" .. ("\0"):rep(100)))
  fails("not safetensors", model.load_weights, model, write("w.txt", "hello, hello, hello"))
end)

cases.run(function() os.execute("rm -rf " .. folder) end)
