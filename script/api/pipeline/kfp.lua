-- SPDX-License-Identifier: MIT
-- flow:kfp(): a pipeline as Kubeflow's intermediate representation (PipelineSpec 2.1.0), whose containers run `firesteel step`
-- (kfpstep.lua). What the representation cannot say is refused, by the name of the step.
local core = ...
local flow, kfp = core.pipeline.flow, core.pipeline.kfp
local refuse, sorted, task_name, settled, condition_of = kfp.refuse, kfp.sorted, kfp.task_name, kfp.settled, kfp.condition_of
local COMMAND = "/opt/firesteel/firesteel"
local RUN = "pipeline-run-id" -- the input of each step that tells this run from others; no word of ours has two hyphens
local EXIT = "exit-handler-1" -- Kubeflow's own name for what steps of the end wait for
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
  for _, field in ipairs { "image", "command", "args", "env", "volumes", "queue", "priority", "template" } do own[field] = fill(step[field]) end
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
