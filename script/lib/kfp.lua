-- SPDX-License-Identifier: MIT
-- flow:kfp(): a pipeline as Kubeflow's intermediate representation (PipelineSpec 2.1.0), whose containers run `firesteel step`;
-- and what that verb does. What the representation cannot say is refused, by the name of the step.
local core = ...
local flow = core.pipeline.flow
local COMMAND = "/opt/firesteel/firesteel"
local RUN = "pipeline-run-id" -- the input of each step that tells this run from others; no word of ours has two hyphens
local EXIT = "exit-handler-1" -- Kubeflow's own name for what steps of the end wait for

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

local OPEN = "known-when-it-runs"

-- A text of the step with its parameters, as far as they are known; OPEN stands for the rest.
local function foreseen(self, step, text, parameters)
  return (settled(self, step, text, parameters, {}, true):gsub("%${%s*(.-)%s*}", function(word)
    local value = settled(self, step, (step.with or {})[word], parameters, {}, true)
    return type(value) ~= "table" and value ~= nil and not tostring(value):find("${", 1, true) and tostring(value) or OPEN
  end))
end

-- The namespace that an object of the step is in; nil: that of the pod.
local function namespace_of(self, step, object, parameters)
  local named = type(object) == "table" and type(object.metadata) == "table" and object.metadata.namespace
  named = named and foreseen(self, step, tostring(named), parameters) or step.namespace or self.namespace
  if named and named:find(OPEN, 1, true) then
    refuse(self, step, "the namespace of what it makes is known only when it runs, so nothing could delete that")
  end
  return named
end

-- The kinds of objects that a step makes, and their namespaces, for one that deletes them.
local function kinds_of(self, step, parameters)
  if step.kind == "image" then return { { apiVersion = "batch/v1", kind = "Job", namespace = namespace_of(self, step, nil, parameters) } } end
  local kinds, source = {}, core.pipeline.text(self, step)
  if type(source) == "table" then
    local objects = source.kind and { source } or source
    for i, o in ipairs(objects) do kinds[i] = { apiVersion = o.apiVersion, kind = o.kind, namespace = namespace_of(self, step, o, parameters) } end
    return kinds
  end
  for document in ("\n" .. source .. "\n---"):gmatch "(.-)\n%-%-%-" do
    local kind, version = document:match '\n%s*"?kind"?:%s*"?([%w]+)', document:match '\n%s*"?apiVersion"?:%s*"?([%w./]+)'
    if kind and version then
      local ok, object = pcall(yaml.decode, foreseen(self, step, document, parameters))
      kinds[#kinds + 1] = { apiVersion = version, kind = kind, namespace = namespace_of(self, step, ok and object or nil, parameters) }
    end
  end
  if #kinds == 0 then refuse(self, step, "its manifest has no kind that is known before it runs, so nothing could delete what it makes") end
  return kinds
end

local NO = {
  call = "it calls a function of this notebook, which no pod has; put it into a program, and run that as image with command",
  use = "it uses a step of a template; write that step out",
  trainer = "it trains here; put the trainer into an image, and run that as image with command",
}

local function check(self, step)
  if NO[step.kind] then refuse(self, step, "%s", NO[step.kind]) end
  if step.when == "failed" then refuse(self, step, 'when = "failed": a step of its end always runs; when = "always" can be said') end
  for output, source in pairs(step.outputs or {}) do
    if type(source) == "table" and not (source.log or source.field) then
      refuse(self, step, "output %s: a pod gives fields of its object and lines of its log, not %s", output, (next(source)))
    end
  end
  for _, name in ipairs(sorted(step.refs)) do
    local other = self.steps[name]
    if other.when and not other.exit then
      refuse(self, step, "it uses an output of %s, which may be skipped (when)", name)
    end
    if step.exit then refuse(self, step, "it runs at the end, and uses an output of %s, which may not be there then", name) end
  end
end

-- What `firesteel step` gets: the step with all that is known, as JSON. used: gets the names of its inputs.
local function spec_of(self, step, parameters, used)
  local function fill(value) return settled(self, step, value, parameters, used) end
  local spec = { pipeline = self.name, name = step.name, namespace = self.namespace }
  if step.kind == "delete" then
    spec.delete = core.array {}
    for _, name in ipairs(type(step.delete) == "table" and step.delete or { step.delete }) do
      for _, kind in ipairs(kinds_of(self, self.steps[name], parameters)) do
        kind.step = name
        spec.delete[#spec.delete + 1] = kind
      end
    end
    spec.namespace = step.namespace or self.namespace
    return spec
  end
  local own = { reaches = step.reaches, timeout = step.timeout, namespace = step.namespace, outputs = step.outputs }
  if step.kind == "apply" then own.apply = fill(core.pipeline.text(self, step)) end
  for _, field in ipairs { "image", "command", "args", "env" } do own[field] = fill(step[field]) end
  own.with = step.with and fill(step.with)
  for name in pairs(step.with or {}) do used[name] = nil end
  spec.step = own
  return spec
end

-- The outputs of each step that others use, or that it declares.
local function outputs_of(self)
  local all = {}
  for name, step in pairs(self.steps) do
    all[name] = all[name] or {}
    for output in pairs(step.outputs or {}) do all[name][output] = "STRING" end
    for other, fields in pairs(step.refs) do
      all[other] = all[other] or {}
      for field in pairs(fields) do all[other][field] = all[other][field] or "STRING" end
    end
  end
  for _, step in pairs(self.steps) do
    local other, field = type(step.each) == "string" and step.each:match "^%${%s*([%w_]+)%.([%w_]+)%s*}$"
    if other and all[other] then all[other][field] = "LIST" end
  end
  return all
end

local TYPES = { integer = "NUMBER_INTEGER", float = "NUMBER_DOUBLE", string = "STRING", boolean = "BOOLEAN" }

local function type_of(value, what)
  local found = TYPES[math.type(value) or type(value)]
  if not found then core.fail("error", ("flow:kfp: %s is a number, a text or a boolean, not a %s"):format(what, type(value))) end
  return found
end

-- Where a task gets a value from, inside of the graph that has the steps.
local function source_of(self, word)
  local step, output = word:match "^([%w_]+)%.([%w_]+)$"
  if step then return { taskOutputParameter = { producerTask = task_name(step), outputParameterKey = output } } end
  return { componentInputParameter = word }
end

local function key_of(word) return (word:gsub("%.", "-")) end

-- The list of a fan-out: written down, or another step's output.
local function items_of(self, step, used)
  if type(step.each) == "string" then
    local word = step.each:match "^%${%s*([%w_]+%.[%w_]+)%s*}$"
    if not word then
      local list = core.pipeline.filled(step.each, _G, step.name)
      return { raw = core.json(list) }, list
    end
    used[word] = true
    return { inputParameter = key_of(word) }, nil
  end
  return { raw = core.json(settled(self, step, step.each, {}, {}, true)) }, step.each
end

local function item_type(self, step, list)
  local found
  for _, item in ipairs(list or {}) do
    local one = type(item) == "table" and "STRUCT" or TYPES[math.type(item) or type(item)]
    found = (found == nil or found == one) and one or "STRING"
  end
  return found or "STRING"
end

local function add_step(self, step, made, outputs, options)
  local used, name = {}, task_name(step.name)
  check(self, step)
  local spec = spec_of(self, step, options.parameters, used)
  local condition_words = {}
  local condition = step.when and not step.exit and condition_of(self, step, options.parameters, condition_words) or nil
  local args = core.array { "step", "--allow", "cluster,destructive", "--id", ("{{$.inputs.parameters['%s']}}"):format(RUN) }
  local inputs, definitions, types = {}, { [RUN] = { parameterType = "STRING" } }, {}
  local items, list
  local loop_words = {}
  if step.each ~= nil then items, list = items_of(self, step, loop_words) end
  spec.json, spec.types = core.array {}, {}
  for _, word in ipairs(sorted(used)) do
    local other, output = word:match "^([%w_]+)%.([%w_]+)$"
    types[key_of(word)] = word == "item" and item_type(self, step, list) or other and (self.steps[other].each ~= nil and "LIST" or outputs[other][output])
      or type_of(options.parameters[word], word)
    if types[key_of(word)] == "LIST" or types[key_of(word)] == "STRUCT" then spec.json[#spec.json + 1] = word
    elseif not other and (word ~= "item" or list) then spec.types[word] = types[key_of(word)] end
    inputs[#inputs + 1] = word
  end
  if #spec.json == 0 then spec.json = nil end
  if next(spec.types) == nil then spec.types = nil end
  local text = core.json(spec):gsub("%$%(", "\\u0024("):gsub("{{%$", "{\\u007b$") -- neither Kubernetes nor Kubeflow fills these in
  args[#args + 1], args[#args + 2] = "--step", text
  for _, word in ipairs(inputs) do
    args[#args + 1], args[#args + 2] = "--input", ("%s={{$.inputs.parameters['%s']}}"):format(word, key_of(word))
    definitions[key_of(word)] = { parameterType = types[key_of(word)] }
  end
  local own, results = outputs[step.name], {}
  for _, output in ipairs(sorted(own)) do
    args[#args + 1], args[#args + 2] = "--output", ("%s={{$.outputs.parameters['%s'].output_file}}"):format(output, output)
    results[output] = { parameterType = own[output] }
  end
  made.executors["exec-" .. name] = { container = { image = options.image, command = core.array { COMMAND }, args = args } }
  local task = { taskInfo = { name = name }, componentRef = { name = "comp-" .. name }, cachingOptions = {}, inputs = { parameters = {
    [RUN] = { runtimeValue = { constant = "{{$.pipeline_job_uuid}}" } } } } }
  for _, word in ipairs(inputs) do task.inputs.parameters[key_of(word)] = source_of(self, word) end
  if step.retries and step.retries > 0 then
    task.retryPolicy = { maxRetryCount = step.retries, backoffDuration = "0s", backoffFactor = 2.0, backoffMaxDuration = "3600s" }
  end
  made.components["comp-" .. name] = { executorLabel = "exec-" .. name, inputDefinitions = { parameters = definitions },
    outputDefinitions = next(results) and { parameters = results } or nil }
  if step.each ~= nil then task = made.loop(step, task, { items = items, words = loop_words, used = used, types = types, results = results, outputs = outputs }) end
  for _, word in ipairs(sorted(condition_words)) do
    local key, other, output = key_of(word), word:match "^([%w_]+)%.([%w_]+)$"
    task.inputs.parameters[key] = source_of(self, word)
    made.components[task.componentRef.name].inputDefinitions.parameters[key] =
      { parameterType = other and outputs[other][output] or type_of(options.parameters[word], word) }
  end
  if condition then task.triggerPolicy = { condition = condition } end
  local before = core.array {}
  for _, other in ipairs(sorted(step.after)) do before[#before + 1] = task_name(other) end
  if #before > 0 then task.dependentTasks = before end
  return task
end

-- A fan-out is a graph of its own around the step, as Kubeflow's compiler writes it.
local function loop_of(self, made)
  return function(step, task, about)
    local name = task_name(step.name)
    local loop = "for-loop-" .. name
    local outer = { taskInfo = { name = name }, componentRef = { name = "comp-" .. loop }, inputs = { parameters = {} },
      parameterIterator = { itemInput = "item", items = about.items },
      iteratorPolicy = step.at_once and { parallelismLimit = step.at_once } or nil }
    local definitions = { item = { parameterType = about.types.item or "STRING" } }
    for _, word in ipairs(sorted(about.used)) do
      local key = key_of(word)
      if word ~= "item" then
        outer.inputs.parameters[key] = source_of(self, word)
        definitions[key] = { parameterType = about.types[key] }
      end
      task.inputs.parameters[key] = { componentInputParameter = key }
    end
    for word in pairs(about.words) do
      local other, output = word:match "^([%w_]+)%.([%w_]+)$"
      outer.inputs.parameters[key_of(word)] = source_of(self, word)
      definitions[key_of(word)] = { parameterType = about.outputs[other][output] }
    end
    local lists, from = {}, {}
    for output in pairs(about.results) do
      lists[output] = { parameterType = "LIST" }
      from[output] = { valueFromParameter = { producerSubtask = name, outputParameterKey = output } }
    end
    made.components["comp-" .. loop] = { dag = { tasks = { [name] = task }, outputs = next(from) and { parameters = from } or nil },
      inputDefinitions = { parameters = definitions }, outputDefinitions = next(lists) and { parameters = lists } or nil }
    return outer
  end
end

local function check_options(self, options)
  options = core.check("flow:kfp", options)
  if options.image == nil then
    core.fail("error", "flow:kfp: image is the image whose containers run the steps: image.build { firesteel = true, … }:push()")
  end
  for name, value in pairs(options.parameters or {}) do type_of(value, "parameter " .. tostring(name)) end
  if self.timeout then
    core.fail("error", ("pipeline %s: Kubeflow: its representation has no time for a whole pipeline; give the steps a timeout"):format(self.name))
  end
  local seen = {}
  for _, name in ipairs(sorted(self.steps)) do
    if seen[task_name(name)] then refuse(self, self.steps[name], "its name there, %s, is that of step %s", task_name(name), seen[task_name(name)]) end
    seen[task_name(name)] = name
  end
  return { image = tostring(options.image), parameters = options.parameters or {} }
end

-- The steps of the end wait for a graph that has all others, one after the other.
local function with_end(self, tasks, ends, made, parameters)
  if #ends == 0 then return tasks end
  local inputs, definitions = {}, {}
  for name, value in pairs(parameters) do
    inputs[name] = { componentInputParameter = name }
    definitions[name] = { parameterType = type_of(value, name) }
  end
  made.components["comp-" .. EXIT] = { dag = { tasks = tasks }, inputDefinitions = next(definitions) and { parameters = definitions } or nil }
  local root = { [EXIT] = { taskInfo = { name = EXIT }, componentRef = { name = "comp-" .. EXIT }, inputs = next(inputs) and { parameters = inputs } or nil } }
  local before = EXIT
  for _, task in ipairs(ends) do
    task.dependentTasks = core.array { before }
    task.triggerPolicy = { strategy = "ALL_UPSTREAM_TASKS_COMPLETED" }
    root[task.taskInfo.name], before = task, task.taskInfo.name
  end
  return root
end

function flow:kfp(options)
  core.pipeline.check(self)
  options = check_options(self, options)
  local made, tasks, ends = { components = {}, executors = {} }, {}, {}
  made.loop = loop_of(self, made)
  local outputs = outputs_of(self)
  for _, name in ipairs(self.order) do
    local task = add_step(self, self.steps[name], made, outputs, options)
    if self.steps[name].exit then ends[#ends + 1] = task else tasks[task.taskInfo.name] = task end
  end
  local pieces = {}
  for _, name in ipairs(self.order) do pieces[name] = { made.executors["exec-" .. name], made.components["comp-" .. name] } end
  core.pipeline.no_secrets(self, pieces, { made.executors, made.components, tasks, ends, options.parameters })
  local root = { dag = { tasks = with_end(self, tasks, ends, made, options.parameters) } }
  for name, value in pairs(options.parameters) do
    root.inputDefinitions = root.inputDefinitions or { parameters = {} }
    root.inputDefinitions.parameters[name] = { parameterType = type_of(value, name), defaultValue = value, isOptional = true }
  end
  return yaml.encode { schemaVersion = "2.1.0", sdkVersion = "firesteel-" .. core.version, pipelineInfo = { name = self.name },
    root = root, components = made.components, deploymentSpec = { executors = made.executors } }
end

-- firesteel step.

-- What was written down keeps its type; outputs of other steps are what they are to flow:run.
local READ = {
  NUMBER_INTEGER = function(text) return math.tointeger(tonumber(text)) end,
  NUMBER_DOUBLE = function(text) return tonumber(text) and tonumber(text) + 0.0 end,
  BOOLEAN = function(text) return text:lower() == "true" end,
  STRING = function(text) return text end,
}

local function value_of(spec, name, text)
  for _, other in ipairs(spec.json or {}) do
    if other == name then return json.decode(text) end
  end
  local read, value = READ[(spec.types or {})[name]] or core.pipeline.value_of, nil
  value = read(text)
  if value == nil then core.fail("error", ("step %s: --input %s: %q is no %s"):format(spec.name, name, text, spec.types[name])) end
  return value
end

-- Values of other steps are those of steps that give them; parameters and the item are variables.
local function givens(spec, inputs)
  local steps = {}
  for name, text in pairs(inputs) do
    local step, output = name:match "^([%w_]+)%.([%w_]+)$"
    if step then
      steps[step] = steps[step] or {}
      steps[step][output] = value_of(spec, name, text)
    else
      _G[name] = value_of(spec, name, text)
    end
  end
  local all = {}
  for name, values in pairs(steps) do all[name] = { call = function() return values end } end
  return all
end

local function delete_all(spec, labels)
  for _, what in ipairs(spec.delete) do
    local selector = ("firesteel/pipeline=%s,firesteel/step=%s"):format(spec.pipeline, what.step)
    if labels["firesteel/pipeline-run"] then selector = selector .. ",firesteel/pipeline-run=" .. labels["firesteel/pipeline-run"] end
    for _, handle in ipairs(k8s.list(core.pipeline.kind_name(what), { selector = selector, namespace = what.namespace or spec.namespace })) do handle:delete() end
  end
end

-- What `firesteel step` runs.
function pipeline_step(spec, inputs, outputs, id)
  local labels = { ["firesteel/pipeline"] = spec.pipeline, ["firesteel/step"] = spec.name,
    ["firesteel/pipeline-run"] = id ~= "" and id or nil }
  if spec.delete then return delete_all(spec, labels) end
  local steps = givens(spec, inputs)
  steps[spec.name] = spec.step
  local one = pipeline { spec.pipeline, namespace = spec.namespace, steps = steps }
  one.labels = labels
  one:run()
  for name, file in pairs(outputs or {}) do
    local value = one:output(spec.name, name)
    if file:find "/" then fs.mkdir((file:gsub("/[^/]*$", ""))) end
    fs.write(file, type(value) == "table" and core.json(value) or tostring(value))
  end
end

core.api [[
flow:kfp({image: any, parameters: table=}) -> string
  The pipeline as Kubeflow's intermediate representation (PipelineSpec 2.1.0, YAML), for Kubeflow to run: each step is a
  container that runs `firesteel step`. The notebook's variables are filled in; parameters become those of the pipeline.
  image: with firesteel in it: image.build { firesteel = true, tag = "steps:1" }:push()
  parameters: { name = value }: variables that a run may set, with their defaults
  errors: what Kubeflow cannot say (functions, a pipeline's timeout, when = "failed"), by the name of its step
  example:
    flow = pipeline { "hello", steps = { greet = { image = "busybox", command = "echo hello" } } }
    print(flow:kfp({ image = "registry.example.org/steps:1" }):match "schemaVersion: (%S+)") --> 2.1.0
pipeline_step(spec, inputs, outputs, id)
  What `firesteel step` runs in a container of Kubeflow: one step, as flow:kfp() has written it.
  example:
    pipeline_step({ pipeline = "p", name = "a", step = { call = function() return { n = 3 } end } }, {}, { n = firesteel.cwd .. "/n" })
]]
