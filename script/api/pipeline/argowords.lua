-- SPDX-License-Identifier: MIT
-- What the texts of a pipeline are in Argo's words: ${…} becomes a parameter or a variable of Argo's, or what is known now is
-- filled in. argosteps.lua makes templates of them, argo.lua the DAG.
local core = ...
local argo = {}
core.pipeline.argo = argo

function argo.name_of(step)
  return (step.name:gsub("_", "-"))
end

local function refuse(make, step, cannot, instead)
  make.refused[#make.refused + 1] = ("step %s: Argo cannot %s; %s"):format(step.name, cannot, instead)
end

-- Argo reads its variables in every text: "{{" in one of the user's is refused.
local function has_braces(value)
  if type(value) == "string" then return value:find("{{", 1, true) ~= nil or value:find("{fs%+%d+%+fs") ~= nil end
  if type(value) ~= "table" then return false end
  for key, item in pairs(value) do
    if has_braces(key) or has_braces(item) then return true end
  end
  return false
end

local function plain(make, step, value)
  if has_braces(value) then
    refuse(make, step, 'keep "{{" as it is: it reads a variable of its own there', "write it in a file of the image")
  end
  return value
end

-- References: ${…} becomes a parameter of the step's template, whose value the DAG's task gives.

local function text_of(value)
  return type(value) == "table" and core.json(value) or tostring(value)
end

-- The parameter of this name, which the task gives this value.
local function parameter(place, name, value)
  if not place.given[name] then
    place.inputs[#place.inputs + 1] = name
    place.given[name] = value
  end
  return ("{{inputs.parameters.%s}}"):format(name)
end

-- Does an expression name what is known only while the pipeline runs?
local function is_open(make, step, expression)
  for word in expression:gmatch "%f[%a_][%a_][%w_]*" do
    if make.flow.steps[word] or word == "item" then return true end
    if step.with and step.with[word] ~= nil and argo.open(make, step, step.with[word]) then return true end
  end
  return false
end

function argo.open(make, step, value)
  if type(value) == "table" then
    for key, item in pairs(value) do
      if argo.open(make, step, key) or argo.open(make, step, item) then return true end
    end
    return false
  end
  for expression in type(value) == "string" and value:gmatch "%${(.-)}" or function() end do
    if is_open(make, step, expression) then return true end
  end
  return false
end

-- The variables that are known now.
local function env_of(step)
  local env = setmetatable({}, { __index = _G })
  for name, given in pairs(step.with or {}) do
    local ok, filled = pcall(core.pipeline.filled, given, setmetatable({}, { __index = _G }), step.name)
    if ok then env[name] = filled end
  end
  return env
end

-- The value of what is known now.
local function known(make, step, value)
  return plain(make, step, core.pipeline.filled(value, env_of(step), step.name))
end

-- An output of another step, in the words of the DAG.
local function output_of(make, step, other, field)
  if step.exit then
    refuse(make, step, ("give ${%s.%s} to a step of the end"):format(other, field), "let the step read it where it was written, or give it to a step before the end")
    return ""
  end
  local needs = make.needs[other] or {}
  make.needs[other], needs[field] = needs, true
  return ("{{tasks.%s.outputs.parameters.%s}}"):format(argo.name_of(make.flow.steps[other]), field)
end

-- What an expression is in the words of the DAG; nil: it is known now.
local function in_dag(make, step, expression)
  local other, field = expression:match "^%s*([%a_][%w_]*)%s*%.%s*([%a_][%w_]*)%s*$"
  if other and make.flow.steps[other] then return output_of(make, step, other, field) end
  if other == "item" then return ("{{item.%s}}"):format(field) end
  if expression:match "^%s*item%s*$" then return "{{item}}" end
  if not is_open(make, step, expression) then return nil end
  refuse(make, step, ("compute ${%s}"):format(expression), "let the step compute it, or the step that it comes from")
  return ""
end

-- A value of `with`, as the task gives it.
local function argument(make, step, value)
  if type(value) ~= "string" or not argo.open(make, step, value) then return text_of(known(make, step, value)) end
  local own = {} -- Argo's variables, which are put in when the rest is known
  local text = value:gsub("%${(.-)}", function(expression)
    local variable = in_dag(make, step, expression)
    if not variable then return text_of(known(make, step, "${" .. expression .. "}")) end
    own[#own + 1] = variable
    return ("fs+%d+fs"):format(#own)
  end)
  return (plain(make, step, text):gsub("fs%+(%d+)%+fs", function(n) return own[tonumber(n)] end))
end

-- An expression within the step's template, and whether its value has a type of its own (else it is a text); nil: it is known now.
local function in_template(make, step, place, expression)
  local word = expression:match "^%s*([%a_][%w_]*)%s*$"
  local given = (step.with or {})[word or ""]
  if given ~= nil then
    local open = argo.open(make, step, given)
    if not open and not make.is_template then return nil end -- a template's parameters another pipeline may give
    local now = not open and known(make, step, given)
    return parameter(place, word, argument(make, step, given)),
      open and tostring(given):find "^%${[^}]*}$" or type(now) == "number" or now == true or now == false and not open
  end
  local other, field = expression:match "^%s*([%a_][%w_]*)%s*%.%s*([%a_][%w_]*)%s*$"
  local value = in_dag(make, step, expression)
  if value == nil then return nil end
  return parameter(place, other and other .. "-" .. field or "item", value), true
end

-- A text whose open expressions are marks, so that it can be read as YAML; each mark is replaced when it is written.
-- alone: the expression is all of a value that is not quoted, and may become a number.
local function mark(place, expression, variable, alone)
  place.marks[#place.marks + 1] = { expression = expression, variable = variable, alone = alone }
  return ("fs+%d+fs"):format(#place.marks)
end

-- Is an expression between these texts a whole value without quotes?
local function is_alone(before, after)
  local line, rest = before:match "[^\n]*$", after:match "^[^\n]*"
  local _, singles = line:gsub("'", "")
  local _, doubles = line:gsub('"', "")
  if singles % 2 == 1 or doubles % 2 == 1 then return false end
  local begins = line:find "[:%-]%s+$" or line:find "[%[{,]%s*$" or line:find "^%s*$"
  return begins and (rest:find "^%s*$" or rest:find "^%s*[,%]}]") and true or false
end

local function marked(make, step, place, text, whole)
  plain(make, step, text)
  local out, at = {}, 1
  for from, expression, to in text:gmatch "()%${(.-)}()" do
    local variable, typed = in_template(make, step, place, expression)
    if variable then
      local before, after = text:sub(1, from - 1), text:sub(to)
      local alone = whole and typed and before == "" and after == "" or not whole and is_alone(before, after)
      out[#out + 1] = text:sub(at, from - 1) .. mark(place, expression, variable, alone)
      at = to
    end
  end
  out[#out + 1] = text:sub(at)
  local result = table.concat(out)
  if result:find("${", 1, true) then return known(make, step, result) end
  return plain(make, step, result)
end

local function unmarked(place, text)
  text = text:gsub('"fs%+(%d+)%+fs"', function(n)
    local m = place.marks[tonumber(n)]
    return m.alone and m.variable or nil
  end)
  return (text:gsub("fs%+(%d+)%+fs", function(n)
    local m = place.marks[tonumber(n)]
    return m.variable
  end))
end

-- A text with its marks as they are spelled in the pipeline, for errors.
local function spelled(place, text)
  return (text:gsub("fs%+(%d+)%+fs", function(n) return "${" .. place.marks[tonumber(n)].expression .. "}" end))
end

-- A value of the step with its references as variables.
local function words(make, step, place, value)
  if type(value) == "string" then
    local text = marked(make, step, place, value, true)
    return type(text) == "string" and unmarked(place, text) or text
  elseif type(value) ~= "table" then
    return value
  end
  local copy = core.array {}
  for i, item in ipairs(value) do copy[i] = words(make, step, place, item) end
  return copy
end

local function inputs_of(place)
  if #place.inputs == 0 then return nil end
  local list = core.array {}
  for i, name in ipairs(place.inputs) do list[i] = { name = name } end
  return { parameters = list }
end

local function arguments_of(place, inherit)
  if #place.inputs == 0 then return nil end
  local list = core.array {}
  for i, name in ipairs(place.inputs) do
    list[i] = { name = name, value = inherit and ("{{inputs.parameters.%s}}"):format(name) or place.given[name] }
  end
  return { parameters = list }
end

argo.words = {
  refuse = refuse, plain = plain, env_of = env_of, known = known, in_dag = in_dag, argument = argument,
  marked = marked, unmarked = unmarked, spelled = spelled, words = words, inputs_of = inputs_of,
  arguments_of = arguments_of
}
