-- SPDX-License-Identifier: MIT
-- `firesteel step`: one step of a pipeline in a pod of Kubeflow's, with the inputs that Kubeflow gives it.
local core = ...

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
  core.check_kind("pipeline_step", "the step", spec, "table")
  core.check_kind("pipeline_step", "its name", spec.name, "string")
  core.check_kind("pipeline_step", "inputs", inputs, "table")
  core.check_kind("pipeline_step", "outputs", outputs or {}, "table")
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
