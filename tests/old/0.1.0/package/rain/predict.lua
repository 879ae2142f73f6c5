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
