-- SPDX-License-Identifier: MIT
-- hvd.elastic: training that goes on when ranks are lost, and when newcomers join, with Horovod's names
-- (horovod/common/elastic.py, horovod/_keras/elastic.py). `core` is the part in C (script/worker/ranks/elastic.c); hvd
-- has it as hvd.elastic until this file replaces it.
local hvd = ...
local core = hvd.elastic
local elastic = {}
hvd.elastic = elastic

-- What commit raises on every rank when newcomers wait. Ranks end with it, and start again with the newcomers.
elastic.HostsUpdatedInterrupt = setmetatable(core.HostsUpdatedInterrupt, {
  __name = "HostsUpdatedInterrupt",
  __tostring = function()
    return "HostsUpdatedInterrupt: newcomers join, so all ranks start again from this commit"
  end,
})

-- What a state does not show: the names of its fields, its callbacks, and what save has kept.
local hidden = setmetatable({}, { __mode = "k" })

local State = {}
State.__index = State

function State.__newindex(state, name)
  error(("hvd.elastic.State: '%s' is no field of this state: list it with its first value, as { model = model, epoch = 0 }"):format(tostring(name)), 2)
end

local function is_model(value)
  return type(value) == "userdata" and getmetatable(value).__name == "model"
end

-- elastic.State { model = model, epoch = 0, … }: what a commit keeps: models with their optimizers' states, and data.
function elastic.State(fields)
  if type(fields) ~= "table" then
    error("hvd.elastic.State: expects a table of what is kept, as { model = model, epoch = 0 }", 2)
  end
  local state, models, values = {}, {}, {}
  for name, value in pairs(fields) do
    if type(name) ~= "string" or State[name] then
      error(("hvd.elastic.State: '%s' is no name for a field"):format(tostring(name)), 2)
    end
    state[name] = value
    if is_model(value) then
      models[#models + 1] = name
    elseif name ~= "optimizer" then -- a model has the state of its optimizer
      values[#values + 1] = name
    end
  end
  table.sort(models) -- all ranks go through them in one order
  table.sort(values)
  hidden[state] = { models = models, values = values, callbacks = {} }
  return setmetatable(state, State)
end

local function snapshot(state)
  local h = hidden[state]
  local kept = { values = {}, models = {} }
  for _, name in ipairs(h.values) do kept.values[name] = rawget(state, name) end
  for _, name in ipairs(h.models) do
    local model = rawget(state, name)
    local bytes, epochs = core.model_bytes(model)
    kept.models[name] = { bytes = bytes, epochs = epochs, learning_rate = model.learning_rate, momentum = model.momentum }
  end
  return core.pack(kept)
end

local function set_rates(model, rates)
  if rates.learning_rate and model.learning_rate ~= rates.learning_rate then model.learning_rate = rates.learning_rate end
  if rates.momentum and model.momentum ~= rates.momentum then model.momentum = rates.momentum end
end

local function load(state, bytes)
  local kept = core.unpack(bytes)
  for _, name in ipairs(hidden[state].values) do rawset(state, name, kept.values[name]) end
  for _, name in ipairs(hidden[state].models) do
    local one = kept.models[name]
    if not one then error(("hvd.elastic.State: the last commit has no model '%s'"):format(name), 0) end
    core.model_restore(rawget(state, name), one.bytes, one.epochs)
    set_rates(rawget(state, name), one)
  end
end

-- Keeps the state in this rank, for restore.
function State:save()
  hidden[self].saved = snapshot(self)
end

-- Sets the state back to what was saved or committed last.
function State:restore()
  if hidden[self].saved then load(self, hidden[self].saved) end
end

-- Keeps the state where the loss of any rank does not touch it; when commit returns, it is kept.
function State:commit()
  self:save()
  local newcomers = core.commit(hidden[self].saved)
  if newcomers == nil then return end -- the job is not elastic
  if hvd.broadcast(newcomers and 1 or 0, 0) == 1 then error(elastic.HostsUpdatedInterrupt, 0) end
end

-- Gives all ranks the state of rank 0.
function State:sync()
  local h, values, rates = hidden[self], {}, {}
  for _, name in ipairs(h.models) do
    local model = rawget(self, name)
    hvd.broadcast_model(model, 0)
    rates[name] = { learning_rate = model.learning_rate, momentum = model.momentum }
  end
  for _, name in ipairs(h.values) do values[name] = rawget(self, name) end
  local from = hvd.broadcast_object({ values = values, rates = rates }, 0)
  for _, name in ipairs(h.values) do rawset(self, name, from.values[name]) end
  for _, name in ipairs(h.models) do set_rates(rawget(self, name), from.rates[name]) end
  self:save()
end

-- Functions that are called, after a loss or with newcomers, when the state is restored and before it is synced:
-- the number of ranks may be another one.
function State:register_reset_callbacks(callbacks)
  for _, callback in ipairs(callbacks) do table.insert(hidden[self].callbacks, callback) end
end

function State:on_reset()
  for _, callback in ipairs(hidden[self].callbacks) do callback() end
end

-- Returns fn as a function (state, …) that begins where the last commit is.
function elastic.run(fn)
  if type(fn) ~= "function" then error("hvd.elastic.run: expects a function of a state", 2) end
  return function(state, ...)
    if not hidden[state] then
      error("hvd.elastic.run: the function's first argument is a state, as hvd.elastic.State { model = model, epoch = 0 }", 2)
    end
    local generation, commit = core.last()
    if commit then load(state, commit) end
    if generation > 1 then state:on_reset() end
    state:sync()
    return fn(state, ...)
  end
end

local Commit = {}
Commit.__index = Commit

-- Commits at the end of every batches_per_commit batches (0: of none), and of each epoch.
function elastic.CommitStateCallback(state, batches_per_commit)
  return setmetatable({ state = state, every = batches_per_commit or 1, batches = 0 }, Commit)
end

function Commit:on_train_batch_end()
  self.batches = self.batches + 1
  if self.every > 0 and self.batches % self.every == 0 then self.state:commit() end
end

function Commit:on_epoch_end()
  self.state:commit()
end

local Epoch = {}
Epoch.__index = Epoch

-- Counts in state.epoch the epochs that are done, for fit's initial_epoch. It stands before CommitStateCallback.
function elastic.UpdateEpochStateCallback(state)
  return setmetatable({ state = state }, Epoch)
end

function Epoch:on_epoch_end(epoch)
  self.state.epoch = epoch + 1
end

local Batch = {}
Batch.__index = Batch

-- Counts in state.batch the batches of this epoch that are done.
function elastic.UpdateBatchStateCallback(state)
  return setmetatable({ state = state }, Batch)
end

function Batch:on_train_batch_end(batch)
  self.state.batch = batch + 1
end

function Batch:on_epoch_end()
  self.state.batch = 0
end

return hvd
