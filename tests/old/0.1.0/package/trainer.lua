local nn, data = require "nn", require "data"
local x, code = nn.Input { 2, name = "x" }, nn.Input { 1, name = "code" }
local both = nn.Concatenate {} { x, code }
local model = nn.Model { inputs = { x, code }, outputs = nn.Dense { 2, name = "score" } (both) }
model:set_weights { data.tensor { { 2, 1 }, { 10, -1 }, { 0.5, 0.25 } }, data.tensor { 0.5, -0.5 } }
model:save "model.safetensors"
