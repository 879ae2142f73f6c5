#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exported models: ONNX's own checker takes them, and onnxruntime computes what predict computes."""
import json
import os
import re

from tap import BUILD, CACHE, Skip, run, sh

WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
PYTHON = os.path.join(CACHE, "onnx", "bin", "python")

# Each model is trained for some steps, so that no weight and no statistic is what it began with.
MAKER = """
local nn, data = require "nn", require "data"
local ROWS = 40
local function numbers(...)
  local shape, n = { ROWS, ... }, ROWS
  for _, size in ipairs { ... } do n = n * size end
  local list = {}
  for i = 1, n do list[i] = math.sin(1.7 * i + #shape) end
  return data.tensor(list):reshape(shape)
end
local function indices(entries, n)
  local list = {}
  for i = 1, ROWS * (n or 1) do list[i] = i * 7 % entries end
  return data.tensor(list, { dtype = "i64" }):reshape { ROWS, n or 1 }
end
local function sums(n)
  local list = {}
  for i = 1, ROWS do
    list[i] = {}
    for k = 1, n do list[i][k] = 0.5 + 0.5 * math.cos(i + k) end
  end
  return data.tensor(list)
end
local function keep(name, model, inputs, outputs, loss)
  local x, y, losses = inputs, {}, {}
  for k, n in ipairs(outputs) do y[k], losses[k] = loss == "classes" and indices(n):reshape { ROWS } or sums(n), "mse" end
  if #inputs == 1 then x = inputs[1] end
  if #outputs == 1 then
    y, losses = y[1], loss == "classes" and "sparse_categorical_crossentropy" or loss or "mse"
  end
  model:compile { optimizer = nn.Adam { 0.02 }, loss = losses }
  model:fit { x, y, batch_size = 8, epochs = 2, verbose = 0 }
  model:save(name .. ".onnx")
  for k, tensor in ipairs(inputs) do data.save(("%s.x%d.npy"):format(name, k - 1), tensor) end
  for k, tensor in ipairs { model:predict(x) } do data.save(("%s.y%d.npy"):format(name, k - 1), tensor) end
end

keep("mlp", nn.Sequential { nn.Flatten { 4, 5 }, nn.Dense { 70, activation = "relu" }, nn.Dropout { 0.3 },
  nn.Dense { 33, activation = "tanh", use_bias = false }, nn.Dense { 10, activation = "softmax" } }, { numbers(4, 5) }, { 10 },
  "classes")

local function cnn(x)
  local h = nn.BatchNormalization {} (nn.Conv2D { 6, 3, padding = "same", activation = "relu" } (x))
  h = nn.MaxPooling2D { 2 } (h)
  h = nn.Dropout { 0.2 } (nn.Conv2D { 20, { 2, 3 }, strides = 2, padding = "same", use_bias = false } (h))
  local side = nn.Conv2D { 20, 1, activation = "gelu" } (h)
  h = nn.Activation { "silu" } (nn.Add {} { h, side })
  h = nn.Concatenate {} { nn.AveragePooling2D { 3, strides = 1, padding = "same" } (h), h }
  return nn.Dense { 4, activation = "softmax" } (nn.Dense { 12, activation = "elu" } (nn.Flatten {} (h)))
end
local picture = nn.Input { 11, 14, 3 }
keep("cnn", nn.Model { inputs = picture, outputs = cnn(picture) }, { numbers(11, 14, 3) }, { 4 }, "classes")

keep("pooled", nn.Sequential { nn.Input { 9, 10, 2 }, nn.Conv2D { 5, 3, strides = { 1, 2 }, activation = "leaky_relu" },
  nn.MaxPooling2D { 3, strides = 2, padding = "same" }, nn.LayerNormalization {}, nn.LayerNormalization { axis = { -2, -1 }, center = false }, nn.Rescaling { 1.5, -0.25 },
  nn.GlobalAveragePooling2D {},
  nn.Dense { 2, activation = "sigmoid" } }, { numbers(9, 10, 2) }, { 2 }, "binary_crossentropy")

keep("cut", nn.Sequential { nn.Input { 9, 8, 3 }, nn.Normalization { mean = { 0.1, 0.2, 0.3 }, variance = { 2, 1, 0.5 } },
  nn.RandomCrop { 7, 8 }, nn.RandomFlip {}, nn.Conv2D { 4, 3 }, nn.CenterCrop { 4, 3 }, nn.Normalization { mean = 0.5, variance = 4 },
  nn.Flatten {}, nn.Dense { 2 } }, { numbers(9, 8, 3) }, { 2 })

local grouped = nn.Input { 9, 8, 4 }
local g = nn.Conv2D { 6, { 2, 3 }, dilation_rate = { 3, 2 } } (nn.ZeroPadding2D { { { 1, 0 }, { 2, 1 } } } (grouped))
g = nn.ReLU { 6, negative_slope = 0.1, threshold = 0.05 } (nn.Conv2D { 8, 3, groups = 2, padding = "same" } (g))
g = nn.ReLU { 0.5 } (nn.DepthwiseConv2D { 3, strides = 2, depth_multiplier = 2, padding = "same" } (g))
g = nn.GlobalMaxPooling2D {} (nn.DepthwiseConv2D { { 1, 2 }, use_bias = false, activation = "tanh" } (nn.ZeroPadding2D {} (g)))
keep("grouped", nn.Model { inputs = grouped, outputs = nn.Dense { 3 } (g) }, { numbers(9, 8, 4) }, { 3 })

local series = nn.Input { 9, 4 }
local c = nn.Conv1D { 6, 3, dilation_rate = 2, padding = "causal", activation = "tanh" } (series)
local d = nn.Dense { 6, activation = "gelu" } (nn.AveragePooling1D { 3, strides = 2, padding = "same" } (c))
d = nn.Concatenate { axis = 1 } { nn.Conv1D { 6, 3, strides = 2, groups = 2, padding = "same" } (c), d }
d = nn.Flatten {} (nn.GlobalAveragePooling1D { keepdims = true } (nn.Dense { 5, use_bias = false } (d)))
d = nn.Concatenate {} { d, nn.GlobalMaxPooling1D {} (c), nn.Flatten {} (nn.MaxPooling1D { 2, strides = 3 } (c)) }
keep("steps", nn.Model { inputs = series, outputs = nn.Dense { 3, kernel_regularizer = "l2" } (d) }, { numbers(9, 4) }, { 3 })

local sides = nn.Input { 6, 5, 2 }
local wide = nn.Conv2D { 3, 3, padding = "same" } (sides)
wide = nn.Concatenate { axis = 2 } { wide, nn.Concatenate { axis = -2 } { wide, nn.Conv2D { 3, 3, padding = "same" } (wide) } }
keep("sides", nn.Model { inputs = sides, outputs = nn.Dense { 3 } (nn.Flatten {} (nn.Conv2D { 4, 2 } (wide))) }, { numbers(6, 5, 2) }, { 3 })

local flower, twice = nn.Input { 9, 8, 3 }, nn.SeparableConv2D { 3, 3, padding = "same", activation = "elu" }
local s = nn.SeparableConv2D { 6, { 2, 3 }, strides = 2, depth_multiplier = 2, use_bias = false } (twice(twice(flower)))
local gate = nn.Conv2D { 6, 1, activation = "sigmoid" } (nn.GlobalAveragePooling2D { keepdims = true } (s))
keep("separable", nn.Model { inputs = flower, outputs = { nn.Dense { 3 } (nn.GlobalMaxPooling2D {} (s)), nn.Dense { 2 } (nn.Flatten {} (gate)) } },
  { numbers(9, 8, 3) }, { 3, 2 })

local small = nn.Conv2D { 3, 3, activation = "tanh" } (sides)
local large = nn.Concatenate {} { nn.UpSampling2D { { 2, 3 } } (small), nn.UpSampling2D { { 2, 3 }, interpolation = "bilinear" } (small) }
keep("large", nn.Model { inputs = sides, outputs = nn.Dense { 3 } (nn.Flatten {} (nn.Conv2D { 2, 3, strides = 2 } (large))) }, { numbers(6, 5, 2) }, { 3 })

local store, day, rest = nn.Input { 1, name = "store" }, nn.Input { 2 }, nn.Input { 3 }
local joined = nn.Concatenate {} { nn.Flatten {} (nn.Embedding { 50, 6 } (store)), nn.Flatten {} (nn.Embedding { 7, 3 } (day)), rest }
local table_ = nn.Dense { 16, activation = "selu" } (nn.BatchNormalization { center = false } (joined))
keep("table", nn.Model { inputs = { store, day, rest }, outputs = nn.Dense { 1, activation = "softplus" } (nn.Dropout { 0.1 } (table_)) },
  { indices(50), indices(7, 2), numbers(3) }, { 1 })

local x = nn.Input { 6 }
local h = nn.LayerNormalization { scale = false, center = false } (nn.Dense { 12, activation = "tanh" } (x))
local grid = nn.BatchNormalization { scale = false } (nn.Reshape { 3, -1 } (h))
local picture_like = nn.MaxPooling2D { { 1, 2 } } (nn.Reshape { 2, 2, 3 } (h))
keep("heads", nn.Model { inputs = x, outputs = { nn.Dense { 2, name = "near" } (nn.Flatten {} (grid)), nn.Dropout { 0.5 } (h),
  picture_like, nn.Activation { "sigmoid", name = "h/Gemm" } (h), nn.Embedding { 3, 2 } (nn.Activation { "relu" } (nn.Reshape { 12 } (h))) } },
  { numbers(6) }, { 2, 12, 6, 12, 24 })

local left, right, rest_ = nn.Input { 2 }, nn.Input { 2 }, nn.Input { 4 }
local words, tower = nn.Embedding { 9, 3 }, nn.Dense { 4, activation = "tanh", name = "tower" }
local both = nn.Concatenate {} { nn.Flatten {} (words(left)), nn.Flatten {} (words(right)), tower(tower(tower(rest_))) }
local first = nn.Dense { 3, activation = "sigmoid" } (both)
keep("shared", nn.Model { inputs = { left, right, rest_ }, outputs = { first, nn.Dense { 2 } (nn.Concatenate {} { first, both }) } },
  { indices(9, 2), indices(9, 2), numbers(4) }, { 3, 2 })
"""

READER = """\
import json, sys
import numpy as np, onnx, onnxruntime
found = {}
for name in sys.argv[1:]:
    model = onnx.load(name + ".onnx")
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(name + ".onnx", providers=["CPUExecutionProvider"])
    x = {}
    for k, i in enumerate(session.get_inputs()):
        x[i.name] = np.load(f"{name}.x{k}.npy").astype("int64" if i.type == "tensor(int64)" else "float32")
    apart, size = 0.0, 0.0
    for rows in (1, 7, 40):
        got = session.run(None, {n: v[:rows] for n, v in x.items()})
        for k, y in enumerate(got):
            want = np.load(f"{name}.y{k}.npy")[:rows].reshape(y.shape)
            apart = max(apart, float(np.abs(y - want).max()))
            size = max(size, float(np.abs(want).max()))
    found[name] = {"apart": apart, "size": size, "opset": model.opset_import[0].version, "ir": model.ir_version,
                   "inputs": [[i.name, i.type, i.shape] for i in session.get_inputs()],
                   "outputs": [[o.name, o.shape] for o in session.get_outputs()],
                   "name": model.graph.name,
                   "weights": [i.name for i in model.graph.initializer],
                   "types": [n.op_type for n in model.graph.node]}
print(json.dumps(found))
"""


def work(folder, text):
    with open(os.path.join(folder, "trainer.lua"), "w", encoding="utf-8") as f:
        f.write(text)
    return sh(WORKER, "trainer.lua", cwd=folder)


def test_onnxruntime_computes_what_predict_computes(t):
    if not os.path.exists(PYTHON):
        raise Skip("there is no onnxruntime (tests/support/tool-onnx)")
    folder = t.dir()
    done = work(folder, MAKER)
    assert done.code == 0, done
    made = re.findall(r'^keep\("(\w+)"', MAKER, re.M)
    done = sh(PYTHON, "-c", READER, *made, cwd=folder)
    assert done.code == 0, done
    found = json.loads(done.out)
    for name, of in found.items():
        assert of["apart"] <= 1e-5 and of["size"] > 0.1, (name, of)
        assert (of["opset"], of["ir"]) == (17, 8), (name, of)
    assert found["mlp"]["inputs"] == [["input", "tensor(float)", ["batch", 4, 5]]], found["mlp"]
    assert found["mlp"]["outputs"] == [["dense_2", ["batch", 10]]], found["mlp"]
    assert found["table"]["inputs"] == [["store", "tensor(int64)", ["batch", 1]], ["input_layer", "tensor(int64)", ["batch", 2]],
                                        ["input_layer_1", "tensor(float)", ["batch", 3]]], found["table"]
    # Dropout is nothing; pictures are turned once at the beginning, and back where a Flatten or a loss needs them.
    assert all("Dropout" not in of["types"] for of in found.values()), found
    assert found["mlp"]["name"] == "sequential" and found["cnn"]["name"] == "functional", found
    assert found["cnn"]["types"].count("Transpose") == 2, found["cnn"]["types"]
    # A layer that is called several times has its weights once.
    assert found["shared"]["weights"] == ["embedding/embeddings", "tower/kernel", "tower/bias", "dense/kernel", "dense/bias",
                                          "dense_1/kernel", "dense_1/bias"], found["shared"]
    names = [o[0] for o in found["heads"]["outputs"]]
    assert names[0] == "near" and len(set(names)) == 5, names


def test_the_same_model_is_the_same_file(t):
    folder = t.dir()
    done = work(folder, """
local nn = require "nn"
local function model() return nn.Sequential { nn.Dense { 3, input_dim = 2 }, nn.Dense { 1 } } end
model():save "a.onnx"
model():export "b.onnx"
model():export("c.onnx", { format = "onnx" })
""")
    assert done.code == 0, done
    files = []
    for name in "abc":
        with open(os.path.join(folder, f"{name}.onnx"), "rb") as f:
            files.append(f.read())
    assert files[0] == files[1] == files[2] and b"firesteel" in files[0]


def test_what_cannot_be_exported_is_told(t):
    folder = t.dir()
    done = work(folder, """
local nn = require "nn"
local model = nn.Sequential { nn.Dense { 3, input_dim = 2 } }
local function fails(...) local ok, problem = pcall(...) assert(not ok) print(problem) end
fails(model.export, model, "m.onnx", { format = "tf_saved_model" })
fails(model.export, nn.Sequential { nn.Dense { 3 } }, "m.onnx")
fails(model.save, model, "m.onnx", { include_optimizer = true })
model:save "m.onnx"
fails(nn.load, "m.onnx")
""")
    assert done.code == 0, done
    said = done.out.splitlines()
    for line, text in zip(said, ('format must be "onnx", got "tf_saved_model"', "no weights yet", "no optimizer", "for other runtimes")):
        assert text in line, said
    assert len(said) == 4, said


run(globals())
