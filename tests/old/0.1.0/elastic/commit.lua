-- An elastic job of two ranks: the commits that its driver keeps. Run by: firesteel-worker commit.lua
local hvd, nn, data = require "hvd", require "nn", require "data"
local function train()
  hvd.init()
  local model = nn.Sequential { nn.Dense { 2, input_dim = 2 } }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.SGD { 0.125, momentum = 0.5 }), loss = "mse" }
  model:set_weights { data.tensor { { 0.5, -0.25 }, { 1, 2 } }, data.tensor { 0, 0.125 } }
  local state = hvd.elastic.State { model = model, step = 0, best = 0.1, name = "old", seen = { [0] = true, list = { 1, 2, 3 }, 0.5 }, rows = data.tensor { { 1, 2 }, { 3, 4 } } }
  return hvd.elastic.run(function(state)
    while state.step < 3 do
      model:train_on_batch(data.tensor { { 1, 2 }, { 3, 4 } }, data.tensor { { 0, 1 }, { 1, 0 } })
      state.step = state.step + 1
      state:commit()
    end
    model.learning_rate = 0.0625
    state:commit()
    for i, w in ipairs(model:get_weights()) do print(i, w) end
    print(model:train_on_batch(data.tensor { { 1, 2 }, { 3, 4 } }, data.tensor { { 0, 1 }, { 1, 0 } }))
    for i, w in ipairs(model:get_weights()) do print(i, w) end
  end)(state)
end
hvd.run(train, { np = 2, min_np = 1 })
