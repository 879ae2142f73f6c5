-- SPDX-License-Identifier: MIT
-- The steps of a pipeline as Argo's templates: what they apply and when it is done, containers, deletions, and outputs.
local core = ...
local argo = core.pipeline.argo
local texts_of = argo.words
local refuse, plain, marked, unmarked, spelled, words = texts_of.refuse, texts_of.plain, texts_of.marked, texts_of.unmarked, texts_of.spelled, texts_of.words
local inputs_of, arguments_of = texts_of.inputs_of, texts_of.arguments_of
local WORKER = "/opt/firesteel/firesteel-worker"

-- When a resource template's object is done, and when it has failed: selectors over its fields. Where the state is a word in one
-- field, the table of kinds has it. Others only Argo's own ways tell: a Job's end has a time only when it is a good one; its bad
-- ends are conditions. Conditions have no fixed places, so of other kinds nothing can be waited for.
local CONDITIONS = {}

CONDITIONS["batch/v1 Job"] = function(_, wanted)
  if wanted == "Complete" then
    return "status.completionTime", "status.conditions.0.type in (FailureTarget, Failed),status.conditions.1.type in (FailureTarget, Failed)"
  end
end

CONDITIONS["apps/v1 Deployment"] = function(object, wanted)
  local replicas = (object.spec or {}).replicas or 1
  if wanted ~= "Available" then return nil end
  if tonumber(replicas) == 0 then return "" end -- a count of 0 is left out of the status
  return ("status.availableReplicas == %s"):format(tostring(replicas)),
    "status.conditions.0.reason == ProgressDeadlineExceeded,status.conditions.1.reason == ProgressDeadlineExceeded"
end

CONDITIONS["apps/v1 StatefulSet"] = function(object, wanted)
  local replicas = (object.spec or {}).replicas or 1
  if wanted ~= "Available" then return nil end
  return tonumber(replicas) == 0 and "" or ("status.availableReplicas == %s"):format(tostring(replicas))
end

-- The one field that has the state's word; nil: there is none, or the word of an end does not stay.
local function state_field(known)
  return known and #known.words == 1 and not known.past and known.words[1] or nil
end

local function conditions_of(object, wanted)
  local known = core.pipeline.known(object)
  local state, field = wanted or (known or {}).success, state_field(known)
  local own = CONDITIONS[object.apiVersion .. " " .. object.kind]
  if not state then return nil end
  if field and (#known.good > 0 or wanted or #known.way > 0) then
    local bad = {}
    for _, word in ipairs(known.bad) do
      if word ~= state then bad[#bad + 1] = word end
    end
    return ("%s == %s"):format(field, state),
      #bad == 1 and ("%s == %s"):format(field, bad[1]) or #bad > 1 and ("%s in (%s)"):format(field, table.concat(bad, ", ")) or nil
  end
  local good, bad
  if own then good, bad = own(object, state) end
  if good then return good ~= "" and good or nil, bad end
  return nil, nil, ("wait until a %s is %s"):format(object.kind, state)
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
  local state = object and name == "state" and not source and state_field(core.pipeline.known(object))
  if state then source = { field = state } end
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
  for _, option in ipairs { "queue", "priority", "template" } do
    if given[option] then refuse(make, step, ("give the pod of a step its %s"):format(option), "apply a Job that has it, or run the pipeline with flow:run()") end
  end
  local command = given.command
  if type(command) == "string" then command = { "sh", "-c", command } end
  local made = { image = tostring(words(make, step, place, given.image)),
    imagePullPolicy = make.options.pull, -- nil: the cluster's own choice
    command = command and texts(words(make, step, place, command)) or nil,
    args = given.args and texts(words(make, step, place, given.args)) or nil, env = environment(make, step, place, given.env) }
  local places, volumes = {}, nil
  for at, source in pairs(given.volumes or {}) do places[plain(make, step, at)] = words(make, step, place, source) end
  volumes, made.volumeMounts = core.pipeline.volumes(places)
  local outputs = outputs_of(make, step)
  add(make, argo.name_of(step), { inputs = inputs_of(place), outputs = outputs, metadata = { labels = labels_of(make, step) },
    activeDeadlineSeconds = seconds(step.timeout), retryStrategy = retry_of(step), container = made, volumes = volumes })
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

argo.steps = {
  add = add, seconds = seconds, apply = apply, container = container, trainer_step = trainer_step,
  delete = delete
}
