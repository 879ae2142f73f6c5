-- SPDX-License-Identifier: MIT
-- nn.applications: well-known networks for pictures (height, width, channels), by Keras's names and options
-- (keras/src/applications), and those of torchvision that Keras lacks (torchvision/models/resnet.py). Layers are called as
-- there, so that files of weights from there fit: trainer/files/pretrained.h.
local nn, known = ...

local applications = {}
nn.applications = applications

-- What every network takes, with Keras's defaults; weights are those of a file.
local common = {
  include_top = "boolean", weights = "string", input_shape = "table", pooling = "string", classes = "integer",
  classifier_activation = "string", seed = "integer", name = "string", dtype = "string", remat = "any",
}

local function options(name, given, own)
  local out = { include_top = true, classes = 1000, classifier_activation = "softmax" }
  local allowed = {}
  for key, kind in pairs(common) do allowed[key] = kind end
  for key, value in pairs(own) do allowed[key], out[key] = type(value), value end
  if given ~= nil and type(given) ~= "table" then error(("%s: expects a table of options"):format(name), 3) end
  for key, value in pairs(given or {}) do
    local kind = allowed[key]
    if not kind then error(("%s: unknown option '%s'; known are %s"):format(name, tostring(key), known(allowed)), 3) end
    if kind ~= "any" and type(value) ~= kind and math.type(value) ~= kind then
      error(("%s: %s must be %s %s, got %s"):format(name, key, kind == "integer" and "an" or "a", kind, tostring(value)), 3)
    end
    out[key] = value
  end
  local shape = out.input_shape or { 224, 224, 3 }
  if #shape ~= 3 or shape[1] < 32 or shape[2] < 32 then
    error(("%s: input_shape must be { height, width, channels } of at least 32 x 32 pixels"):format(name), 3)
  end
  if out.pooling and out.pooling ~= "avg" and out.pooling ~= "max" then
    error(('%s: pooling must be "avg" or "max", got "%s"'):format(name, out.pooling), 3)
  end
  if out.classes < 1 then error(("%s: classes must be positive, got %d"):format(name, out.classes), 3) end
  if out.weights == "imagenet" then
    error(name .. ': weights = "imagenet" cannot be fetched from here: give the path of a .safetensors or .npz file '
      .. "(doc/models.md, Applications, has the lines that write one)", 3)
  end
  out.input_shape = shape
  return out
end

-- The end of a network without its top: its last feature maps, or with `pooling` their mean or maximum.
local function headless(o, x)
  if o.pooling == "avg" then return nn.GlobalAveragePooling2D { name = "avg_pool" } (x) end
  if o.pooling == "max" then return nn.GlobalMaxPooling2D { name = "max_pool" } (x) end
  return x
end

local function finish(name, o, input, output)
  local model = nn.Model { inputs = input, outputs = output, name = o.name, seed = o.seed, dtype = o.dtype, remat = o.remat }
  if o.weights then
    local ok, problem = pcall(model.load_weights, model, o.weights)
    if not ok then error(("%s: %s"):format(name, tostring(problem):gsub("^[^:]+:%d+: ", "")), 3) end
  end
  return model
end

-- Keras's ResNet, version 1: the first convolution of a block has its strides, and convolutions have biases.
local function resnet_keras(o, input, blocks)
  local function unit(x, filters, size, strides, name, f)
    x = nn.Conv2D { filters, size, strides = strides, padding = size == 3 and "same" or "valid", name = name .. "_conv" } (x)
    x = nn.BatchNormalization { epsilon = 1.001e-5, name = name .. "_bn" } (x)
    return f and nn.Activation { "relu", name = name .. "_relu" } (x) or x
  end
  local x = unit(nn.ZeroPadding2D { 3, name = "conv1_pad" } (input), 64, 7, 2, "conv1", true)
  x = nn.MaxPooling2D { 3, strides = 2, name = "pool1_pool" } (nn.ZeroPadding2D { 1, name = "pool1_pad" } (x))
  for stage, n in ipairs(blocks) do
    local filters = 32 << stage
    for block = 1, n do
      local name = ("conv%d_block%d"):format(stage + 1, block)
      local strides = block == 1 and stage > 1 and 2 or 1
      local short = block == 1 and unit(x, 4 * filters, 1, strides, name .. "_0") or x
      x = unit(unit(x, filters, 1, strides, name .. "_1", true), filters, 3, 1, name .. "_2", true)
      x = nn.Add { name = name .. "_add" } { short, unit(x, 4 * filters, 1, 1, name .. "_3") }
      x = nn.Activation { "relu", name = name .. "_out" } (x)
    end
  end
  if not o.include_top then return headless(o, x) end
  x = nn.GlobalAveragePooling2D { name = "avg_pool" } (x)
  return nn.Dense { o.classes, activation = o.classifier_activation, name = "predictions" } (x)
end

-- torchvision's: strides in the 3 x 3 convolution, no biases, padding on both sides, the running statistics' momentum 0.1 (here 0.9).
local function resnet_torch(o, input, blocks, bottleneck)
  local function unit(x, filters, size, strides, conv, norm)
    -- "same" would pad a picture of even size only behind it, where torchvision pads both sides.
    local apart = size > 1 and strides > 1
    if apart then x = nn.ZeroPadding2D { size // 2, name = conv .. ".pad" } (x) end
    x = nn.Conv2D { filters, size, strides = strides, padding = apart and "valid" or "same", use_bias = false, name = conv } (x)
    return nn.BatchNormalization { epsilon = 1e-5, momentum = 0.9, name = norm } (x)
  end
  local function relu(x, name) return nn.Activation { "relu", name = name } (x) end
  local x = relu(unit(input, 64, 7, 2, "conv1", "bn1"), "relu")
  x = nn.MaxPooling2D { 3, strides = 2, name = "maxpool" } (nn.ZeroPadding2D { 1, name = "maxpool.pad" } (x)) -- after relu 0 is no more than any
  local width = bottleneck and 4 or 1
  for stage, n in ipairs(blocks) do
    local filters = 32 << stage
    for block = 0, n - 1 do
      local name = ("layer%d.%d."):format(stage, block)
      local strides = block == 0 and stage > 1 and 2 or 1
      local short = x
      if block == 0 and (stage > 1 or bottleneck) then
        short = unit(x, width * filters, 1, strides, name .. "downsample.0", name .. "downsample.1")
      end
      local plan = bottleneck and { { filters, 1, 1 }, { filters, 3, strides }, { 4 * filters, 1, 1 } }
        or { { filters, 3, strides }, { filters, 3, 1 } }
      for i, p in ipairs(plan) do
        x = unit(x, p[1], p[2], p[3], name .. "conv" .. i, name .. "bn" .. i)
        if i < #plan then x = relu(x, name .. "relu" .. i) end
      end
      x = relu(nn.Add { name = name .. "add" } { short, x }, name .. "relu")
    end
  end
  if not o.include_top then return headless(o, x) end
  x = nn.GlobalAveragePooling2D { name = "avgpool" } (x)
  return nn.Dense { o.classes, activation = o.classifier_activation, name = "fc" } (x)
end

for name, blocks in pairs { ResNet50 = { 3, 4, 6, 3 }, ResNet101 = { 3, 4, 23, 3 }, ResNet152 = { 3, 8, 36, 3 } } do
  applications[name] = function(given)
    local o = options(name, given, { variant = "keras" })
    if o.variant ~= "keras" and o.variant ~= "torchvision" then
      error(('%s: variant must be "keras" or "torchvision", got "%s"'):format(name, o.variant), 2)
    end
    local input = nn.Input(o.input_shape)
    return finish(name, o, input, (o.variant == "keras" and resnet_keras or resnet_torch)(o, input, blocks, true))
  end
end

for name, blocks in pairs { ResNet18 = { 2, 2, 2, 2 }, ResNet34 = { 3, 4, 6, 3 } } do
  applications[name] = function(given)
    local o = options(name, given, {})
    local input = nn.Input(o.input_shape)
    return finish(name, o, input, resnet_torch(o, input, blocks, false))
  end
end

-- Howard and others, arXiv 1704.04861.
function applications.MobileNet(given)
  local o = options("MobileNet", given, { alpha = 1.0, depth_multiplier = 1, dropout = 0.001 })
  if not (o.alpha > 0) then error(("MobileNet: alpha must be positive, got %s"):format(o.alpha), 2) end
  local function unit(x, layer, name)
    return nn.ReLU { 6, name = name .. "_relu" } (nn.BatchNormalization { name = name .. "_bn" } (layer(x)))
  end
  local function width(filters) return math.max(1, math.floor(filters * o.alpha)) end
  local input = nn.Input(o.input_shape)
  local x = unit(input, nn.Conv2D { width(32), 3, strides = 2, padding = "same", use_bias = false, name = "conv1" }, "conv1")
  for i, filters in ipairs { 64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024 } do
    local strides = (i == 2 or i == 4 or i == 6 or i == 12) and 2 or 1
    local dw, pw = "conv_dw_" .. i, "conv_pw_" .. i
    if strides == 2 then x = nn.ZeroPadding2D { { { 0, 1 }, { 0, 1 } }, name = "conv_pad_" .. i } (x) end
    x = unit(x, nn.DepthwiseConv2D { 3, padding = strides == 1 and "same" or "valid", strides = strides,
      depth_multiplier = o.depth_multiplier, use_bias = false, name = dw }, dw)
    x = unit(x, nn.Conv2D { width(filters), 1, padding = "same", use_bias = false, name = pw }, pw)
  end
  if not o.include_top then return finish("MobileNet", o, input, headless(o, x)) end
  x = nn.Reshape { 1, 1, width(1024), name = "reshape_1" } (nn.GlobalAveragePooling2D { name = "global_average_pooling2d" } (x))
  x = nn.Conv2D { o.classes, 1, padding = "same", name = "conv_preds" } (nn.Dropout { o.dropout, name = "dropout" } (x))
  x = nn.Activation { o.classifier_activation, name = "predictions" } (nn.Reshape { o.classes, name = "reshape_2" } (x))
  return finish("MobileNet", o, input, x)
end

-- Sandler and others, arXiv 1801.04381: blocks that widen, look at each channel by itself, and narrow again.
function applications.MobileNetV2(given)
  local o = options("MobileNetV2", given, { alpha = 1.0 })
  if not (o.alpha > 0) then error(("MobileNetV2: alpha must be positive, got %s"):format(o.alpha), 2) end
  local function width(filters)                                       -- a multiple of 8, and not much less than it was
    local wanted = filters * o.alpha
    local rounded = math.max(8, (math.floor(wanted) + 4) // 8 * 8)
    return rounded < 0.9 * wanted and rounded + 8 or rounded
  end
  local function norm(x, name) return nn.BatchNormalization { momentum = 0.999, name = name } (x) end
  local function relu(x, name) return nn.ReLU { 6, name = name } (x) end
  local function conv(x, filters, name) return nn.Conv2D { filters, 1, padding = "same", use_bias = false, name = name } (x) end
  local input = nn.Input(o.input_shape)
  local channels, height, across = width(32), (o.input_shape[1] + 1) // 2, (o.input_shape[2] + 1) // 2
  local x = nn.Conv2D { channels, 3, strides = 2, padding = "same", use_bias = false, name = "Conv1" } (input)
  x = relu(norm(x, "bn_Conv1"), "Conv1_relu")
  local number = 0
  for _, plan in ipairs { { 16, 1, 1 }, { 24, 2, 2 }, { 32, 2, 3 }, { 64, 2, 4 }, { 96, 1, 3 }, { 160, 2, 3 }, { 320, 1, 1 } } do
    for i = 1, plan[3] do
      local filters, strides, short = width(plan[1]), i == 1 and plan[2] or 1, x
      local name = number > 0 and ("block_%d_"):format(number) or "expanded_conv_"
      if number > 0 then x = relu(norm(conv(x, 6 * channels, name .. "expand"), name .. "expand_BN"), name .. "expand_relu") end
      if strides == 2 then
        x = nn.ZeroPadding2D { { { height % 2, 1 }, { across % 2, 1 } }, name = name .. "pad" } (x)
        height, across = (height + 1) // 2, (across + 1) // 2
      end
      x = nn.DepthwiseConv2D { 3, strides = strides, padding = strides == 1 and "same" or "valid", use_bias = false, name = name .. "depthwise" } (x)
      x = relu(norm(x, name .. "depthwise_BN"), name .. "depthwise_relu")
      x = norm(conv(x, filters, name .. "project"), name .. "project_BN")
      if strides == 1 and channels == filters then x = nn.Add { name = name .. "add" } { short, x } end
      channels, number = filters, number + 1
    end
  end
  x = relu(norm(conv(x, o.alpha > 1 and width(1280) or 1280, "Conv_1"), "Conv_1_bn"), "out_relu")
  if not o.include_top then return finish("MobileNetV2", o, input, headless(o, x)) end
  x = nn.GlobalAveragePooling2D { name = "global_average_pooling2d" } (x)
  return finish("MobileNetV2", o, input, nn.Dense { o.classes, activation = o.classifier_activation, name = "predictions" } (x))
end

-- Pictures of 0 to 255 as the networks were trained on them.
local function last_is_3(name, x)
  if #x.shape < 3 or x.shape[#x.shape] ~= 3 then error(name .. ": expects pictures (…, height, width, 3)", 3) end
end

applications.mobilenet = {
  -- Keras's mode "tf": from -1 to 1.
  preprocess_input = function(x) return x / 127.5 - 1 end,
}

applications.mobilenet_v2 = applications.mobilenet

applications.resnet50 = {
  -- Keras's mode "caffe": blue, green, red, less the means of ImageNet.
  preprocess_input = function(x)
    last_is_3("resnet50.preprocess_input", x)
    local pixels = x:cast "f32":reshape { -1, 3 }
    local parts = {}
    for i, mean in ipairs { 103.939, 116.779, 123.68 } do parts[i] = pixels:columns(3 - i, 4 - i) - mean end
    return nn.ops.concatenate(parts, 1):reshape(x.shape)
  end,
}

applications.torchvision = {
  -- Of torchvision's weights: (x/255 - mean)/std of ImageNet, channel by channel.
  preprocess_input = function(x)
    last_is_3("torchvision.preprocess_input", x)
    local tensor = (require "data").tensor
    return (x / 255 - tensor { 0.485, 0.456, 0.406 }) / tensor { 0.229, 0.224, 0.225 }
  end,
}

return nn
