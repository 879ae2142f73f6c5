-- %% A file file="trainer.lua"
local nn, data = require "nn", require "data"
local x, code = nn.Input { 2, name = "x" }, nn.Input { 1, name = "code" }
local both = nn.Concatenate {} { x, code }
local model = nn.Model { inputs = { x, code }, outputs = nn.Dense { 2, name = "score" } (both) }
model:set_weights { data.tensor { { 2, 1 }, { 10, -1 }, { 0.5, 0.25 } }, data.tensor { 0.5, -0.5 } }
model:save "model.safetensors"
-- %% Another file="predict.lua"
local data = require "data"
local codes = { open = 1, closed = 0 }

function predict(inputs, model)
  local code, label = {}, {}
  for i, word in ipairs(inputs.word) do
    code[i] = { codes[word] or 0.5 }
    label[i] = codes[word] and "known" or "unknown " .. word
  end
  return { score = model:predict { inputs.x, data.tensor(code) }, label = label }
end
-- %% Package
trainer.run { "trainer.lua" }
fn = model.package { "predict.lua", "model.safetensors", name = "rain", tag = "old/rain:1",
  examples = { { x = { 0.25, 1.5 }, word = "open" }, { inputs = { x = { 2, 7 }, word = "ajar" }, outputs = { score = { 74.75, -5.375 } } } } }
print(fn:verify { runtime = false })
