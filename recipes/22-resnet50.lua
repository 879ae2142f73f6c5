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
-- # Pictures classified by ResNet-50
-- How many pictures a second this machine trains on and classifies, on as many ranks as asked for: each rank takes its part of
-- the pictures, and the classes come back in their order. The pictures are made here, stripes and noise. Weights are random unless
-- `weights` names a file; nothing is fetched. Nothing but this machine is needed:
--
--     firesteel run recipes/22-resnet50.lua
--     firesteel run recipes/22-resnet50.lua -p np=2 -p weights=resnet50.npz

-- %% tags=["parameters"]
network = "ResNet50"              -- ResNet18, ResNet34, ResNet101, ResNet152, MobileNet, MobileNetV2
size = 224                        -- of a picture
images = 64                       -- to classify
batch = 32                        -- of these at once
steps = 4                         -- of training; 0: none
train_batch = 8                   -- pictures in a step, on each rank
classes = 1000
weights = ""                      -- a file of Keras's or torchvision's weights (doc/models.md); "": random ones
np = 1                            -- ranks

-- %% The trainer file="resnet.lua"
local hvd = require "hvd"
local args = require "args" {
  network = "ResNet50", size = 224, images = 64, batch = 32, steps = 4, train_batch = 8, classes = 1000, weights = "",
}

local function run(a)
  local hvd, nn, data = require "hvd", require "nn", require "data"
  hvd.init()
  local rank, ranks = hvd.rank(), hvd.size()

  local function seconds()                                            -- since the machine started
    return tonumber(io.open("/proc/uptime"):read "n")
  end
  local function peak_memory()                                        -- of this process, in MB
    local status = io.open("/proc/self/status"):read "a"
    return tonumber(status:match "VmHWM:%s*(%d+)") / 1024
  end
  -- Picture i has stripes whose distance is its class's.
  local function pictures(from, to)
    local n, side = to - from, a.size
    local list = {}
    for i = 1, n do
      local line = {}
      for x = 1, side do line[x] = 127.5 + 100 * math.sin(x * (1 + (from + i) % a.classes) / 9) end
      list[i] = line
    end
    local stripes = data.tensor(list):reshape { n, 1, side, 1 }
    local noise = {}
    for y = 1, side * 3 do noise[y] = (y * 7919 % 101) / 4 end
    return stripes + data.tensor(noise):reshape { 1, side, 1, 3 }
  end
  local function labels(from, to)
    local list = {}
    for i = from + 1, to do list[#list + 1] = i % a.classes end
    return data.tensor(list, { dtype = "i64" })
  end

  local of = { MobileNet = "mobilenet", MobileNetV2 = "mobilenet_v2", ResNet18 = "torchvision", ResNet34 = "torchvision" }
  local prepare = nn.applications[of[a.network] or "resnet50"].preprocess_input
  local model = nn.applications[a.network] {
    input_shape = { a.size, a.size, 3 }, classes = a.classes, weights = a.weights ~= "" and a.weights or nil, seed = 1,
  }
  local found = { parameters = model:count_params() }

  -- Inference: a part of the pictures on each rank, gathered in their order.
  local from, to = a.images * rank // ranks, a.images * (rank + 1) // ranks
  local mine = prepare(pictures(from, to))
  model:predict(mine:slice(0, 1))                                     -- buffers, and what is packed once
  hvd.barrier()
  local began = seconds()
  local chosen = hvd.allgather(model:predict(mine, { batch_size = a.batch })):argmax(1)
  found.inference = a.images / (seconds() - began)
  found.chosen = chosen:totable()

  if a.steps > 0 then
    local x, y = prepare(pictures(rank * a.train_batch, (rank + 1) * a.train_batch)), labels(rank * a.train_batch, (rank + 1) * a.train_batch)
    model:compile { optimizer = hvd.DistributedOptimizer(nn.SGD { 0.01 * ranks, momentum = 0.9 }), loss = "sparse_categorical_crossentropy" }
    local fit = { x, y, batch_size = a.train_batch, epochs = 1, verbose = 0 }
    found.first_loss = model:fit(fit).history.loss[1]                 -- buffers, too
    hvd.barrier()
    began = seconds()
    fit.epochs = a.steps
    found.last_loss = model:fit(fit).history.loss[a.steps]
    found.training = a.steps * a.train_batch * ranks / (seconds() - began)
  end
  found.memory = peak_memory()
  return found
end

local of = hvd.run(run, { args = { args } }):rank(0)
print(("%s, %d parameters, %d x %d"):format(args.network, of.parameters, args.size, args.size))
print("classes of the first pictures: " .. table.concat(of.chosen, " ", 1, math.min(8, #of.chosen)))
print(("inference: %.2f images/s"):format(of.inference))
if of.training then print(("training: %.2f images/s, loss %.4f to %.4f"):format(of.training, of.first_loss, of.last_loss)) end
print(("memory: %.0f MB on each rank"):format(of.memory))

-- %% Measure timeout="2h"
job = trainer.run { "resnet.lua", np = np, args = {
  "--network=" .. network, "--size=" .. size, "--images=" .. images, "--batch=" .. batch, "--steps=" .. steps,
  "--train-batch=" .. train_batch, "--classes=" .. classes, "--weights=" .. weights,
} }

-- %% What this machine does
run.metric("inference_images_per_second", tonumber(job.output:match "inference: ([%d.]+)"))
run.metric("memory_mb", tonumber(job.output:match "memory: (%d+)"))
if steps > 0 then run.metric("training_images_per_second", tonumber(job.output:match "training: ([%d.]+)")) end
if network == "ResNet50" and classes == 1000 then expect(job.output):contains "25636712 parameters" end
