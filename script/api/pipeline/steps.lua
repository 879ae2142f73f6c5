-- SPDX-License-Identifier: MIT
-- What each kind of step of a pipeline does, and where its outputs come from.
local core = ...
local kinds = core.pipeline.kinds

-- What the table of kinds (k8s/client/kinds) has of an object's kind, with `success`: the state that a step waits for which says
-- none. The last word on the way counts where a kind has no end. nil: it has no states.
function core.pipeline.known(object)
  local known = core.call("k8s.known", { apiVersion = object.apiVersion, kind = object.kind })
  if known then known.success = known.good[1] or known.way[#known.way] end
  return known
end

-- Fills ${…} in all texts of a value. A text that is one expression becomes its value.
local function filled(value, env, what)
  if type(value) == "string" then
    local alone = value:match "^%${([^}]*)}$"
    if alone then
      local fn, why = load("return " .. alone, "=" .. what, "t", env)
      if not fn then core.fail("error", why) end
      local result = fn()
      if result == nil then core.fail("error", ("%s: ${%s} is nil"):format(what, alone)) end
      return result
    end
    return value:find("${", 1, true) and core.fill(value, env, what) or value
  end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in pairs(value) do copy[filled(key, env, what)] = filled(item, env, what) end
  return setmetatable(copy, getmetatable(value))
end

function core.pipeline.filled(value, env, what) return filled(value, env, what) end

-- A text as a word of a condition of Argo's or Kubeflow's.
function core.pipeline.quoted(text)
  return "'" .. text:gsub("[\\']", "\\%0"):gsub("\n", "\\n"):gsub("\r", "\\r") .. "'"
end

-- What is written for others to keep shows no secret that is known. pieces: step → what is written of it.
function core.pipeline.no_secrets(self, pieces, whole)
  if not core.has_secret(core.json(whole)) then return end
  local where = "pipeline " .. self.name
  for _, name in ipairs(self.order) do
    if core.has_secret(core.json(pieces[name] or {})) then where = ("%s: step %s"):format(where, name) break end
  end
  core.fail("error", where .. ": a secret would stand in its text; let the step read a Secret "
    .. "(apply a Job whose env has valueFrom.secretKeyRef)")
end

-- A text that a condition compares with something else than a text between quotes is the number that it says.
local function number_of(value) return type(value) == "string" and tonumber(value) or value end

local function as_numbers(step, expression)
  if expression:find "[\"']" then return expression end
  return (expression:gsub("%f[%w_.][%a_][%w_]*%.?[%w_]*", function(value)
    local word = value:match "^[%w_]+"
    local given = step.refs[word] or word == "item" or (step.with or {})[word] ~= nil
    return given and ("number_of(%s)"):format(value) or nil
  end))
end

-- Is the condition of a step true, with these variables?
function core.pipeline.holds(step, env)
  local text = step.when:gsub("()%${(.-)}()", function(from, expression, to)
    local is_text = step.when:find("^%s*[=~]=%s*[\"']", to) or step.when:sub(1, from - 1):find "[\"']%s*[=~]=%s*$"
    return ("(%s)"):format(is_text and expression or as_numbers(step, expression))
  end)
  local fn, why = load("local number_of = ... return " .. text, "=when", "t", env)
  if not fn then core.fail("error", ("step %s: when: %s"):format(step.name, why)) end
  return fn(number_of)
end

local function reach(step, made, limit)
  local last = made[#made]
  local state = step.reaches or (core.pipeline.known(last) or {}).success
  if state then last:reaches(state, step.timeout or limit or "24h") end
end

-- "job.batch" of an object: its kind, whatever else is called so.
function core.pipeline.kind_name(o)
  local group = o.apiVersion:match "^(.*)/"
  return group and ("%s.%s"):format(o.kind:lower(), group) or o.kind:lower()
end

-- In a pod of its own an attempt finds what the one before it has made by its labels.
local function delete_earlier(flow, o, options)
  local ok, old = pcall(k8s.get, core.pipeline.kind_name(o), o.metadata.name, options)
  local labels = ok and old.metadata.labels or {}
  for name, value in pairs(flow.labels) do
    if labels[name] ~= value then return end
  end
  if ok then old:delete() end
end

-- Each kind: fn(flow, step, env, record). record keeps what was made: { handles =, value = }.
function kinds.apply(flow, step, env, record)
  for _, old in ipairs(record.handles or {}) do old:delete() end -- of the attempt before
  record.handles = nil
  local source = filled(core.pipeline.text(flow, step), env, step.name)
  local objects = core.call("k8s.manifest", type(source) == "string" and { text = source } or { value = source })
  record.handles = {}
  for i, o in ipairs(objects) do
    for name, value in pairs(flow.labels or {}) do
      o.metadata.labels = o.metadata.labels or {}
      o.metadata.labels[name] = value
    end
    local verb = o.metadata.name == nil and o.metadata.generateName and k8s.create or k8s.apply
    local options = { namespace = step.namespace or flow.namespace }
    if flow.labels and o.metadata.name then delete_earlier(flow, o, options) end
    record.handles[i] = verb(o, options)
  end
  reach(step, record.handles, flow.timeout)
end

-- The file that a step's container tells: its pod keeps it as the last words of the container (4096 bytes at most).
local function told_file(step)
  local file
  for output, source in pairs(step.outputs or {}) do
    if type(source) == "table" and source.file then
      if file and file ~= source.file then
        core.fail("error", ("step %s: output %s: a pod can tell one file; write all of it to one, or print it"):format(step.name, output))
      end
      file = source.file
    end
  end
  return file
end

local function last_words(job)
  for _, pod in ipairs(k8s.list("pods", { namespace = job.namespace, selector = "batch.kubernetes.io/job-name=" .. job.name })) do
    for _, container in ipairs((pod.status or {}).containerStatuses or {}) do
      local ended = (container.state or {}).terminated
      if ended and ended.exitCode == 0 then return ended.message end
    end
  end
end

function kinds.image(flow, step, env, record)
  local container = { name = "main", image = tostring(filled(step.image, env, step.name)), terminationMessagePath = told_file(step) }
  for _, field in ipairs { "command", "args" } do
    local words = filled(step[field], env, step.name)
    if words ~= nil then
      container[field] = core.array {}
      for i, word in ipairs(type(words) == "table" and words or { "sh", "-c", words }) do container[field][i] = tostring(word) end
    end
  end
  for name, value in pairs(filled(step.env or {}, env, step.name)) do
    container.env = container.env or {}
    container.env[#container.env + 1] = { name = name, value = tostring(value) }
  end
  if container.env then table.sort(container.env, function(a, b) return a.name < b.name end) end
  local volumes
  volumes, container.volumeMounts = core.pipeline.volumes(filled(step.volumes, env, step.name))
  local labels = { ["firesteel/pipeline"] = flow.name, ["firesteel/step"] = step.name }
  for name, value in pairs(flow.labels or {}) do labels[name] = value end
  record.earlier = record.earlier or {} -- of the attempts before, for a step that deletes
  table.move(record.handles or {}, 1, #(record.handles or {}), #record.earlier + 1, record.earlier)
  local parts, what = core.engine_parts, ("pipeline %s: step %s"):format(flow.name, step.name)
  local pod = { metadata = { labels = labels }, spec = { restartPolicy = "Never", containers = core.array { container }, volumes = volumes } }
  local patch = parts.template_of(what, { template = filled(step.template, env, step.name) }, "main")
  local queue = parts.queue_labels(what, { queue = filled(step.queue, env, step.name), priority = step.priority })
  record.handles = { k8s.create(core.our_pods {
    apiVersion = "batch/v1", kind = "Job",
    metadata = { generateName = ("%s-%s-"):format(flow.name, step.name:lower():gsub("_", "-")), labels = parts.merged(labels, queue) },
    spec = { backoffLimit = 0, template = patch and parts.patched(pod, patch) or pod },
  }, { namespace = step.namespace or flow.namespace }) }
  reach(step, record.handles, flow.timeout)
end

function kinds.trainer(_, step, env, record)
  local options = type(step.trainer) == "table" and step.trainer or { step.trainer }
  record.value = trainer.run(filled(options, env, step.name))
end

function kinds.call(_, step, env, record)
  record.value = step.call(filled(step.with or {}, env, step.name), rawget(env, "item"))
end

function kinds.delete(flow, step)
  for _, other in ipairs(type(step.delete) == "table" and step.delete or { step.delete }) do
    for _, record in ipairs((flow.status[other] or {}).records or {}) do
      for _, list in ipairs { record.handles or {}, record.earlier or {} } do
        for _, handle in ipairs(list) do
          local ok, why = pcall(handle.delete, handle)
          if not ok and not tostring(why):find("not found", 1, true) then error(why, 0) end
        end
      end
    end
  end
end

-- A step of another pipeline of this notebook, which flow:template has made a template.
function kinds.use(flow, step, env, record)
  local name, entry = step.use:match "^(.-)/(.+)$"
  local owner = core.pipeline.templates[name]
  local other = owner and owner.steps[entry]
  if not other then
    core.fail("error", ("step %s: there is no step %s in this notebook: flow:submit() uses the cluster's"):format(step.name, step.use))
  end
  local inner = setmetatable({ with = step.with, refs = step.refs, name = step.name }, { __index = other })
  local given = { item = env.item }
  for key, value in pairs(other.with or {}) do given[key] = value end
  for key, value in pairs(step.with or {}) do given[key] = filled(value, env, step.name) end
  step.outputs = step.outputs or other.outputs
  kinds[other.kind](flow, inner, setmetatable(given, { __index = _G }), record)
end

-- Outputs.

local function field_of(value, path)
  for key in path:gmatch "[^.]+" do
    if type(value) ~= "table" then return nil end
    local by_name = value[key]
    value = by_name ~= nil and by_name or value[tonumber(key) or key]
  end
  return value
end

local function last_match(text, pattern)
  local found
  for value in text:gmatch(pattern) do found = value end
  return found
end

local function log_of(record)
  local texts = {}
  for _, handle in ipairs(record.handles or {}) do
    local ok, text = pcall(handle.logs, handle)
    if ok and type(text) == "string" then texts[#texts + 1] = text end
  end
  return table.concat(texts, "\n")
end

local function from(source, record)
  local last = (record.handles or {})[#(record.handles or {})]
  if source.file and last and last.kind == "Job" then
    local text = last_words(last)
    return text and text:gsub("%s+$", "") or nil
  elseif source.file then
    local file = io.open(source.file, "r")
    if not file then return nil end
    local text = file:read "a"
    file:close()
    return (text:gsub("%s+$", ""))
  elseif source.log then
    return last_match(log_of(record), source.log)
  elseif source.metric then
    local told = record.metrics[source.metric]
    if told == nil and type(record.value) == "table" then told = (record.value.metrics or {})[source.metric] end
    return told
  end
  return field_of(last and k8s.get(last) or record.value, source.field)
end

-- An output that the step does not declare: what it returned, told as a metric, or "name=value", "name: value" of its log.
local function found(name, record)
  local last = (record.handles or {})[#(record.handles or {})]
  if last and name == "state" then return (last:state()) end
  if last and name == "name" then return last.name or (last.metadata or {}).name end
  local value = record.value
  if record.metrics[name] ~= nil then return record.metrics[name] end
  if type(value) == "table" then
    local own = rawget(value, name)
    if own ~= nil then return own end
    if type(rawget(value, "metrics")) == "table" then return value.metrics[name] end
  end
  if last then return last_match(log_of(record), "%f[%w_]" .. name .. '"?%s*[=:]%s*"?([^%s,"}]+)') end
end

-- A text that is a number as Lua writes it is that number. All others stay texts: a tag "1.10", a commit "12e4567".
function core.pipeline.value_of(text)
  local number = type(text) == "string" and tonumber(text)
  return number and tostring(number) == text and number or text
end

-- For functions, and for whoever asks: any decimal number, as programs print it, "0.9500". Texts with leading zeros ("007"), and what
-- is too large for a number, stay texts.
local function as_number(value)
  if type(value) == "table" and #value > 0 then
    local numbers = {}
    for i, item in ipairs(value) do numbers[i] = as_number(item) end
    return numbers
  end
  local is_decimal = type(value) == "string" and not value:find "^[-+]?0%d"
    and (value:find "^[-+]?%d+%.?%d*$" or value:find "^[-+]?%d+%.?%d*[eE][-+]?%d+$")
  local number = is_decimal and tonumber(value)
  return number and number - number == 0 and number or value
end

-- The value of an output of a step that is done; of a fan-out a list. computed: it is for a function, which computes with it.
function core.pipeline.output(flow, step, name, computed)
  local status, declared = flow.status[step.name], step.outputs and step.outputs[name]
  status.outputs, status.told = status.outputs or {}, status.told or {}
  if status.outputs[name] ~= nil then
    local value = status.outputs[name]
    return computed and not status.told[name] and as_number(value) or value
  end
  if status.state == "skipped" then core.fail("error", ("step %s was skipped, so it has no output %s"):format(step.name, name)) end
  local values = {}
  for i, record in ipairs(status.records or {}) do
    local value
    if declared then
      value = from(type(declared) == "string" and { field = declared } or declared, record)
    else
      value = found(name, record)
    end
    if value == nil then
      core.fail("error", ("step %s has no output %s: %s"):format(step.name, name, declared and "it is not where `outputs` says"
        or "it neither returned it, nor told it by run.metric, nor has its log a line " .. name .. "=…"))
    end
    status.told[name] = type(record.value) == "table" and rawget(record.value, name) == value -- by Lua: of the type that it has
    values[i] = status.told[name] and value or core.pipeline.value_of(value)
  end
  if step.each == nil then values = values[1] end
  status.outputs[name] = values
  return core.pipeline.output(flow, step, name, computed)
end

-- The metrics that a step's function tells are its outputs: known by the branch in which they are told.
local record = core.record
function core.record(kind, name, value, ...)
  if kind == "metric" then
    local branch = core.branch_name()
    for prefix, made in pairs(core.pipeline.telling or {}) do
      if branch and (branch == prefix or branch:sub(1, #prefix + 1) == prefix .. "/") then made.metrics[name] = value end
    end
  end
  return record(kind, name, value, ...)
end
