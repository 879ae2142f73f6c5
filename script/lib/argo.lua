-- SPDX-License-Identifier: MIT
-- A pipeline in Argo's words: each step a template, their order a DAG, the steps of the end its exit handler. What Argo
-- cannot say is refused by name, with what to do instead. argorun.lua submits it and shows it.
local core = ...
local flow = core.pipeline.flow
local argo = {}
core.pipeline.argo = argo

local API = "argoproj.io/v1alpha1"
local WORKER = "/opt/firesteel/firesteel-worker"

-- When a resource template's object is done, and when it has failed: selectors over its fields. A Job's end has a time only
-- when it is a good one; its bad ends are conditions.
local STATES = {
  SparkApplication = { field = "status.applicationState.state", good = "COMPLETED", bad = { "FAILED" } },
  Pod = { field = "status.phase", good = "Succeeded", bad = { "Failed" } },
  Workflow = { field = "status.phase", good = "Succeeded", bad = { "Failed", "Error" } },
}

local function conditions_of(object, wanted)
  local state = STATES[object.kind]
  if state then
    local bad = {}
    for _, word in ipairs(state.bad) do
      if word ~= (wanted or state.good) then bad[#bad + 1] = word end
    end
    return ("%s == %s"):format(state.field, wanted or state.good),
      #bad == 1 and ("%s == %s"):format(state.field, bad[1]) or #bad > 1 and ("%s in (%s)"):format(state.field, table.concat(bad, ", ")) or nil
  elseif object.kind == "Job" and (wanted or "Complete") == "Complete" then
    return "status.completionTime", "status.conditions.0.type in (FailureTarget, Failed),status.conditions.1.type in (FailureTarget, Failed)"
  elseif object.kind == "Deployment" and (wanted or "Available") == "Available" then
    if tonumber((object.spec or {}).replicas) == 0 then return nil end -- a count of 0 is left out of the status
    return ("status.availableReplicas == %s"):format(tostring((object.spec or {}).replicas or 1)),
      "status.conditions.0.reason == ProgressDeadlineExceeded,status.conditions.1.reason == ProgressDeadlineExceeded"
  elseif wanted then
    return nil, nil, ("wait until a %s is %s"):format(object.kind, wanted)
  end
end

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

-- Outputs.

local FILE = "let it write a file, and say outputs = { %s = { file = \"/tmp/%s\" } }, in a step with an image or a trainer"

local function json_path(field)
  local path = ""
  for part in field:gmatch "[^.]+" do
    local n = math.tointeger(tonumber(part))
    path = path .. (n and ("[%d]"):format(n - 1) or part:find "^[%w_]+$" and "." .. part or ("['%s']"):format(part))
  end
  return ("{%s}"):format(path)
end

local function output_source(make, step, name, object)
  local source = step.outputs and step.outputs[name]
  if type(source) == "string" then source = { field = source } end
  if not source and object and name == "name" then source = { field = "metadata.name" } end
  if not source and object and name == "state" and STATES[object.kind] then source = { field = STATES[object.kind].field } end
  if not source then
    refuse(make, step, ("find the output %s in a log"):format(name), FILE:format(name, name))
  elseif source.log then
    refuse(make, step, ("read the output %s from a log"):format(name), FILE:format(name, name))
  elseif source.metric then
    refuse(make, step, ("read the metric %s"):format(source.metric), FILE:format(name, name))
  elseif source.field and not object then
    refuse(make, step, ("read the field %s: the step is a pod there, not an object of its own"):format(source.field), FILE:format(name, name))
  elseif source.file and object then
    refuse(make, step, ("read a file of the objects that it applies (output %s)"):format(name),
      "read a field of the object, or let a step with an image compute it")
  elseif source.file and not source.file:find "^/" then
    refuse(make, step, ("read the file %s"):format(source.file), "name it with its whole path, as /tmp/" .. name)
  elseif source.file then
    return { path = plain(make, step, source.file) }
  else
    return { jsonPath = json_path(source.field) }
  end
end

-- object: what a resource template applies; nil: a container.
local function outputs_of(make, step, object)
  local names, list = {}, core.array {}
  for name in pairs(step.outputs or {}) do names[name] = true end
  for name in pairs(make.needs[step.name] or {}) do names[name] = true end
  local sorted = {}
  for name in pairs(names) do sorted[#sorted + 1] = name end
  table.sort(sorted)
  for _, name in ipairs(sorted) do
    local from = output_source(make, step, name, object)
    if from then list[#list + 1] = { name = name, valueFrom = from } end
  end
  return #list > 0 and { parameters = list } or nil
end

-- Templates.

local function labels_of(make, step)
  return { ["firesteel/pipeline"] = make.flow.name, ["firesteel/step"] = step.name, ["firesteel/workflow"] = "{{workflow.name}}" }
end

local function seconds(duration)
  return duration and math.max(1, math.ceil(core.duration(duration))) or nil
end

local function retry_of(step)
  return (step.retries or 0) > 0 and { limit = tostring(step.retries), retryPolicy = "Always" } or nil
end

local function objects_of(make, step, place)
  local source = core.pipeline.text(make.flow, step)
  local ok, objects
  if type(source) == "string" then
    ok, objects = pcall(core.call, "k8s.manifest", { text = marked(make, step, place, source) })
  else
    local function copy(value)
      if type(value) == "string" then return marked(make, step, place, value, true) end
      if type(value) ~= "table" then return value end
      local out = setmetatable({}, getmetatable(value))
      for key, item in pairs(value) do out[copy(key)] = copy(item) end
      return out
    end
    ok, objects = pcall(core.call, "k8s.manifest", { value = copy(source) })
  end
  if not ok then core.fail("error", spelled(place, ("pipeline %s: step %s: %s"):format(make.flow.name, step.name, objects))) end
  return plain(make, step, objects)
end

-- One object: a resource template. last: it is the step's last, whose state and outputs count.
local function resource(make, step, place, object, last)
  local meta = object.metadata
  local generated = meta.name == nil and meta.generateName
  if not generated and (step.retries or 0) > 0 then
    refuse(make, step, spelled(place, ("try %s %s again: it would apply the object that failed"):format(object.kind, meta.name)),
      "give it a generateName instead of a name")
  end
  local namespace = step.namespace or make.flow.namespace
  meta.namespace = meta.namespace or plain(make, step, namespace)
  meta.labels = meta.labels or {}
  for label, value in pairs(labels_of(make, step)) do meta.labels[label] = value end
  local good, bad, cannot
  if last then good, bad, cannot = conditions_of(object, step.reaches) end
  if cannot then refuse(make, step, spelled(place, cannot), "wait for another state (of a Job Complete, of a Deployment Available), or run it with flow:run()") end
  make.objects[#make.objects + 1] = object
  return { inputs = inputs_of(place), activeDeadlineSeconds = seconds(step.timeout),
    outputs = last and outputs_of(make, step, object) or nil,
    resource = { action = generated and "create" or "apply", successCondition = good and unmarked(place, good), failureCondition = bad,
      -- what is in another namespace cannot belong to the workflow
      setOwnerReference = (namespace == nil or namespace == make.flow.namespace) and meta.namespace == make.flow.namespace or nil,
      manifest = unmarked(place, core.block_yaml(object)) } }
end

local function add(make, name, template)
  template.name = name
  make.templates[#make.templates + 1] = template
end

-- Several objects: one after the other, in a template of their own.
local function apply(make, step, place)
  local objects, name = objects_of(make, step, place), argo.name_of(step)
  local first = #make.templates + 1
  make.applied[step.name] = objects
  if #objects == 1 then
    local template = resource(make, step, place, objects[1], true)
    template.retryStrategy = retry_of(step)
    add(make, name, template)
    return
  end
  local groups, outputs = core.array {}, nil
  for i, object in ipairs(objects) do
    local one = ("%s-%d"):format(name, i)
    local template = resource(make, step, place, object, i == #objects)
    outputs = template.outputs or outputs
    add(make, one, template)
    groups[i] = core.array { { name = one, template = one, arguments = arguments_of(place, true) } }
  end
  if outputs then
    local list = core.array {}
    for i, output in ipairs(outputs.parameters) do
      list[i] = { name = output.name, valueFrom = { parameter = ("{{steps.%s-%d.outputs.parameters.%s}}"):format(name, #objects, output.name) } }
    end
    outputs = { parameters = list }
  end
  for i = first, #make.templates do make.templates[i].inputs = inputs_of(place) end
  add(make, name, { inputs = inputs_of(place), outputs = outputs, steps = groups, retryStrategy = retry_of(step) })
end

local function environment(make, step, place, env)
  local names, list = {}, core.array {}
  for name in pairs(env or {}) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do list[i] = { name = plain(make, step, name), value = tostring(words(make, step, place, env[name])) } end
  return #list > 0 and list or nil
end

local function texts(list)
  for i, word in ipairs(list or {}) do list[i] = tostring(word) end
  return list
end

local function container(make, step, place, given)
  if step.namespace and step.namespace ~= make.flow.namespace then
    refuse(make, step, ("run a pod in the namespace %s"):format(step.namespace), "apply a Job there, or give the whole pipeline that namespace")
  end
  local command = given.command
  if type(command) == "string" then command = { "sh", "-c", command } end
  local made = { image = tostring(words(make, step, place, given.image)),
    imagePullPolicy = make.options.pull, -- nil: the cluster's own choice
    command = command and texts(words(make, step, place, command)) or nil,
    args = given.args and texts(words(make, step, place, given.args)) or nil, env = environment(make, step, place, given.env) }
  local outputs = outputs_of(make, step)
  add(make, argo.name_of(step), { inputs = inputs_of(place), outputs = outputs, metadata = { labels = labels_of(make, step) },
    activeDeadlineSeconds = seconds(step.timeout), retryStrategy = retry_of(step), container = made })
end

local function trainer_step(make, step, place)
  local given = type(step.trainer) == "table" and step.trainer or { step.trainer }
  for option, value in pairs(given) do
    if option == "np" and value ~= 1 or option == "inputs" or option == "outputs" or option == "check" then
      refuse(make, step, ("give a trainer %s"):format(option), option == "np" and "apply an MPIJob or a SparkApplication with that many ranks"
        or "add the files to the image, and read results from files (outputs = …)")
    end
  end
  if not make.options.image then
    refuse(make, step, "run a trainer without an image", 'build one with the trainer in it, and say flow:submit { image = img.ref }')
  end
  local command = core.array { WORKER, given[1] }
  for _, word in ipairs(given.args or {}) do command[#command + 1] = word end
  container(make, step, place, { image = make.options.image or "", command = command, env = given.env })
end

-- What kubectl calls the objects of these steps, by namespace: { namespace =, kinds = {…}, steps = {…} } of each.
local function applied_of(make, step)
  local places = {}
  local function put(list, word)
    if not list[word] then list[#list + 1], list[word] = word, true end
  end
  for _, other in ipairs(type(step.delete) == "table" and step.delete or { step.delete }) do
    for _, object in ipairs(make.applied[other] or {}) do
      local group, version = object.apiVersion:match "^(.-)/(.+)$"
      local namespace = object.metadata.namespace or ""
      if namespace:find "fs%+%d+%+fs" then
        refuse(make, step, ("delete what step %s makes: its namespace is known only then"):format(other), "name the namespace")
      end
      if not places[namespace] then
        places[namespace] = { namespace = namespace, kinds = {}, steps = {} }
        places[#places + 1] = places[namespace]
      end
      put(places[namespace].kinds, group and ("%s.%s.%s"):format(object.kind:lower(), version, group) or object.kind:lower())
      put(places[namespace].steps, other)
    end
  end
  return places
end

-- By label: objects whose names the server chose, and those of attempts that failed. Pods of steps with an image belong to
-- the workflow, and go with it. Each namespace has a deletion of its own.
local function delete(make, step)
  local name, groups = argo.name_of(step), core.array {}
  local places = applied_of(make, step)
  for i, place in ipairs(places) do
    local one = #places > 1 and ("%s-%d"):format(name, i) or name
    local flags = core.array { table.concat(place.kinds, ","),
      ("--selector=firesteel/workflow={{workflow.name}},firesteel/step in (%s)"):format(table.concat(place.steps, ",")) }
    if place.namespace ~= "" and place.namespace ~= make.flow.namespace then flags[#flags + 1] = "--namespace=" .. place.namespace end
    add(make, one, { activeDeadlineSeconds = seconds(step.timeout), resource = { action = "delete", flags = flags } })
    groups[i] = { name = one, template = one }
  end
  if #places == 0 then add(make, name, { suspend = { duration = "0" } }) end
  if #places > 1 then add(make, name, { steps = core.array { groups } }) end
end

-- The DAG.

local OPERATORS = { ["and"] = "&&", ["or"] = "||", ["not"] = "!", ["true"] = "true", ["false"] = "false", ["~="] = "!=" }
local SIGNS = { "^[=~<>]=", "^[<>()+%-*/%%]" }

-- A value that is known now, as a word of a condition.
local function constant(make, step, value)
  if type(value) == "number" or type(value) == "boolean" then return { text = tostring(value) } end
  if type(value) ~= "string" then
    refuse(make, step, ("compare a %s in `when`"):format(type(value)), "compare outputs with numbers and texts")
  elseif value:find "%c" then
    refuse(make, step, "compare with a text of several lines in `when`", "let the step compare it")
  end
  return { text = core.pipeline.quoted(plain(make, step, tostring(value))), is_text = true }
end

-- ${…} of a condition: a variable of Argo's, or what is known now.
local function operand(make, step, expression)
  local word = expression:match "^%s*([%a_][%w_]*)%s*$"
  local given = (step.with or {})[word or ""]
  if given ~= nil and argo.open(make, step, given) then
    local value = argument(make, step, given)
    if tostring(given):find "^%${[^}]*}$" then return { text = value, is_open = true } end
    return { text = core.pipeline.quoted(value), is_text = true }
  end
  local variable = in_dag(make, step, expression)
  if variable then return { text = variable, is_open = true } end
  return constant(make, step, known(make, step, "${" .. expression .. "}"))
end

-- The first word of a condition in Argo's words, and how long it is.
local function read_word(make, step, text)
  local expression = text:match "^%${(.-)}"
  if expression then return operand(make, step, expression), #expression + 3 end
  for _, quote in ipairs { '"', "'" } do
    local at = text:sub(1, 1) == quote and 2 or nil
    while at and text:sub(at, at) ~= quote do at = at + (text:sub(at, at) == "\\" and 2 or 1) end -- pipeline.check has read it: it ends
    if at then return constant(make, step, load("return " .. text:sub(1, at))()), at end
  end
  local word = text:match "^[%a_][%w_.]*" or text:match "^%d[%w.]*" or text:match(SIGNS[1]) or text:match(SIGNS[2])
  if not word then
    refuse(make, step, ("say %s in `when`"):format(text), "compare outputs with numbers and texts")
    return { text = "" }, #text
  elseif not word:find "^[%a_]" or OPERATORS[word] then
    return { text = OPERATORS[word] or word }, #word
  elseif type(_G[word]) == "number" or type(_G[word]) == "string" then
    return constant(make, step, _G[word]), #word
  end
  refuse(make, step, ("read %s in `when`"):format(word), "compare outputs with numbers and texts")
  return { text = "" }, #word
end

-- A Lua condition in Argo's words. An output that is compared with a text is quoted as the text is.
local function when_of(make, step)
  if not step.when or step.exit then return nil end
  if not argo.open(make, step, step.when) then return not core.pipeline.holds(step, env_of(step)) and "false" or nil end
  local list, spaces, text = {}, {}, step.when
  while text:find "%S" do
    local blank, rest = text:match "^(%s*)(.*)$"
    local word, length = read_word(make, step, rest)
    list[#list + 1], spaces[#list + 1], text = word, blank, rest:sub(length + 1)
  end
  local out = {}
  for i, word in ipairs(list) do
    local function beside(by)
      local sign, other = list[i + by], list[i + 2 * by]
      return sign and (sign.text == "==" or sign.text == "!=") and other and other.is_text
    end
    local quote = word.is_open and (beside(1) or beside(-1))
    local blank = i > 1 and list[i - 1].text ~= "!" and spaces[i]:gsub("%s+", " ") or ""
    out[i] = blank .. (quote and "'" .. word.text .. "'" or word.text)
  end
  return table.concat(out)
end

local function fan_out(make, step, task)
  if step.each == nil then return end
  if step.at_once then refuse(make, step, "limit how many of its items run at once", "leave at_once out, or give flow:submit { at_once = … } for the whole workflow") end
  if type(step.each) == "string" and argo.open(make, step, step.each) then
    local expression = step.each:match "^%${([^}]*)}$"
    task.withParam = expression and in_dag(make, step, expression) or ""
  else
    local items = known(make, step, step.each)
    if type(items) ~= "table" then core.fail("error", ("step %s: each is a list, not %s"):format(step.name, tostring(items))) end
    task.withItems = core.array {}
    for i, item in ipairs(items) do task.withItems[i] = item end
  end
end

local function template_of(make, step, place)
  if step.kind == "call" then
    refuse(make, step, "run a Lua function", "write it as a trainer file or a step with an image, or run the pipeline with flow:run()")
  elseif step.kind == "apply" then
    apply(make, step, place)
  elseif step.kind == "image" then
    container(make, step, place, step)
  elseif step.kind == "trainer" then
    trainer_step(make, step, place)
  elseif step.kind == "delete" then
    delete(make, step)
  end
end

local function sorted_names(make, map)
  local list = core.array {}
  for name in pairs(map) do list[#list + 1] = argo.name_of(make.flow.steps[name]) end
  table.sort(list)
  return #list > 0 and list or nil
end

local function task_of(make, step)
  local place = make.places[step.name]
  local task = { name = argo.name_of(step), when = when_of(make, step), arguments = arguments_of(place) }
  if step.kind == "use" then
    local reference, template = step.use:match "^(.-)/(.+)$"
    task.templateRef = { name = reference, template = template:gsub("_", "-") }
    local list = core.array {}
    for name, value in pairs(step.with or {}) do list[#list + 1] = { name = name, value = argument(make, step, value) } end
    table.sort(list, function(a, b) return a.name < b.name end)
    task.arguments = #list > 0 and { parameters = list } or nil
  else
    task.template = task.name
  end
  fan_out(make, step, task)
  return task
end

-- The steps of the end, one after the other; one that fails does not keep the others from it.
local function exit_of(make)
  local groups = core.array {}
  for _, name in ipairs(make.flow.order) do
    local step = make.flow.steps[name]
    if step.exit then
      local task = task_of(make, step)
      if step.when == "failed" then task.when = "'{{workflow.status}}' != 'Succeeded'" end
      task.continueOn = { error = true, failed = true }
      groups[#groups + 1] = core.array { task }
    end
  end
  if #groups == 0 then return nil end
  groups[#groups][1].continueOn = nil
  add(make, "at-the-end", { steps = groups })
  return "at-the-end"
end

local RESERVED = { main = true, ["at-the-end"] = true }

-- All templates and the tasks of the DAG. needs: outputs that others read, of a pass before.
local function pass(self, options, needs, is_template)
  local make = { flow = self, options = options, needs = needs, is_template = is_template, templates = core.array {}, refused = {}, places = {}, applied = {}, objects = {} }
  local tasks = core.array {}
  for _, name in ipairs(self.order) do
    local step = self.steps[name]
    if RESERVED[name] then refuse(make, step, ("have a step called %s"):format(name), "call it otherwise") end
    if step.kind == "use" and step.exit then refuse(make, step, "use a template at the end here", "write the step out") end
    make.places[name] = { inputs = core.array {}, given = {}, marks = {} }
    template_of(make, step, make.places[name])
    if not step.exit then
      local task = task_of(make, step)
      task.dependencies = sorted_names(make, step.after)
      tasks[#tasks + 1] = task
    end
  end
  make.exit = exit_of(make)
  return make, tasks
end

local function check_refused(make)
  if #make.refused == 0 then return end
  local lines, seen = {}, {}
  for _, line in ipairs(make.refused) do
    if not seen[line] then lines[#lines + 1], seen[line] = line, true end
  end
  core.fail("error", ("pipeline %s: %s"):format(make.flow.name, table.concat(lines, "\nand ")))
end

-- The spec of a Workflow, and what was found on the way. Which outputs others read is known after a first pass.
function argo.spec(self, options, is_template)
  core.pipeline.check(self)
  local needs = pass(self, options, {}, is_template).needs
  local make, tasks = pass(self, options, needs, is_template)
  check_refused(make)
  local pieces = {}
  for _, template in ipairs(make.templates) do pieces[template.name] = template end
  for _, task in ipairs(tasks) do pieces[task.name] = { pieces[task.name] or {}, task } end
  core.pipeline.no_secrets(self, pieces, { make.templates, tasks })
  if #tasks == 0 then core.fail("error", ("pipeline %s: Argo needs a step that does not run at the end"):format(self.name)) end
  table.insert(make.templates, 1, { name = "main", dag = { tasks = tasks } })
  local ttl = seconds(options.ttl)
  return { entrypoint = "main", onExit = make.exit, templates = make.templates, serviceAccountName = options.account,
    activeDeadlineSeconds = self.timeout and math.max(1, math.ceil(self.timeout)) or nil, parallelism = options.at_once,
    ttlStrategy = ttl and { secondsAfterCompletion = ttl } or nil }, make
end

local function metadata(self, name)
  return { name = name, generateName = not name and self.name .. "-" or nil, namespace = self.namespace,
    labels = { ["firesteel/pipeline"] = self.name } }
end

function argo.workflow(self, options)
  local spec, make = argo.spec(self, options)
  return { apiVersion = API, kind = "Workflow", metadata = metadata(self), spec = spec }, make
end

-- A name that can be a step's `use`.
function argo.template(self, name, options)
  local spec, make = argo.spec(self, options, true)
  return { apiVersion = API, kind = "WorkflowTemplate", metadata = metadata(self, name), spec = spec }, make
end

function argo.cron(self, schedule, options)
  local spec, make = argo.spec(self, options)
  return { apiVersion = API, kind = "CronWorkflow", metadata = metadata(self, options.name or self.name), spec = {
    schedules = core.array { schedule }, timezone = options.timezone, concurrencyPolicy = options.concurrency or "Forbid",
    successfulJobsHistoryLimit = options.keep, failedJobsHistoryLimit = options.keep,
    workflowMetadata = { labels = { ["firesteel/pipeline"] = self.name } }, workflowSpec = spec } }, make
end

-- flow:argo { template = "refit" }: the text of a WorkflowTemplate; { cron = "0 3 * * *" }: of a CronWorkflow; else of a Workflow.
function flow:argo(options)
  options = core.check("flow:argo", options)
  if options.template then return core.block_yaml((argo.template(self, options.template, options))) end
  if options.cron then return core.block_yaml((argo.cron(self, options.cron, options))) end
  return core.block_yaml((argo.workflow(self, options)))
end

core.api [[
flow:argo({template: string=, cron: string=, name: string=, account: string=, image: string=, pull: string=, ttl: duration=, at_once: integer=, timezone: string=, concurrency: string=, keep: integer=}) -> string
  The pipeline as the text of an Argo Workflow: a DAG, its steps as templates. flow:submit sends it.
  template: of a WorkflowTemplate of this name instead
  cron: of a CronWorkflow with this schedule instead
  name: the CronWorkflow's; the pipeline's unless it is said
  account: the service account that its pods run as
  image: in which trainers run: image.build with the trainer in it
  pull: when images are pulled: "Always", "IfNotPresent", "Never"
  ttl: how long the workflow stays when it has ended
  at_once: how many of its pods run at once
  timezone: the schedule's
  concurrency: of a schedule: "Allow", "Forbid", "Replace"; Forbid unless it is said
  keep: of a schedule: how many ended workflows stay
  errors: what Argo cannot say (a Lua function, a line of a log as output), by the step's name, with what to do instead
  example:
    flow = pipeline { "hello", steps = { greet = { image = "busybox", command = "echo hello" } } }
    expect(flow:argo()):contains "kind: Workflow"
]]
