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
-- # Training that survives: a rank is lost, two go on, a newcomer joins
-- Three ranks train MNIST. One of them is lost in the middle, as a pod is that runs out of memory. The other two go on from
-- the last commit; some time later its place is free again, and a newcomer joins at the next commit. Here, or on pods of two Jobs:
--
--     firesteel run recipes/23-elastic.lua
--     firesteel run recipes/23-elastic.lua --context NAME --registry HOST --allow cluster,destructive -p on=jobs -p epochs=60

-- %% tags=["parameters"]
on = "here"                       -- or jobs
ranks = 3
epochs = 8                        -- on pods 60: a Job waits ten seconds before it makes another pod
cpu = "200m"                      -- CPUs that each pod requests
tag = "firesteel/mnist-elastic:1" -- goes to --registry's or the context's
namespace = nil                   -- nil: the context's

-- %% [markdown]
-- ## The training
-- `hvd.elastic.State` names what a commit keeps. What `hvd.elastic.run` wraps begins where the last commit is, in every
-- generation of ranks; what stands before it runs again. A generation of another size has another learning rate.

-- %% Train
function train(learning_rate, epochs, has_accident)
  hvd.init()
  local mnist = data.mnist { rank = hvd.rank(), size = hvd.size() }
  local model = nn.Sequential {
    nn.Flatten { 28, 28 },
    nn.Dense { 128, activation = "relu" },
    nn.Dense { 10, activation = "softmax" },
  }
  model:compile {
    optimizer = hvd.DistributedOptimizer(nn.Adam { learning_rate = learning_rate * hvd.size() }),
    loss = "sparse_categorical_crossentropy",
    metrics = { "accuracy" },
  }
  local state = hvd.elastic.State { model = model, epoch = 0, sizes = {} }
  state:register_reset_callbacks { function() model.learning_rate = learning_rate * hvd.size() end }

  local accident = {}                     -- here the last of all ranks is killed when it begins the third epoch
  function accident:on_epoch_begin(epoch)
    state.sizes[epoch + 1] = hvd.size()
    if has_accident and epoch == 2 and hvd.rank() == 2 then os.execute "kill -9 $PPID" end
  end

  return hvd.elastic.run(function(state)
    if hvd.rank() == 0 then print(("%d ranks go on from epoch %d"):format(hvd.size(), state.epoch)) end
    model:fit {
      mnist.train.x, mnist.train.y, batch_size = 64, epochs = epochs, initial_epoch = state.epoch,
      callbacks = { accident, hvd.MetricAverageCallback(), hvd.elastic.UpdateEpochStateCallback(state),
        hvd.elastic.CommitStateCallback(state, 0) },
      validation_data = { mnist.test.x, mnist.test.y }, verbose = hvd.rank() == 0 and 2 or 0,
    }
    local test = data.mnist().test -- all of it, on each rank
    local _, accuracy = model:evaluate { test.x, test.y, verbose = 0 }
    return accuracy, table.concat(state.sizes, " ")
  end)(state)
end

-- %% Build and push
if on == "jobs" then
  img = image.build { add = { "data/mnist" }, tag = tag }:push()
  engine = k8s.jobs { image = img, executors = ranks, namespace = namespace, cpu = cpu }
end

-- %% [markdown]
-- ## The accident on pods
-- The image has no shell that could kill a rank. So its pod goes, as soon as two epochs are done; the Job makes another one.

-- %% Lose a pod
function lose_a_pod()
  local mine = "firesteel/hvd-role=%s,firesteel/run=" .. firesteel.run
  local function pods(role) return k8s.list("pods", { namespace = namespace, selector = mine:format(role) }) end
  local function began()
    for _, driver in ipairs(pods "driver") do
      local told, log = pcall(driver.logs, driver)
      if told and log:find "Epoch 3/" then return true end
    end
  end
  while not began() do firesteel.sleep(0.2) end
  local last = pods "executor"
  last[#last]:delete { grace = 0, wait = false }
end

-- %% [markdown]
-- ## The run
-- A place that lost a rank rests for half a second; with the default, `{10, 100}`, it would be longer.

-- %% Run timeout="10m"
if engine then async("accident", lose_a_pod) end
result = hvd.run(train, { args = { 0.001, epochs, on == "here" }, np = ranks, min_np = ranks - 1, cooldown_range = { 0.5, 1 }, on = engine })

-- %% What happened
-- No epoch was lost, and the accuracy is that of a run without an accident.
expect(result.output):contains(on == "here" and "rank 2 was ended by signal 9" or "was lost")
expect(result.output):contains(on == "here" and "2 ranks go on from epoch 2" or "2 ranks go on from epoch")
expect(result.output):contains "newcomers join"
accuracy, sizes = result:rank(0)
print("ranks by epoch: " .. sizes)
print(("accuracy: %.4f"):format(accuracy))
expect(accuracy):at_least(0.96)
