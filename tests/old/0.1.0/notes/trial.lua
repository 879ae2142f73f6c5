local nn, data = require "nn", require "data"
local args = require "args" { rate = 0.1, units = 2, epochs = 2, weights = "" }
local x, y = {}, {}
for i = 1, 32 do
  x[i] = { math.sin(i), math.cos(3 * i) }
  y[i] = { x[i][1] * x[i][2] }
end
local model = nn.Sequential { nn.Dense { args.units, activation = "tanh", input_dim = 2 }, nn.Dense { 1 } }
model:compile { optimizer = nn.Adam { args.rate }, loss = "mse" }
model:fit { data.tensor(x), data.tensor(y), epochs = args.epochs, batch_size = 8, verbose = 2 }
if args.weights ~= "" then model:save(args.weights) end
