-- SPDX-License-Identifier: MIT
-- Metrics as objects and by name, beside Keras 3.15's values; what nn.Input takes; Normalization of columns and adapt; a fit of
-- no epochs. firesteel-worker runs it.
local nn, data = require "nn", require "data"

local cases = require "cases"
local test, same, near, fails = cases.test, cases.same, cases.near, cases.fails

local y = data.tensor { { 0, 1 }, { 1, 0 }, { 1, 1 }, { 0, 0 }, { 1, 0 }, { 0, 1 } }
local p = data.tensor { { .2, .7 }, { .6, .5 }, { .4, .9 }, { .8, .1 }, { .5, .5 }, { .3, .35 } }

-- A model that puts out its input, so that metrics see p.
local function same_model(metrics, width)
  width = width or 2
  local model = nn.Sequential { nn.Input { width }, nn.Activation { "linear" }, nn.Dense { width, use_bias = false, kernel_initializer = "identity" } }
  model:compile { loss = "mse", metrics = metrics, optimizer = nn.SGD { 0 } }
  return model
end
local function measured(metric, targets, outputs)
  local logs = same_model({ metric }, (outputs or p).shape[2]):evaluate { outputs or p, targets or y, batch_size = 4, verbose = 0, return_dict = true }
  for name, value in pairs(logs) do if name ~= "loss" then return value, name end end
end

test("precision, recall, F scores and counts are Keras's", function()
  local list = {
    { nn.Precision {}, 0.75, "precision" }, { nn.Precision { thresholds = 0.3 }, 0.6666666865348816 }, { nn.Precision { { 0.3 } }, 0.6666666865348816 },
    { nn.Recall { thresholds = 0.3 }, 1.0, "recall" }, { nn.Precision { class_id = 1 }, 1.0 }, { nn.Precision { top_k = 1 }, 0.8333333134651184 },
    { nn.Recall { top_k = 1, name = "r1" }, 0.8333333134651184, "r1" }, { nn.Precision { top_k = 1, thresholds = 0.65 }, 0.6666666865348816 },
    { nn.TruePositives {}, 3, "true_positives" }, { nn.FalsePositives { thresholds = 0.3 }, 3, "false_positives" },
    { nn.TrueNegatives {}, 5, "true_negatives" }, { nn.FalseNegatives {}, 3, "false_negatives" },
    { nn.BinaryAccuracy { threshold = 0.35 }, 0.6666666865348816, "binary_accuracy" }, { nn.BinaryAccuracy { threshold = 0.35, name = "b" }, 0.6666666865348816, "b" },
    { nn.F1Score { average = "macro" }, 0.7619047164916992, "f1_score" }, { nn.F1Score { average = "micro", threshold = 0.4 }, 0.615384578704834 },
    { nn.F1Score { average = "weighted" }, 0.7619047164916992 }, { nn.FBetaScore { average = "macro", beta = 2, threshold = 0.3 }, 0.9099264740943909, "fbeta_score" },
    { "precision", 0.75, "precision" }, { "Recall", 0.5, "Recall" }, { "true_positives", 3, "true_positives" },
  }
  for i, case in ipairs(list) do
    local value, name = measured(case[1])
    near(value, case[2], 1e-6, "metric " .. i)
    if case[3] then same(name, case[3]) end
  end
end)

test("metrics in a training: of each epoch, of validation, by a name of their own", function()
  local model = same_model { "accuracy", nn.Precision {}, nn.Recall { name = "r" }, nn.MeanAbsoluteError { name = "far" }, nn.BinaryAccuracy { name = "half" }, nn.CategoricalAccuracy { name = "hit" } }
  local h = model:fit { p, y, epochs = 2, verbose = 0, validation_data = { p, y } }.history
  for _, name in ipairs { "precision", "r", "far", "half", "hit", "val_precision", "val_r", "val_far" } do same(#h[name], 2, name) end
  near(h.val_precision[1], 0.75, 1e-6)
  near(h.val_far[1], (p - y):abs():mean(), 1e-6)
  near(h.hit[1], h.accuracy[1], 1e-12)
  near(h.half[1], measured(nn.BinaryAccuracy {}), 1e-12)
end)

test("what a metric cannot do says what to write", function()
  local classes = data.tensor({ 0, 1, 1 }, "i64")
  local three = data.tensor { { .2, .5, .3 }, { .1, .8, .1 }, { .3, .3, .4 } }
  local function fit(metric, loss, out, targets)
    local model = nn.Sequential { nn.Dense { out, activation = out == 1 and "sigmoid" or "softmax", input_dim = 3 } }
    model:compile { loss = loss, metrics = { metric } }
    model:fit { three, targets, verbose = 0 }
  end
  fails("Precision needs a target for each output: the outputs have shape (3, 3), the targets (3,); of class numbers nn.confusion_matrix(y, model:predict(x))",
    fit, nn.Precision {}, "sparse_categorical_crossentropy", 3, classes)
  fails("write nn.F1Score { threshold = 0.5 }", fit, nn.F1Score {}, "binary_crossentropy", 1, classes)
  fails("which average of the 2 classes? nn.F1Score { average = \"macro\" }", measured, nn.F1Score {})
  fails("Precision: class_id 2 is none of the 2 outputs", measured, nn.Precision { class_id = 2 })
  fails("the output 1.3 is no probability: Recall takes outputs from 0 to 1", measured, nn.Recall {}, y, p + 0.6)
  fails("Precision: thresholds must be one number", nn.Precision, { thresholds = { 0.1, 0.5 } })
  fails("unknown option 'treshold'; did you mean threshold?", nn.BinaryAccuracy, { treshold = 0.5 })
  fails("BinaryAccuracy: threshold must be a finite number, got inf", nn.BinaryAccuracy, { threshold = math.huge })
  fails("F1Score: threshold must be greater than 0 and at most 1, got 2", nn.F1Score, { threshold = 2 })
  fails("known are dtype, name, threshold", nn.BinaryAccuracy, { x = 0.5 })
  fails("unknown metric 'precisoin'", measured, "precisoin")
  fails("true_positives, false_positives", measured, "precisoin")
end)

test("no list of known options is empty", function()
  for _, name in ipairs { "Zeros", "Ones" } do
    fails(name .. " takes no options, got 'x'", nn.initializers[name], { x = 1 })
  end
  for name, value in pairs(nn) do
    local made, why
    if type(value) == "table" and getmetatable(value) and getmetatable(value).__call then made, why = pcall(value, { no_such_option = 1 }) end
    if made == false then assert(not why:find "known are *$" and not why:find "known are: *$", name .. ": " .. why) end
  end
end)

test("a confusion matrix", function()
  local m = nn.confusion_matrix(data.tensor({ 0, 1, 2, 2, 1 }, "i64"), data.tensor({ 0, 2, 2, 2, 1 }, "i64"))
  same(tostring(m), tostring(data.tensor({ { 1, 0, 0 }, { 0, 1, 1 }, { 0, 0, 2 } }, "i64")))
  local of_rows = nn.confusion_matrix(data.tensor { { 0, 1, 0 }, { 1, 0, 0 } }, data.tensor { { .1, .2, .7 }, { .5, .2, .3 } }, { num_classes = 4 })
  same(of_rows.shape[1], 4)
  same(of_rows:totable()[2][3], 1)
  local binary = nn.confusion_matrix(data.tensor { 0, 1, 1 }, data.tensor { { .4 }, { .6 }, { .2 } }:greater(0.5))
  same(binary:totable()[2][1], 1)
  fails("row 0 of y_pred is 0.4", nn.confusion_matrix, data.tensor { 0 }, data.tensor { { 0.4 } })
  fails("write p:greater(0.5)", nn.confusion_matrix, data.tensor { 0 }, data.tensor { { 0.4 } })
  fails("y_true has 1 rows, y_pred 2", nn.confusion_matrix, data.tensor { 0 }, data.tensor { 0, 1 })
  fails("row 0 has class 3 of 2 classes", nn.confusion_matrix, data.tensor { 3 }, data.tensor { 0 }, { num_classes = 2 })
  fails("unknown option 'classes'", nn.confusion_matrix, data.tensor { 3 }, data.tensor { 0 }, { classes = 2 })
end)

test("Input takes what Keras's takes", function()
  for _, options in ipairs { { 3, dtype = "int32" }, { 3, dtype = "int64" }, { 3, dtype = "float32" }, { 3, dtype = "bool" }, { shape = { 3 } }, { shape = 3 }, { { 3 } },
    { 3, batch_size = 32 }, { batch_shape = { nil, 3 } }, { batch_shape = { 8, 3 }, name = "given" }, { 3, trainable = false }, { input_shape = { 3 } } } do
    local node = nn.Input(options)
    local model = nn.Model { inputs = node, outputs = nn.Dense { 2 } (node) }
    same(model:predict(data.tensor { { 1, 2, 3 } }).shape[2], 2)
    same(nn.Sequential { node, nn.Dense { 1 } }:predict(data.tensor { { 1, 2, 3 } }).shape[2], 1)
  end
  local a, b = nn.Input { 1, dtype = "int32" }, nn.Input { 1 }
  local h = nn.Concatenate {} { nn.Flatten {} (nn.Embedding { 7, 4 } (a)), b }
  local model = nn.Model { inputs = { a, b }, outputs = nn.Dense { 1 } (h) }
  same(model:predict({ data.tensor({ { 3 } }, "i32"), data.tensor { { 1 } } }).shape[1], 1)
  fails('Input: dtype must be "float32" or one of whole numbers, as "int32", got "float16"', nn.Input, { 3, dtype = "float16" })
  fails("unknown option 'sparse': leave it out", nn.Input, { 3, sparse = true })
  fails("item 1 of the shape is nil", nn.Input, { nil, 3 })
  fails("pad rows of several lengths", nn.Input, { -1, 3 })
  fails("unknown option 'shpe'; did you mean shape?", nn.Input, { shpe = { 3 } })
  fails("shape and batch_shape are both given", nn.Input, { 3, batch_shape = { nil, 3 } })
  fails("which shape? nn.Input { 28, 28 }", nn.Input, {})
  fails("batch_size must be positive", nn.Input, { 3, batch_size = 0 })
end)

local columns = data.tensor { { 1, 10, 5 }, { 3, 10, -5 }, { 8, 10, 1 } }
test("Normalization of columns, by adapt as Keras's", function()
  local function outputs(norm)
    return nn.Sequential { nn.Input { 3 }, norm, nn.Dense { 3, use_bias = false, kernel_initializer = "identity" } }:predict(columns):totable()
  end
  local norm = nn.Normalization {}
  norm:adapt(columns)
  local got = outputs(norm)
  for i, row in ipairs { { -1.0190493, 0, 1.13555 }, { -0.3396831, 0, -1.2977715 }, { 1.3587323, 0, 0.16222142 } } do
    for j, want in ipairs(row) do near(got[i][j], want, 1e-6) end
  end
  local one = nn.Normalization { axis = false }
  one:adapt(columns)
  near(outputs(one)[2][3], -1.9796535, 1e-6)
  local back = nn.Normalization { invert = true }
  back:adapt(columns)
  near(outputs(back)[3][1], 27.551363, 1e-5)
  near(outputs(back)[2][3], -20.214712, 1e-5)
  local mean, variance, row = {}, {}, {}
  for i = 1, 300 do mean[i], variance[i], row[i] = i, i * i, 3.0 * i end
  local wide = nn.Sequential { nn.Input { 300 }, nn.Normalization { mean = mean, variance = variance }, nn.Dense { 1, kernel_initializer = "ones" } }
  near(wide:predict(data.tensor { row }):sum(), 600, 1e-3)
end)

test("a Normalization travels with its model", function()
  local norm = nn.Normalization {}
  norm:adapt(columns)
  local model = nn.Sequential { nn.Input { 3 }, norm, nn.Dense { 2 } }
  local path = os.tmpname()
  os.remove(path)
  path = path .. ".safetensors"
  model:save(path)
  local again = nn.load(path)
  os.remove(path)
  same((again:predict(columns) - model:predict(columns)):abs():max(), 0.0)
  fails("a model was made of the layer already", norm.adapt, norm, columns)
  fails("Normalization: it has no mean and variance: call normalization:adapt(x)", nn.Sequential, { nn.Input { 3 }, nn.Normalization {} })
  fails("has 2 means, its input has 3 channels", nn.Sequential, { nn.Input { 3 }, nn.Normalization { mean = { 1, 2 }, variance = { 1, 2 } } })
  fails("column 2 has nan or infinity", norm.adapt, nn.Normalization {}, data.tensor { { 1, 0 / 0 } })
  fails("expects a tensor, got a table", norm.adapt, nn.Normalization {}, { 1 })
  fails("1 to 65536 numbers each", nn.Normalization, { mean = {}, variance = {} })
  fails("axis must be -1", nn.Normalization, { axis = 1 })
end)

test("a fit of no epochs has an empty history", function()
  local model, called = same_model { "mae" }, {}
  local h = model:fit { p, y, epochs = 0, verbose = 0, callbacks = { { on_train_begin = function() called[1] = true end, on_epoch_begin = function() called[2] = true end } } }
  same(next(h.history), nil)
  same(#h.epoch, 0)
  same(called[1], true)
  same(called[2], nil)
  fails("'epochs' must be at least 0, got -1", function() model:fit { p, y, epochs = -1, verbose = 0 } end)
  fails("x has 6 rows, but y has 3", function() model:fit { p, y:slice(0, 3), epochs = 0, verbose = 0 } end)
end)

cases.run()
