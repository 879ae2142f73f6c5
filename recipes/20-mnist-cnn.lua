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
-- # MNIST with a convolutional network
-- The same digits as in 10-mnist.lua, seen as pictures: two convolutions, each with a pool, in Keras's words.
-- Numbers between the layers are bf16, which takes half the memory and, with AMX, half the time.
-- Nothing but this machine is needed:
--
--     firesteel run recipes/20-mnist-cnn.lua

-- %% tags=["parameters"]
epochs = 2
steps = 938                       -- of 64 pictures each; an epoch has 938

-- %% The trainer file="cnn.lua"
local nn, data = require "nn", require "data"
local args = require "args" { epochs = 2, steps = 938 }
local mnist = data.mnist()

local model = nn.Sequential {
  nn.Input { 28, 28, 1 },
  nn.Conv2D { 32, 3, activation = "relu" },
  nn.MaxPooling2D { 2 },
  nn.Conv2D { 64, 3, activation = "relu" },
  nn.MaxPooling2D { 2 },
  nn.Flatten {},
  nn.Dense { 128, activation = "relu" },
  nn.Dense { 10, activation = "softmax" },
  seed = 42, dtype = "mixed_bfloat16",          -- float32 where the CPU cannot multiply bf16
}
model:summary()
local rate = nn.CosineDecay { 0.002, args.epochs * args.steps }
model:compile { optimizer = nn.Adam { rate }, loss = "sparse_categorical_crossentropy", metrics = { "accuracy" } }
model:fit {
  mnist.train.x, mnist.train.y, batch_size = 64, epochs = args.epochs, steps_per_epoch = args.steps, verbose = 2,
  callbacks = { nn.ModelCheckpoint { "cnn.safetensors" } },
  validation_data = { mnist.test.x, mnist.test.y },
}
print("Expected prediction for index 100: " .. mnist.test.y[100])
print("Model prediction for index 100: " .. nn.load "cnn.safetensors":predict(mnist.test.x:slice(100, 101)):argmax())

-- %% Train timeout="30m"
job = trainer.run { "cnn.lua", np = 1, args = { "--epochs=" .. epochs, "--steps=" .. steps } }
expect(job.output):contains "Model prediction for index 100: 6"

-- %% What it has learnt
print(("%.2f %% of the test set after %d epochs"):format(100 * job.metrics.val_accuracy, epochs))
if epochs >= 2 and steps >= 938 then expect(job.metrics.val_accuracy):at_least(0.99) end
