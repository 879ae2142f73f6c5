-- SPDX-License-Identifier: MIT
-- pretrained.lua: loads what pretrained.py has left in the working folder; prints how far apart its outputs and ours are.
local nn, data = require "nn", require "data"
local a = nn.applications

local function flatten(options)
  local model = nn.Sequential {
    nn.Input(options.input_shape), nn.Conv2D { 8, 5, strides = 4, activation = "relu", name = "conv" }, nn.Flatten {}, nn.Dense { options.classes, name = "fc" },
  }
  model:load_weights(options.weights)
  return model
end

for _, case in ipairs {
  { "ResNet50", a.ResNet50, a.resnet50, {} },
  { "MobileNet", a.MobileNet, a.mobilenet, { alpha = 0.5 } },
  { "MobileNetV2", a.MobileNetV2, a.mobilenet_v2, { alpha = 0.5 } },
  { "ResNet18", a.ResNet18, a.torchvision, {} },
  { "ResNet50-torchvision", a.ResNet50, a.torchvision, { variant = "torchvision" } },
  { "Flatten", flatten, { preprocess_input = function(x) return x end }, {} },
} do
  local name, make, of, options = table.unpack(case)
  options.weights, options.input_shape, options.classes = name .. ".npz", { 64, 64, 3 }, 10
  local y = make(options):predict(of.preprocess_input(data.npy(name .. ".x.npy")))
  print(name, ("%.3g"):format((y - data.npy(name .. ".y.npy")):abs():max()))
end
