-- ---
-- jupyter:
--   jupytext:
--     text_representation:
--       extension: .lua
--       format_name: percent
--       format_version: '1.3'
--       jupytext_version: 1.19.6
--   kernelspec:
--     display_name: Firesteel (Lua)
--     language: lua
--     name: firesteel
-- ---

-- %% [markdown]
-- # Training that survives: a rank is killed, two go on, a newcomer joins
-- Three ranks train MNIST. One of them kills itself in the middle, as a pod does that runs out of memory. The other two go on
-- from the last commit; some time later its place is free again, and a newcomer joins at the next commit. Everything runs here:
--
--     firesteel run recipes/23-elastic.lua

-- %% tags=["parameters"]
epochs = 8
ranks = 3

-- %% [markdown]
-- ## The trainer
-- `hvd.elastic.State` names what a commit keeps. What `hvd.elastic.run` wraps begins where the last commit is, in every
-- generation of ranks; what stands before it runs again. A generation of another size has another learning rate.

-- %% The trainer file="trainer.lua"
local hvd, nn, data = require "hvd", require "nn", require "data"
local args = require "args" { epochs = 8, learning_rate = 0.001, min_np = 2 }

local function train(args)
  hvd.init()
  local mnist = data.mnist { rank = hvd.rank(), size = hvd.size() }
  local model = nn.Sequential {
    nn.Flatten { 28, 28 },
    nn.Dense { 128, activation = "relu" },
    nn.Dense { 10, activation = "softmax" },
  }
  model:compile {
    optimizer = hvd.DistributedOptimizer(nn.Adam { learning_rate = args.learning_rate * hvd.size() }),
    loss = "sparse_categorical_crossentropy",
    metrics = { "accuracy" },
  }
  local state = hvd.elastic.State { model = model, epoch = 0, sizes = {} }
  state:register_reset_callbacks { function() model.learning_rate = args.learning_rate * hvd.size() end }

  local accident = {}                     -- the last of all ranks is killed when it begins the third epoch
  function accident:on_epoch_begin(epoch)
    state.sizes[epoch + 1] = hvd.size()
    if epoch == 2 and hvd.rank() == 2 then os.execute "kill -9 $PPID" end
  end

  return hvd.elastic.run(function(state)
    if hvd.rank() == 0 then print(("%d ranks go on from epoch %d"):format(hvd.size(), state.epoch)) end
    model:fit {
      mnist.train.x, mnist.train.y, batch_size = 64, epochs = args.epochs, initial_epoch = state.epoch,
      callbacks = { accident, hvd.MetricAverageCallback(), hvd.elastic.UpdateEpochStateCallback(state),
        hvd.elastic.CommitStateCallback(state, 0) },
      validation_data = { mnist.test.x, mnist.test.y }, verbose = hvd.rank() == 0 and 2 or 0,
    }
    local test = data.mnist().test -- all of it, on each rank
    local _, accuracy = model:evaluate { test.x, test.y, verbose = 0 }
    return accuracy, table.concat(state.sizes, " ")
  end)(state)
end

-- A place that lost a rank rests for half a second; on a cluster it would be minutes (the default is {10, 100}).
local results = hvd.run(train, { args = { args }, min_np = args.min_np, cooldown_range = { 0.5, 1 } })
local accuracy, sizes = results:rank(0)
print("ranks by epoch: " .. sizes)
print(("accuracy: %.4f"):format(accuracy))

-- %% [markdown]
-- ## The run

-- %% Train timeout="10m"
job = trainer.run { "trainer.lua", np = ranks, args = { "--epochs=" .. epochs } }

-- %% What happened
-- No epoch was lost, and the accuracy is that of a run without an accident.
expect(job.output):contains "rank 2 was ended by signal 9"
expect(job.output):contains "2 ranks go on from epoch 2"
expect(job.output):contains "newcomers join"
accuracy = tonumber(job.output:match "accuracy: ([%d.]+)%s*$")
print("ranks by epoch: " .. job.output:match "ranks by epoch: ([%d ]+)", "accuracy: " .. accuracy)
expect(accuracy):at_least(0.96)
