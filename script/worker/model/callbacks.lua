-- SPDX-License-Identifier: MIT
-- The callbacks of the module `nn`, with Keras's names, defaults and messages
-- (keras/src/callbacks). script/api/trainer/workerclasses.lua declares their options, and their formulas; nn.lua gives the module and what
-- it makes classes with. A log that "is better" is greater or less by its name, or by `mode`.
local nn, _, known, core = ...

-- Callbacks. A callback is any table with some of Keras's methods on_train_begin, on_train_end,
-- on_epoch_begin, on_epoch_end, on_train_batch_begin, on_train_batch_end; fit sets self.model and self.params.

local function show(...)
  io.stdout:write(string.format(...))
end

-- The direction of a log by its name: those of Keras and of this module; nil for others.
local function direction(monitor)
  local name = monitor:lower()
  for _, more in ipairs { "acc", "auc", "precision", "recall", "f1_score", "fbeta_score", "true_positives", "true_negatives" } do
    if name:find(more, 1, true) then return "max" end
  end
  for _, less in ipairs { "loss", "error", "mse", "mae", "mape", "rmse", "rmspe", "false_positives", "false_negatives" } do
    if name:sub(-#less) == less then return "min" end
  end
end

-- Is `a` better than `b`? Decided as by Keras's mode "auto".
local function comparison(mode, monitor, owner)
  if mode == nil or mode == "auto" then
    mode = direction(monitor)
      or error(("%s: could not infer whether '%s' is to be maximised or minimised: give mode = \"max\" or \"min\""):format(owner, monitor), 0)
  end
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

-- Objects whose option `field` is "epoch" have no on_train_batch_end: fit makes each batch's logs only for who wants them.
local function only_epochs(new, field)
  function new.__index(object, name)
    if name == "on_train_batch_end" and rawget(object, field) == "epoch" then return nil end
    return new[name]
  end
end

-- Keras's patterns for file names: "weights.{epoch:02d}-{val_loss:.2f}.safetensors". Batch: nil after an epoch.
local function expand(path, epoch, batch, logs)
  local numbers = { epoch = epoch, batch = batch }
  return (path:gsub("{([%w_]+):?([^}]*)}", function(name, format)
    local value = numbers[name] or logs[name]
    if value == nil then
      error(("ModelCheckpoint: '%s' in the file's name is no metric; this epoch has %s"):format(name, known(logs)), 0)
    end
    return format == "" and tostring(value) or ("%" .. format):format(value)
  end))
end

nn.ModelCheckpoint = core.own_class("ModelCheckpoint", function(self, default)
  if not self.filepath then return 'which file? nn.ModelCheckpoint { "checkpoint.safetensors" }' end
  local wrong = core.blame_name(self.filepath)
  if wrong then return wrong end
  self.monitor = self.monitor or default.monitor
  self.verbose = self.verbose or default.verbose
  self.save_freq = self.save_freq or default.save_freq
  if self.save_freq ~= "epoch" and not (math.type(self.save_freq) == "integer" and self.save_freq > 0) then
    return ('save_freq must be "epoch" or a number of batches, got %s'):format(tostring(self.save_freq))
  end
  if self.save_best_only and self.save_freq ~= "epoch" and self.monitor:find "^val_" then
    return ('after a number of batches (save_freq = %d) there is no %s yet: give monitor a log of batches, as "loss"'):format(self.save_freq, self.monitor)
  end
end, { filepath = "string" })
only_epochs(nn.ModelCheckpoint, "save_freq")

-- The best so far is that of all trainings with this object: a worse one does not replace its file.
function nn.ModelCheckpoint:on_train_begin()
  self.batches = self.batches or 0
  if self.save_best_only then
    local worst
    self.better, worst = comparison(self.mode, self.monitor, "ModelCheckpoint")
    self.best = self.best or self.initial_value_threshold or worst
  end
end

local function save_checkpoint(self, epoch, batch, logs)
  local path = expand(self.filepath, epoch + 1, batch and batch + 1, logs)
  local options = not path:find "%.onnx$" and { include_optimizer = not self.save_weights_only } or nil
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

function nn.ModelCheckpoint:on_epoch_begin(epoch)
  self.epoch = epoch
end

function nn.ModelCheckpoint:on_train_batch_end(batch, logs)
  self.batches = self.batches + 1
  if self.batches % self.save_freq == 0 then save_checkpoint(self, self.epoch, batch, logs) end
end

function nn.ModelCheckpoint:on_epoch_end(epoch, logs)
  if self.save_freq == "epoch" then save_checkpoint(self, epoch, nil, logs) end
end

nn.EarlyStopping = core.own_class("EarlyStopping", function(self, default)
  self.monitor = self.monitor or default.monitor
  self.patience = self.patience or default.patience
  self.verbose = self.verbose or default.verbose
end)

function nn.EarlyStopping:on_train_begin()
  local sign
  self.better, self.best, sign = comparison(self.mode, self.monitor, "EarlyStopping")
  self.delta = math.abs(self.min_delta or 0) * sign
  self.wait, self.stopped_epoch, self.best_epoch, self.weights = 0, 0, 0, nil
end

function nn.EarlyStopping:on_epoch_end(epoch, logs)
  if epoch < (self.start_from_epoch or 0) then return end
  local value = monitored("EarlyStopping", self.monitor, logs)
  local better = self.better(value - self.delta, self.best)
  if better or not self.weights then
    self.best_epoch, self.weights = epoch, self.restore_best_weights and self.model:get_weights() or nil
  end
  self.wait = self.wait + 1
  if better then
    self.best = value
    -- The patience starts again only at what beats the baseline, too.
    if not self.baseline or self.better(value - self.delta, self.baseline) then self.wait = 0 end
    return
  end
  if self.wait >= self.patience and epoch > 0 then
    self.stopped_epoch = epoch
    self.model.stop_training = true
  end
end

function nn.EarlyStopping:on_train_end()
  if self.stopped_epoch > 0 and self.verbose > 0 then
    show("Epoch %d: early stopping\n", self.stopped_epoch + 1)
  end
  if self.weights then
    if self.verbose > 0 then show("Restoring model weights from the end of the best epoch: %d.\n", self.best_epoch + 1) end
    self.model:set_weights(self.weights)
    self.weights = nil
  end
end

-- nn.LambdaCallback { on_epoch_end = function(epoch, logs) … end }: like Keras's, without self.
local Lambda = core.own_class("LambdaCallback")
nn.LambdaCallback = function(given)
  local callback = {}
  for name, fn in pairs(Lambda(given)) do
    callback[name] = function(_, ...) return fn(...) end
  end
  return callback
end

nn.TerminateOnNaN = core.own_class("TerminateOnNaN")

function nn.TerminateOnNaN:on_train_batch_end(batch, logs)
  local loss = logs.loss
  if loss ~= loss or loss == math.huge or loss == -math.huge then
    show("Batch %d: Invalid loss, terminating training\n", batch)
    self.model.stop_training = true
  end
end
core.looks_not(nn.TerminateOnNaN.on_train_batch_end, true) -- but may end the training

-- The shortest decimal that is read as the same number.
local function exact(value)
  local short = ("%.15g"):format(value)
  return tonumber(short) == value and short or ("%.17g"):format(value)
end

nn.CSVLogger = core.own_class("CSVLogger", function(self, default)
  if not self.filename then return 'which file? nn.CSVLogger { "training.csv" }' end
  self.separator = self.separator or default.separator
end, { filename = "string" })

function nn.CSVLogger:on_train_begin()
  local old = self.append and io.open(self.filename, "rb")
  self.columns, self.has_header = nil, old and old:read(1) ~= nil
  if old then old:close() end
  self.started = self.has_header
end

-- The file is opened for each line, so that it is complete after each epoch.
function nn.CSVLogger:on_epoch_end(epoch, logs)
  if not self.columns then
    self.columns = {}
    for name in pairs(logs) do self.columns[#self.columns + 1] = name end
    table.sort(self.columns)
  end
  local file, problem = io.open(self.filename, self.started and "ab" or "wb")
  if not file then error("CSVLogger: " .. problem, 0) end
  self.started = true
  if not self.has_header then
    file:write("epoch", self.separator, table.concat(self.columns, self.separator), "\n")
    self.has_header = true
  end
  local line = { ("%d"):format(epoch) }
  for _, name in ipairs(self.columns) do line[#line + 1] = logs[name] and exact(logs[name]) or "NA" end
  file:write(table.concat(line, self.separator), "\n")
  assert(file:close())
end

nn.ReduceLROnPlateau = core.own_class("ReduceLROnPlateau", function(self, default)
  self.monitor = self.monitor or default.monitor
  self.factor = self.factor or default.factor
  self.patience = self.patience or default.patience
  self.verbose = self.verbose or default.verbose
  self.min_delta = self.min_delta or default.min_delta
  self.cooldown = self.cooldown or default.cooldown
  self.min_lr = self.min_lr or default.min_lr
  if self.factor >= 1 then return "does not support a factor >= 1.0" end
end)

function nn.ReduceLROnPlateau:on_train_begin()
  local sign
  self.better, self.best, sign = comparison(self.mode, self.monitor, "ReduceLROnPlateau")
  self.delta = self.min_delta * sign
  self.cooldown_counter, self.wait = 0, 0
end

function nn.ReduceLROnPlateau:on_epoch_end(epoch, logs)
  local model, value = self.model, monitored("ReduceLROnPlateau", self.monitor, logs)
  local old = model.learning_rate
  logs.learning_rate = old
  if self.cooldown_counter > 0 then
    self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
  end
  if self.better(value - self.delta, self.best) then
    self.best, self.wait = value, 0
  elseif self.cooldown_counter <= 0 then
    self.wait = self.wait + 1
    if self.wait >= self.patience and old > self.min_lr then
      model.learning_rate = math.max(old * self.factor, self.min_lr)
      if self.verbose > 0 then
        show("\nEpoch %d: ReduceLROnPlateau reducing learning rate to %g.\n", epoch + 1, model.learning_rate)
      end
      self.cooldown_counter, self.wait = self.cooldown, 0
    end
  end
end

nn.LearningRateScheduler = core.own_class("LearningRateScheduler", function(self, default)
  if not self.schedule then return "which schedule? nn.LearningRateScheduler { function(epoch, lr) return lr / 2 end }" end
  self.verbose = self.verbose or default.verbose
end, { schedule = "function" })

function nn.LearningRateScheduler:on_epoch_begin(epoch)
  local rate = self.schedule(epoch, self.model.learning_rate)
  if type(rate) ~= "number" then
    error(("LearningRateScheduler: the schedule must return a number, got %s"):format(type(rate)), 0)
  end
  self.model.learning_rate = rate
  if self.verbose > 0 then
    show("\nEpoch %d: LearningRateScheduler setting learning rate to %g.\n", epoch + 1, rate)
  end
end

function nn.LearningRateScheduler:on_epoch_end(_, logs)
  logs.learning_rate = self.model.learning_rate
end

nn.TensorBoard = core.own_class("TensorBoard", function(self, default)
  self.log_dir = self.log_dir or default.log_dir
  self.update_freq = self.update_freq or default.update_freq
  if self.update_freq == "batch" then self.update_freq = 1 end
  if self.update_freq ~= "epoch" and not (math.type(self.update_freq) == "integer" and self.update_freq > 0) then
    return ('update_freq must be "epoch", "batch" or a number of batches, got %s'):format(tostring(self.update_freq))
  end
end)
only_epochs(nn.TensorBoard, "update_freq")

-- The file of one of both folders; it is made when it is first needed.
local function event_file(self, part)
  if not self.files[part] then
    local folder = self.log_dir .. "/" .. part
    core.make_folder(folder)
    local host, pid = core.host_name()
    local now = core.wall_time()
    -- A second training in the same second has a name of its own.
    self.trainings = (self.trainings or -1) + 1
    local path = ("%s/events.out.tfevents.%d.%s.%d.%d.v2"):format(folder, math.floor(now), host, pid, self.trainings)
    local file, problem = io.open(path, "wb")
    if not file then error("TensorBoard: " .. problem, 0) end
    file:write(core.event_record(now))
    self.files[part] = file
  end
  return self.files[part]
end

local function write_scalars(self, part, step, list)
  if #list == 0 then return end
  local file = event_file(self, part)
  file:write(core.event_record(core.wall_time(), step, list))
  file:flush()
end

function nn.TensorBoard:on_train_begin()
  self.files, self.batches = {}, self.batches or 0
end

function nn.TensorBoard:on_train_batch_end(_, logs)
  if self.batches % self.update_freq == 0 then
    local list = {}
    for name, value in pairs(logs) do list[#list + 1], list[#list + 2] = "batch_" .. name, value end
    write_scalars(self, "train", self.batches, list)
  end
  self.batches = self.batches + 1
end
core.looks_not(nn.TensorBoard.on_train_batch_end)

function nn.TensorBoard:on_epoch_end(epoch, logs)
  local train, validation = { "epoch_learning_rate", self.model.learning_rate }, {}
  local names = {}
  for name in pairs(logs) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local list = name:find "^val_" and validation or train
    if name ~= "learning_rate" then
      list[#list + 1], list[#list + 2] = "epoch_" .. (name:gsub("^val_", "")), logs[name]
    end
  end
  write_scalars(self, "train", epoch, train)
  write_scalars(self, "validation", epoch, validation)
end

function nn.TensorBoard:on_train_end()
  for _, file in pairs(self.files) do file:close() end
  self.files = nil
end

return nn, known
