local nn, data = require "nn", require "data"
local n, size = 8, 224
local y = {} for i = 1, n do y[i] = i % 10 end
y = data.tensor(y, { dtype = "i64" })
local x = nn.ops.full({ n, size, size, 3 }, 0.5)
local model = nn.applications.ResNet50 { variant = "torchvision", input_shape = { size, size, 3 } }
model:compile { optimizer = nn.SGD { 0.001, momentum = 0.9 }, loss = "sparse_categorical_crossentropy", threads = 1 }
for i = 1, 4 do model:train_on_batch(x, y) end
