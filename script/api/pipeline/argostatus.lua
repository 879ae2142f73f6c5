-- SPDX-License-Identifier: MIT
-- The status of a Workflow, told as flow:run tells a pipeline: each step's state, objects, outputs, and the parts of a fan-out.
--
--   main (DAG) --> step (Pod | Retry --> Pods | TaskGroup --> one of these for each item), by boundaryID and children
local core = ...
local argo, view = core.pipeline.argo, core.pipeline.view
local STATES = { Pending = "waiting", Running = "running", Succeeded = "done", Failed = "failed", Error = "failed",
  Skipped = "skipped", Omitted = "cancelled", Daemoned = "running" }
local STOPPED = "shutdown with strategy" -- in the message of what was stopped
local ENDED = { Succeeded = true, Failed = true, Error = true }
argo.ENDED = ENDED

-- Before a controller has seen an object it has no status, but handles have a method of that name.
function argo.status_of(workflow) return rawget(workflow, "status") or {} end

local function handle_of(made, kind, name, api)
  return setmetatable({ apiVersion = api or "v1", kind = kind, name = name, namespace = made.namespace, cluster = made.cluster }, core.types.handle)
end

local function state_of(node)
  local state = STATES[node.phase] or "waiting"
  return state == "failed" and (node.message or ""):find(STOPPED, 1, true) and "cancelled" or state
end

local function number_of(node) return tonumber(node.displayName:match "%((%d+):") or 0 end

-- The items of a fan-out, in order: "fan(0:a)", "fan(1:b)".
local function items_of(nodes, group)
  local items = {}
  for _, id in ipairs(group.children or {}) do
    local child = nodes[id]
    if child and child.name:sub(1, #group.name) == group.name then items[#items + 1] = child end
  end
  table.sort(items, function(a, b)
    local x, y = number_of(a), number_of(b)
    return x < y or x == y and a.name < b.name
  end)
  return items
end

-- The pod that did a node's work: of its attempts the last.
local function worker_of(nodes, node)
  while node and node.type == "Retry" and node.children do node = nodes[node.children[#node.children]] end
  return node and node.type == "Pod" and node or nil
end

-- The nodes of each step: { top =, items = {…}, workers = {…} }: top has its state; items are those of a fan-out, else top alone;
-- workers their pods.
local function nodes_of(self, workflow)
  local nodes, by_step, steps = argo.status_of(workflow).nodes or {}, {}, {}
  for _, name in ipairs(self.order) do steps[argo.name_of(self.steps[name])] = name end
  for _, node in pairs(nodes) do
    local boundary = node.boundaryID and nodes[node.boundaryID]
    local step = steps[node.displayName]
    if step and boundary and (boundary.templateName == "main" or boundary.templateName == "at-the-end") and not boundary.boundaryID then
      local found = { top = node, items = node.type == "TaskGroup" and items_of(nodes, node) or { node }, workers = {} }
      for i, item in ipairs(found.items) do found.workers[i] = worker_of(nodes, item) or false end
      by_step[step] = found
    end
  end
  return by_step
end

local function pod_of(made, node)
  return handle_of(made, "Pod", ("%s-%s-%s"):format(made.name, node.templateName, node.id:match "(%d+)$"))
end

-- The objects that a step applied: it says them by label, as soon as they are there.
local function applied_by(made, step, make)
  local handles = {}
  for _, object in ipairs(make.applied[step.name] or {}) do
    local group = object.apiVersion:match "^(.-)/"
    local kind = object.kind:lower() .. (group and "." .. group or "")
    local ok, found = pcall(k8s.list, kind, { namespace = object.metadata.namespace or made.namespace,
      selector = ("firesteel/workflow=%s,firesteel/step=%s"):format(made.name, step.name) })
    for _, one in ipairs(ok and found or {}) do handles[#handles + 1] = handle_of(made, one.kind, one.metadata.name, one.apiVersion) end
  end
  return handles
end

local function outputs_of(step, found)
  local outputs = {}
  local function take(node, put)
    for _, p in ipairs((node.outputs or {}).parameters or {}) do put(p.name, core.pipeline.value_of(p.value)) end
  end
  if step.each == nil then
    take(found.top, function(name, value) outputs[name] = value end)
    return outputs
  end
  for i, node in ipairs(found.workers) do
    take(node or {}, function(name, value)
      outputs[name] = outputs[name] or {}
      outputs[name][i] = value
    end)
  end
  return outputs
end

local function span(node)
  local from, to = node.startedAt and time.parse(node.startedAt), node.finishedAt and time.parse(node.finishedAt)
  return from and to and math.max(0, to - from) or nil
end

local function told(what, node, state, note)
  what.state, what.note = state, note
  what.since, what.took = node.startedAt, ENDED[node.phase] and span(node) or nil
end

local function note_of(node, state)
  if state == "cancelled" then return node.startedAt and node.phase ~= "Omitted" and "it was cancelled" or "not run" end
  return state ~= "skipped" and state ~= "done" and node.message or nil
end

-- Each item as flow:run shows it; Enter and l are for its pod, where its work is in one. Returns whether something has changed.
local function read_parts(status, made, step, found)
  if step.each == nil or found.top.type ~= "TaskGroup" then return false end
  local changed = status.parts == nil
  status.parts, status.records = status.parts or {}, status.records or {}
  for i, item in ipairs(found.items) do
    local part, worker = status.parts[i], found.workers[i]
    local state = state_of(item)
    if not part or part.state ~= state or part.note ~= note_of(item, state) then
      status.parts[i], changed = part or { label = item.displayName:match "%(%d+:(.*)%)$" or "#" .. i }, true
      told(status.parts[i], item, state, note_of(item, state))
    end
    status.records[i] = { handles = step.kind ~= "apply" and worker and { pod_of(made, worker) } or {}, metrics = {} }
  end
  return changed
end

-- What a step's nodes say, as flow:run would: its state, what it made.
local function read_step(status, made, make, step, found)
  local state = state_of(found.top)
  status.handles = status.handles or {}
  if #status.handles == 0 and (state == "running" or ENDED[found.top.phase]) then
    if step.kind == "apply" then
      status.handles = applied_by(made, step, make)
    elseif step.kind ~= "delete" then
      for _, node in ipairs(found.workers) do status.handles[#status.handles + 1] = node and pod_of(made, node) or nil end
    end
    if #status.handles > 0 and not status.parts then status.records = { { handles = status.handles, metrics = {} } } end
  end
  if state == "done" then status.outputs = outputs_of(step, found) end
  local note, last = note_of(found.top, state), status.handles[#status.handles]
  if state == "running" and last then note = view.progress_of(last) or note end
  return state, note
end

-- Reads the status of all steps, and shows the graph when something has changed.
function argo.read(self, workflow, made, make)
  local changed
  for name, found in pairs(nodes_of(self, workflow)) do
    local status, step = self.status[name], self.steps[name]
    changed = read_parts(status, made, step, found) or changed
    local state, note = read_step(status, made, make, step, found)
    if state ~= status.state or note ~= status.note then
      changed = true
      told(status, found.top, state, note)
      if state == "failed" and not self.first_failed then self.first_failed = { name, view.last_lines(status) } end
    end
  end
  if changed then view.show(self) end
end
