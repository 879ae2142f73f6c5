-- SPDX-License-Identifier: MIT
-- What a pipeline's expressions are in Kubeflow's words: inputs of tasks, texts that a pod fills in, and conditions in CEL.
local core = ...
local kfp = {}
core.pipeline.kfp = kfp

local function refuse(self, step, format, ...)
  core.fail("error", ("pipeline %s: step %s: Kubeflow: "):format(self.name, step.name) .. format:format(...))
end

local function sorted(map)
  local list = {}
  for key in pairs(map) do list[#list + 1] = key end
  table.sort(list)
  return list
end

local function task_name(name) return (name:lower():gsub("_", "-")) end

local EVERYWHERE = {} -- what a pod knows, too
for name in ("string table math utf8 json tostring tonumber type select ipairs pairs"):gmatch "%w+" do EVERYWHERE[name] = true end

-- What an expression uses: "step.output", "parameter", "item"; local: names that are known here and now.
local function words_of(self, step, expression, parameters)
  local words, here = {}, {}
  local plain = expression:gsub('"[^"]*"', '""'):gsub("'[^']*'", "''")
  for before, word, rest in plain:gmatch "(.?)%f[%a_]([%a_][%w_]*)%f[^%w_]([%s]*%.?[%s]*[%w_]*)" do
    local field = rest:match "^%s*%.%s*([%a_][%w_]*)"
    if before ~= "." then
      if step.with and step.with[word] ~= nil then words[#words + 1] = word
      elseif self.steps[word] and field then words[#words + 1] = word .. "." .. field
      elseif word == "item" or parameters[word] ~= nil then words[#words + 1] = word
      elseif _G[word] ~= nil and not EVERYWHERE[word] then here[#here + 1] = word end
    end
  end
  return words, here
end

-- What is known as the pod's filler takes it, before an expression that the pod fills in.
local function literal(text, expression)
  text = text:gsub("%${", "$${")
  return expression and text:gsub("%$+$", '${"%0"}') .. expression or text
end

-- A value with all that is known now filled in; what the other steps, the item and the parameters give stays, and is noted in
-- used. as_is: no pod fills it in again.
local function settled(self, step, value, parameters, used, as_is)
  if type(value) == "table" then
    local copy = setmetatable({}, getmetatable(value))
    for key, item in pairs(value) do
      copy[settled(self, step, key, parameters, used, as_is)] = settled(self, step, item, parameters, used, as_is)
    end
    return copy
  end
  if type(value) ~= "string" then return value end
  local parts, at, plain = {}, 1, ""
  local function keep(expression)
    parts[#parts + 1] = as_is and plain .. (expression or "") or literal(plain, expression)
    plain = ""
  end
  while true do
    local from, to, escape, whole, expression = value:find("(%$?)(%${(.-)})", at)
    plain = plain .. value:sub(at, (from or 0) - 1)
    if not from then break end
    at = to + 1
    local words, here = words_of(self, step, expression, parameters)
    if escape ~= "" then plain = plain .. whole
    elseif #words == 0 then plain = plain .. tostring(core.pipeline.filled(whole, _G, step.name))
    elseif here[1] then
      refuse(self, step, "${%s} joins %s, which is known here, with %s, which is not; give it to with = { … } by itself", expression,
        here[1], words[1])
    else
      keep(whole)
      for _, word in ipairs(words) do used[word] = true end
    end
  end
  keep()
  return table.concat(parts)
end

-- A Lua condition in the language of Kubeflow's (CEL). input(word) → the name of the task's input.
local SAME = { ["=="] = "==", ["~="] = "!=", ["<"] = "<", [">"] = ">", ["<="] = "<=", [">="] = ">=",
  ["and"] = "&&", ["or"] = "||", ["not"] = "!", ["("] = "(", [")"] = ")", ["true"] = "true", ["false"] = "false" }

local function tokens_of(self, step, parameters)
  local list, text = {}, step.when:gsub("%${(.-)}", "(%1)")
  while text:find "%S" do
    text = text:gsub("^%s+", "")
    local number, word = text:match "^%-?%d+%.?%d*[eE]?[+-]?%d*", text:match "^[%a_][%w_.]*"
    local quoted = text:match '^"[^"\\]*"' or text:match "^'[^'\\]*'"
    local sign = text:match "^[<>=~]=" or text:match "^[<>()]"
    local token = word or number or quoted or sign
    if not token then refuse(self, step, "when: it has no way to say %s", text) end
    if quoted then list[#list + 1] = { text = core.pipeline.quoted(quoted:sub(2, -2)) }
    elseif number and not word then list[#list + 1] = { text = number:find "[.eE]" and number or number .. ".0", number = true }
    elseif SAME[token] then list[#list + 1] = { text = SAME[token], sign = true }
    elseif word and (self.steps[word:match "^[^.]*"] or parameters[word] ~= nil) then list[#list + 1] = { ref = word }
    elseif word and (type(_G[word]) == "number" or type(_G[word]) == "string") then
      local value = _G[word]
      list[#list + 1] = { text = type(value) == "string" and core.pipeline.quoted(value) or tostring(value + 0.0), number = type(value) == "number" }
    else refuse(self, step, "when: it has no way to say %s", token) end
    text = text:sub(#token + 1)
  end
  return list
end

local function condition_of(self, step, parameters, used)
  local list, out = tokens_of(self, step, parameters), {}
  local function beside(i, by) -- the nearest operand on that side of a comparison
    local j = i + by
    while list[j] and (list[j].text == "(" or list[j].text == ")") do j = j + by end
    local mid = list[j] and list[j].sign and list[j].text
    if not mid or not mid:find "^[<>=!]=?$" or mid == "!" then return nil end
    j = j + by
    while list[j] and (list[j].text == "(" or list[j].text == ")") do j = j + by end
    return mid, list[j]
  end
  for i, token in ipairs(list) do
    if token.ref then
      used[token.ref] = true
      local sign, other = beside(i, 1)
      if not sign then sign, other = beside(i, -1) end
      local input = ("inputs.parameter_values['%s']"):format((token.ref:gsub("%.", "-")))
      if not sign then refuse(self, step, "when: %s stands alone; it compares values, as in %s == \"yes\"", token.ref, token.ref) end
      local is_number = other and other.number or sign:find "[<>]"
      out[i] = is_number and parameters[token.ref] == nil and ("double(%s)"):format(input) or input
    else
      out[i] = token.text
    end
  end
  return (table.concat(out, " "):gsub("%( ", "("):gsub(" %)", ")"):gsub("! ", "!"))
end

kfp.refuse, kfp.sorted, kfp.task_name, kfp.settled, kfp.condition_of = refuse, sorted, task_name, settled, condition_of
