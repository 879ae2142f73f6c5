-- SPDX-License-Identifier: MIT
-- The metrics of the module `nn` as objects, with Keras's names and options. The formulas are in trainer/nn/rule/metric.h and
-- trainer/watch.h. compile reads an object's class; the field `metric` of those that are told by a name, too.
local nn, class, known, core = ...

local function metric(name, check)
  nn[name] = core.own_class(name, function(self, default)
    if self.dtype and self.dtype ~= "float32" then return ('dtype must be "float32", got "%s"'):format(self.dtype) end
    return check and check(self, default)
  end)
end

metric("AUC", function(self, default)
  self.curve = self.curve or default.curve
  if self.num_thresholds and self.num_thresholds < 2 then return ("num_thresholds must be 2 or more, got %d"):format(self.num_thresholds) end
  if self.curve ~= "ROC" and self.curve ~= "PR" then return ("curve must be ROC or PR, got '%s'"):format(self.curve) end
end)

for _, name in ipairs { "TopKCategoricalAccuracy", "SparseTopKCategoricalAccuracy" } do
  metric(name, function(self, default)
    self.k, self.name = self.k or default.k, self.name or default.name
    if self.k < 1 then return ("k must be 1 or more, got %d"):format(self.k) end
  end)
end

-- Keras's thresholds may be a list, which gives a list of values; a log here is one number.
local function one_threshold(self)
  local given = self.thresholds
  if type(given) == "table" and #given == 1 then given = given[1] end
  if given ~= nil and type(given) ~= "number" then
    return "thresholds must be one number: for several give as many metrics, each with a name of its own"
  end
  if given and not (given >= 0 and given <= 1) then return ("thresholds must be from 0 to 1, got %s"):format(given) end
  self.thresholds = given
end
for _, name in ipairs { "Precision", "Recall" } do
  metric(name, function(self)
    if self.top_k and self.top_k < 1 then return ("top_k must be 1 or more, got %d"):format(self.top_k) end
    if self.class_id and self.class_id < 0 then return ("class_id must be 0 or more, got %d"):format(self.class_id) end
    return one_threshold(self)
  end)
end
for _, name in ipairs { "TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives" } do
  metric(name, one_threshold)
end

local averages = { micro = true, macro = true, weighted = true }
local function check_score(self)
  if self.average and not averages[self.average] then return ('average must be "macro", "micro" or "weighted", got "%s"'):format(self.average) end
  if self.threshold and not (self.threshold > 0 and self.threshold <= 1) then return ("threshold must be greater than 0 and at most 1, got %s"):format(self.threshold) end
  if self.beta and not (self.beta > 0 and self.beta < math.huge) then return ("beta must be greater than 0, got %s"):format(self.beta) end
end
metric("F1Score", check_score)
metric("FBetaScore", check_score)

-- Those that are told by a name, too; some that are losses as well are in nn.lua.
for _, name in ipairs { "RootMeanSquaredError", "CategoricalAccuracy", "SparseCategoricalAccuracy" } do
  metric(name, function(self, default) self.metric = default.name end)
end
metric("BinaryAccuracy", function(self, default)
  self.metric = default.name
  if self.threshold and not (math.abs(self.threshold) < math.huge) then return ("threshold must be a finite number, got %s"):format(self.threshold) end
end)

-- The class of each row: numbers are classes, several numbers a row are the greatest of them.
local function classes_of(what, t)
  if type(t) ~= "userdata" then error(("confusion_matrix: %s must be a tensor, got a %s"):format(what, type(t)), 3) end
  local shape = t.shape
  if #shape == 2 and shape[2] > 1 then t = t:argmax(1) elseif #shape == 2 then t = t:reshape { -1 } end
  if #t.shape ~= 1 then error(("confusion_matrix: %s has %d dimensions; it must have one or two"):format(what, #shape), 3) end
  local list = t:totable()
  for i, n in ipairs(list) do
    list[i] = math.tointeger(n)
    if not list[i] or list[i] < 0 then
      error(("confusion_matrix: row %d of %s is %s, which is no class; of one output a row write p:greater(0.5)"):format(i - 1, what, n), 3)
    end
  end
  return list
end

-- nn.confusion_matrix(y_true, y_pred, { num_classes = }): how many rows of class i were taken for class j, at [i + 1][j + 1].
-- Each has class numbers, or a row of several numbers, whose greatest counts.
function nn.confusion_matrix(y_true, y_pred, options)
  for key in pairs(options or {}) do
    if key ~= "num_classes" then error(("confusion_matrix: unknown option '%s'; known are num_classes"):format(tostring(key)), 2) end
  end
  local y, p = classes_of("y_true", y_true), classes_of("y_pred", y_pred)
  if #y ~= #p then error(("confusion_matrix: y_true has %d rows, y_pred %d"):format(#y, #p), 2) end
  local most = options and options.num_classes or 0
  for i = 1, #y do
    local class_number = math.max(y[i], p[i])
    if options and options.num_classes and class_number >= most then
      error(("confusion_matrix: row %d has class %d of %d classes"):format(i - 1, class_number, most), 2)
    end
    most = math.max(most, class_number + 1)
  end
  if most < 1 or most > 10000 then error(("confusion_matrix: expects 1 to 10000 classes, got %d"):format(most), 2) end
  local counts = {}
  for i = 1, most do
    counts[i] = {}
    for j = 1, most do counts[i][j] = 0 end
  end
  for i = 1, #y do counts[y[i] + 1][p[i] + 1] = counts[y[i] + 1][p[i] + 1] + 1 end
  return require "data".tensor(counts, { dtype = "i64" })
end

return nn, class, known, core
