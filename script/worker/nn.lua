-- SPDX-License-Identifier: MIT
-- The Lua part of the module `nn`: layers, optimizers and callbacks as plain objects with Keras's
-- names and defaults. `core` is the part in C (script/worker/model.c), which reads the objects'
-- fields.
local core = ...
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
      elseif not (type(value) == kind or math.type(value) == kind) then
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
  local fields = { learning_rate = "number", weight_decay = "number", clipnorm = "number", clipvalue = "number",
    global_clipnorm = "number", name = "string" }
  for field, kind in pairs(own) do fields[field] = kind end
  nn[name] = class(name, { "learning_rate" }, fields)
end
optimizer("SGD", { momentum = "number", nesterov = "boolean" })
optimizer("Adam", { beta_1 = "number", beta_2 = "number", epsilon = "number" })
optimizer("AdamW", { beta_1 = "number", beta_2 = "number", epsilon = "number" })
optimizer("RMSprop", { rho = "number", momentum = "number", epsilon = "number" })
optimizer("Adagrad", { initial_accumulator_value = "number", epsilon = "number" })

-- Losses with options; the others are told by their names. compile reads the field `loss`.
local function loss(name, text, own)
  nn[name] = class(name, {}, own, function(self) self.loss = text end)
end
loss("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy", { from_logits = "boolean" })
loss("CategoricalCrossentropy", "categorical_crossentropy", { from_logits = "boolean", label_smoothing = "number" })
loss("BinaryCrossentropy", "binary_crossentropy", { from_logits = "boolean", label_smoothing = "number" })
loss("Huber", "huber", { delta = "number" })

-- Callbacks. A callback is any table with some of Keras's methods on_train_begin, on_train_end,
-- on_epoch_begin, on_epoch_end, on_train_batch_begin, on_train_batch_end; fit sets self.model and self.params.

local function show(...)
  io.stdout:write(string.format(...))
end

-- Is `a` better than `b`? Decided as by Keras's mode "auto".
local function comparison(mode, monitor, owner)
  if mode == nil or mode == "auto" then mode = monitor:find("acc") and "max" or "min" end
  if mode == "max" then return function(a, b) return a > b end, -math.huge, 1 end
  if mode == "min" then return function(a, b) return a < b end, math.huge, -1 end
  error(("%s: mode must be auto, min or max, got '%s'"):format(owner, mode), 3)
end

local function monitored(owner, monitor, logs)
  local value = logs[monitor]
  if value == nil then
    error(("%s: there is no metric '%s' to monitor; this epoch has %s"):format(owner, monitor, known(logs)), 0)
  end
  return value
end

-- Keras's patterns for file names: "weights.{epoch:02d}-{val_loss:.2f}.safetensors".
local function expand(path, epoch, logs)
  return (path:gsub("{([%w_]+):?([^}]*)}", function(name, format)
    local value = name == "epoch" and epoch or logs[name]
    if value == nil then
      error(("ModelCheckpoint: '%s' in the file's name is no metric; this epoch has %s"):format(name, known(logs)), 0)
    end
    return format == "" and tostring(value) or ("%" .. format):format(value)
  end))
end

nn.ModelCheckpoint = class("ModelCheckpoint", { "filepath" }, {
  filepath = "string", monitor = "string", verbose = "integer", save_best_only = "boolean",
  save_weights_only = "boolean", mode = "string",
}, function(self)
  if not self.filepath then return 'which file? nn.ModelCheckpoint { "checkpoint.safetensors" }' end
  self.monitor = self.monitor or "val_loss"
  self.verbose = self.verbose or 0
end)

function nn.ModelCheckpoint:on_train_begin()
  self.better, self.best = comparison(self.mode, self.monitor, "ModelCheckpoint")
end

function nn.ModelCheckpoint:on_epoch_end(epoch, logs)
  local path = expand(self.filepath, epoch + 1, logs)
  local options = { include_optimizer = not self.save_weights_only }
  if not self.save_best_only then
    if self.verbose > 0 then show("\nEpoch %d: saving model to %s\n", epoch + 1, path) end
    self.model:save(path, options)
    return
  end
  local value = monitored("ModelCheckpoint", self.monitor, logs)
  if self.better(value, self.best) then
    if self.verbose > 0 then
      show("\nEpoch %d: %s improved from %.5f to %.5f, saving model to %s\n", epoch + 1, self.monitor, self.best, value, path)
    end
    self.best = value
    self.model:save(path, options)
  elseif self.verbose > 0 then
    show("\nEpoch %d: %s did not improve from %.5f\n", epoch + 1, self.monitor, self.best)
  end
end

nn.EarlyStopping = class("EarlyStopping", { "monitor" }, {
  monitor = "string", min_delta = "number", patience = "integer", verbose = "integer", mode = "string",
  baseline = "number", restore_best_weights = "boolean",
}, function(self)
  self.monitor = self.monitor or "val_loss"
  self.patience = self.patience or 0
  self.verbose = self.verbose or 0
end)

function nn.EarlyStopping:on_train_begin()
  local worst, sign
  self.better, worst, sign = comparison(self.mode, self.monitor, "EarlyStopping")
  self.delta = math.abs(self.min_delta or 0) * sign
  self.best, self.wait, self.stopped_epoch, self.weights = self.baseline or worst, 0, 0, nil
end

function nn.EarlyStopping:on_epoch_end(epoch, logs)
  local value = monitored("EarlyStopping", self.monitor, logs)
  if self.restore_best_weights and not self.weights then self.weights = self.model:get_weights() end
  self.wait = self.wait + 1
  if self.better(value - self.delta, self.best) then
    self.best, self.wait = value, 0
    if self.restore_best_weights then self.weights = self.model:get_weights() end
    return
  end
  if self.wait >= self.patience and epoch > 0 then
    self.stopped_epoch = epoch
    self.model.stop_training = true
    if self.weights then self.model:set_weights(self.weights) end
  end
end

function nn.EarlyStopping:on_train_end()
  if self.stopped_epoch > 0 and self.verbose > 0 then
    show("Epoch %d: early stopping\n", self.stopped_epoch + 1)
  end
end

-- nn.LambdaCallback { on_epoch_end = function(epoch, logs) … end }: like Keras's, without self.
local lambda_fields = {}
for _, name in ipairs { "train_begin", "train_end", "epoch_begin", "epoch_end", "train_batch_begin", "train_batch_end" } do
  lambda_fields["on_" .. name] = "function"
end
local Lambda = class("LambdaCallback", {}, lambda_fields)
nn.LambdaCallback = function(given)
  local callback = {}
  for name, fn in pairs(Lambda(given)) do
    callback[name] = function(_, ...) return fn(...) end
  end
  return callback
end

function nn.read_checkpoint(path)
  local file, problem = io.open(path, "rb")
  if not file then error("cannot read the checkpoint " .. problem, 2) end
  local bytes = file:read("a")
  file:close()
  return bytes
end

return nn
