-- SPDX-License-Identifier: MIT
-- The Lua part of the module `hvd`: Horovod's optimizer wrapper and callbacks, with its formulas
-- (horovod/_keras/callbacks.py). `core` is the part in C (script/worker/job/hvd.c). script/api/trainer/workerapi.lua has them, too.
local core = ...
local hvd = core
local looks_not = core.looks_not
core.looks_not = nil

-- hvd.run(fn, { np =, args =, start_timeout = }) returns this, in the order of the ranks:
-- results[1] is the first value of rank 0, results:rank(0) all of its values.
local Results = hvd.Results
Results.__index = Results

function Results:rank(rank)
  local values = self.all[rank + 1]
  if not values then error(("there is no rank %s: the ranks are 0 to %d"):format(rank, #self.all - 1), 2) end
  return table.unpack(values, 1, values.n)
end

-- The first value of each rank, as horovod.spark.run returns them; `n` is their number.
function Results:ranks()
  local list = { n = #self.all }
  for i, values in ipairs(self.all) do list[i] = values[1] end
  return list
end

function Results:__len()
  return #self.all
end

-- The numbers are those of horovod/common/basics.py.
hvd.Average, hvd.Sum, hvd.Min, hvd.Max, hvd.Product = 0, 1, 3, 4, 5

-- Returns an optimizer whose gradients are averaged over all ranks before they are applied.
-- sparse_as_dense: those of an Embedding's table travel whole, not as the rows that batches have named.
function hvd.DistributedOptimizer(optimizer, options)
  if type(optimizer) ~= "table" or not (getmetatable(optimizer) or {}).class then
    error("hvd.DistributedOptimizer: expects an optimizer, as nn.Adam { learning_rate = 0.001 }", 2)
  end
  hvd.size() -- raises before hvd.init()
  local wrapped = {}
  for key, value in pairs(optimizer) do wrapped[key] = value end
  wrapped.distributed = true
  for name, value in pairs(options or {}) do
    if name ~= "sparse_as_dense" or type(value) ~= "boolean" then
      error(("hvd.DistributedOptimizer: unknown option '%s'; known is sparse_as_dense, true or false"):format(tostring(name)), 2)
    end
    wrapped.sparse_as_dense = value
  end
  return setmetatable(wrapped, getmetatable(optimizer))
end

local Broadcast = {}
Broadcast.__index = Broadcast

function hvd.BroadcastGlobalVariablesCallback(root_rank)
  return setmetatable({ root_rank = root_rank or 0, done = false }, Broadcast)
end

function Broadcast:on_train_batch_end()
  if self.done then return end
  hvd.broadcast_model(self.model, self.root_rank)
  self.done = true
end
looks_not(Broadcast.on_train_batch_end) -- all ranks call it, and broadcast_model gathers the state

local Average = {}
Average.__index = Average

-- In the order of the metrics' names, which is the same on all ranks.
function hvd.MetricAverageCallback()
  return setmetatable({}, Average)
end

function Average:on_epoch_end(_, logs)
  local names = {}
  for name in pairs(logs) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do logs[name] = hvd.allreduce(logs[name]) end
end

local Warmup = {}
Warmup.__index = Warmup

function hvd.LearningRateWarmupCallback(options)
  if type(options) ~= "table" or type(options.initial_lr) ~= "number" then
    error("hvd.LearningRateWarmupCallback: expects { initial_lr = number, … }", 2)
  end
  local known = { initial_lr = true, warmup_epochs = true, momentum_correction = true, steps_per_epoch = true, verbose = true }
  for name in pairs(options) do
    if not known[name] then
      error(("hvd.LearningRateWarmupCallback: unknown option '%s'; known are initial_lr, momentum_correction, steps_per_epoch, verbose, warmup_epochs"):format(tostring(name)), 2)
    end
  end
  return setmetatable({
    initial_lr = options.initial_lr,
    warmup_epochs = options.warmup_epochs or 5,
    momentum_correction = options.momentum_correction ~= false,
    steps_per_epoch = options.steps_per_epoch,
    verbose = options.verbose or 0,
    epoch = 0,
  }, Warmup)
end

function Warmup:on_epoch_begin(epoch)
  self.epoch = epoch
end

function Warmup:on_train_batch_begin(batch)
  if self.epoch >= self.warmup_epochs then return end
  local model, size, steps = self.model, hvd.size(), self.steps_per_epoch or self.params.steps
  local progress = self.epoch + batch / steps + 1 / steps
  local old = model.learning_rate
  local new = self.initial_lr * (1 / size) * (progress * (size - 1) / self.warmup_epochs + 1)
  model.learning_rate = new
  if self.momentum_correction and model.momentum ~= 0 then
    self.restore_momentum = model.momentum
    model.momentum = model.momentum * new / old
  end
end

function Warmup:on_train_batch_end()
  if self.restore_momentum then
    self.model.momentum, self.restore_momentum = self.restore_momentum, nil
  end
end

looks_not(Warmup.on_train_batch_begin)
looks_not(Warmup.on_train_batch_end)

function Warmup:on_epoch_end(epoch, logs)
  logs.lr = self.model.learning_rate
  if epoch == self.warmup_epochs - 1 and self.verbose > 0 and hvd.rank() == 0 then
    io.stdout:write(("\nEpoch %d: finished gradual learning rate warmup to %g.\n"):format(epoch + 1, self.model.learning_rate))
  end
end

return hvd
