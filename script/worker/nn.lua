-- SPDX-License-Identifier: MIT
-- The Lua part of the module `nn`: layers, optimizers and losses as plain objects with Keras's
-- names and defaults; callbacks.lua adds the callbacks. `core` is the part in C (script/worker/model.c), which reads the objects'
-- fields.
local core, inner = ...
local nn = core

local function known(allowed)
  local names = {}
  for name in pairs(allowed) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

-- A class whose objects are made by a call with a table: `order` names the positional items,
-- `fields` gives the types by name. The class is the metatable, so objects can be sent to ranks
-- with its name.
local function class(name, order, fields, check)
  local new = { class = name }
  new.__index = new
  new.__name = name
  return setmetatable(new, { __call = function(_, given)
    if given == nil then given = {} end
    if type(given) ~= "table" then given = { given } end
    local object = {}
    for key, value in pairs(given) do
      local positional = math.type(key) == "integer"
      local field = positional and (order[key] or order.rest) or key
      local kind = fields[field]
      if not kind then
        error(("%s: unknown option '%s'; known are %s"):format(name, tostring(key), known(fields)), 2)
      end
      if positional and field == order.rest then
        object[field] = object[field] or {}
        object[field][key] = value
      elseif kind == "rate" then
        if type(value) ~= "number" and not nn.optimizers.schedules[(getmetatable(value) or {}).class] then
          error(("%s: %s must be a number or a schedule, as nn.CosineDecay { 0.1, 1000 }"):format(name, field), 2)
        end
        object[field] = value
      elseif not (kind == "any" or type(value) == kind or math.type(value) == kind) then
        error(("%s: %s must be %s %s, got %s"):format(name, field, kind == "integer" and "an" or "a", kind, tostring(value)), 2)
      else
        object[field] = value
      end
    end
    object = setmetatable(object, new)
    if check then
      local problem = check(object)
      if problem then error(name .. ": " .. problem, 2) end
    end
    return object
  end })
end

nn.Flatten = class("Flatten", { rest = "input_shape" }, { input_shape = "table", name = "string" })
nn.Dense = class("Dense", { "units" }, {
  units = "integer", activation = "string", use_bias = "boolean", input_shape = "table", input_dim = "integer",
  name = "string",
}, function(dense)
  if not dense.units then return "how many units? nn.Dense { 128 }" end
  if dense.units < 1 then return ("units must be positive, got %d"):format(dense.units) end
end)
nn.Dropout = class("Dropout", { "rate" }, { rate = "number", name = "string" }, function(dropout)
  if not dropout.rate then return "which rate? nn.Dropout { 0.2 }" end
end)

-- Options that every optimizer has, and some of its own.
local function optimizer(name, own)
  local fields = { learning_rate = "rate", weight_decay = "number", clipnorm = "number", clipvalue = "number",
    global_clipnorm = "number", name = "string" }
  for field, kind in pairs(own) do fields[field] = kind end
  nn[name] = class(name, { "learning_rate" }, fields)
end
optimizer("SGD", { momentum = "number", nesterov = "boolean" })
optimizer("Adam", { beta_1 = "number", beta_2 = "number", epsilon = "number" })
optimizer("AdamW", { beta_1 = "number", beta_2 = "number", epsilon = "number" })
optimizer("RMSprop", { rho = "number", momentum = "number", epsilon = "number" })
optimizer("Adagrad", { initial_accumulator_value = "number", epsilon = "number" })

-- Learning rates that follow the steps, by Keras's names; the formulas are in trainer/nn/schedule.h.
nn.optimizers = { schedules = {}, SGD = nn.SGD, Adam = nn.Adam, AdamW = nn.AdamW, RMSprop = nn.RMSprop, Adagrad = nn.Adagrad }
local function schedule(name, order, own)
  local fields = { name = "string" }
  for _, field in ipairs(order) do fields[field] = "number" end
  for field, kind in pairs(own or {}) do fields[field] = kind end
  nn[name] = class(name, order, fields, function(self)
    for i = 1, 2 do
      if not self[order[i]] then return ("which %s? nn.%s { %s, %s, … }"):format(order[i], name, order[1], order[2]) end
    end
  end)
  nn.optimizers.schedules[name] = nn[name]
end
schedule("ExponentialDecay", { "initial_learning_rate", "decay_steps", "decay_rate" }, { staircase = "boolean" })
schedule("InverseTimeDecay", { "initial_learning_rate", "decay_steps", "decay_rate" }, { staircase = "boolean" })
schedule("PolynomialDecay", { "initial_learning_rate", "decay_steps", "end_learning_rate", "power" }, { cycle = "boolean" })
schedule("CosineDecay", { "initial_learning_rate", "decay_steps", "alpha", "warmup_target", "warmup_steps" })
schedule("CosineDecayRestarts", { "initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha" })
schedule("PiecewiseConstantDecay", { "boundaries", "values" }, { boundaries = "table", values = "table" })

-- Losses with options; the others are told by their names. compile reads the field `loss`.
local function loss(name, text, own)
  nn[name] = class(name, {}, own, function(self) self.loss = text end)
end
loss("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy", { from_logits = "boolean" })
loss("CategoricalCrossentropy", "categorical_crossentropy", { from_logits = "boolean", label_smoothing = "number" })
loss("BinaryCrossentropy", "binary_crossentropy", { from_logits = "boolean", label_smoothing = "number" })
loss("Huber", "huber", { delta = "number" })

-- A metric with options; the others are told by their names, or are functions: metrics =
-- { "accuracy", nn.AUC {}, far = function(y_true, y_pred) … end }.
nn.AUC = class("AUC", {}, {
  num_thresholds = "integer", curve = "string", from_logits = "boolean", name = "string",
}, function(self)
  self.curve = self.curve or "ROC"
  if self.curve ~= "ROC" and self.curve ~= "PR" then return ("curve must be ROC or PR, got '%s'"):format(self.curve) end
end)

function nn.read_checkpoint(path)
  local file, problem = io.open(path, "rb")
  if not file then error("cannot read the checkpoint " .. problem, 2) end
  local bytes = file:read("a")
  file:close()
  return bytes
end

return nn, class, known, inner
