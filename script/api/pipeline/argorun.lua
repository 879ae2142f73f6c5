-- SPDX-License-Identifier: MIT
-- flow:submit: a pipeline as a Workflow of a real Argo. Its status becomes the same live graph, its failed step the same error.
local core = ...
local flow, argo, view = core.pipeline.flow, core.pipeline.argo, core.pipeline.view
local LOOK_EVERY = 1      -- seconds, at the Workflow: its steps of the end may delete what has failed soon
local REMOVED_IN = 60     -- seconds, after an interrupt
local PATIENCE = 300      -- seconds for which a server that does not answer is asked again
local status_of, ENDED = argo.status_of, argo.ENDED
local mine = {}           -- uids of the Workflows that submits of this kernel have made: none is another's to remove

-- Before anything is submitted: the Workflow and what its steps apply, looked at as k8s.preflight does.

-- Argo writes its Workflow's name into the label; a server that is asked before wants one that could stand there.
local function with_a_name(object)
  local made, meta, labels = {}, {}, {}
  for key, value in pairs(object) do made[key] = value end
  for key, value in pairs(object.metadata) do meta[key] = value end
  for key, value in pairs(meta.labels) do labels[key] = value end
  labels["firesteel/workflow"] = "preflight"
  made.metadata, meta.labels = meta, labels
  return made
end

local function preflight(self, workflow, make)
  local objects = core.array { workflow }
  for _, object in ipairs(make.objects) do objects[#objects + 1] = with_a_name(object) end
  local found = core.call("k8s.preflight", { objects = objects, namespace = self.namespace, open = "fs+" })
  local lines, bad = {}, false
  for _, finding in ipairs(found.findings) do
    if finding.level ~= "note" then
      bad = bad or finding.level == "error"
      lines[#lines + 1] = ("%s: %s%s"):format(finding.level, finding.what, finding.next and "\n  next: " .. finding.next or "")
    end
  end
  for _, name in ipairs(self.order) do
    local step = self.steps[name]
    if step.kind == "use" then
      local template, entry = step.use:match "^(.-)/(.+)$"
      local ok, there = pcall(k8s.get, "workflowtemplates.argoproj.io", template, { namespace = self.namespace })
      local has = false
      for _, one in ipairs(ok and there.spec.templates or {}) do has = has or one.name == entry:gsub("_", "-") end
      if not has then
        bad = true
        lines[#lines + 1] = ("error: step %s: there is no step %s\n  next: flow:template %q makes it"):format(name, step.use, template)
      end
    end
  end
  if #lines == 0 then return end
  local text = table.concat(lines, "\n")
  if bad then core.fail("error", ("pipeline %s: nothing was submitted: %s"):format(self.name, text)) end
  core.output("stderr", "preflight: " .. text:gsub("\n(%S)", "\npreflight: %1") .. "\n")
end

-- The Workflow as it is now. A server that does not answer is asked again; one without it says that it was deleted.
local function look(self, made)
  local began
  while true do
    local ok, workflow = pcall(k8s.get, made)
    if ok then return workflow end
    local why = tostring(workflow)
    local kind = core.raised(why)
    if why:find("not found", 1, true) then core.fail("error", ("pipeline %s: the workflow %s was deleted"):format(self.name, made.name)) end
    began = began or core.now()
    if kind == "interrupted" or kind == "timeout" or kind == "refused" or core.now() - began > PATIENCE then error(workflow, 0) end
    core.sleep(LOOK_EVERY)
  end
end

-- When a step has failed the others end, as those of flow:run do: Argo by itself lets them go on. The steps of the end run.
local function stop_others(self, workflow, made)
  local failed = self.first_failed
  if not failed or self.steps[failed[1]].exit or workflow.spec.shutdown then return false end
  local ok, why = pcall(k8s.patch, made, { spec = { shutdown = "Stop" } })
  return ok or core.raised(tostring(why)) == "refused" -- else it is tried again at the next look
end

local function follow(self, made, make)
  local stopped = false
  while true do
    local workflow = look(self, made)
    argo.read(self, workflow, made, make)
    if ENDED[status_of(workflow).phase] then return workflow end
    stopped = stopped or stop_others(self, workflow, made)
    core.sleep(LOOK_EVERY)
  end
end

-- Why it failed: the first step that did, with the last lines of its log.
local function cause_of(self, workflow)
  local first = self.first_failed
  if not first then return status_of(workflow).message or "it failed" end
  local status = self.status[first[1]]
  local cause = status.note or "it failed"
  for _, handle in ipairs(status.handles or {}) do
    if handle.kind ~= "Pod" then
      local ok, why = pcall(k8s.why, handle)
      if ok and why.what then cause = ("%s (%s)"):format(why.what, cause) end
    end
  end
  return ("step %s failed: %s%s"):format(first[1], cause, first[2])
end

local function finish(self, workflow)
  local good = status_of(workflow).phase == "Succeeded"
  for _, name in ipairs(self.order) do
    local status = self.status[name]
    if status.state == "waiting" or status.state == "running" then status.state, status.note = "cancelled", "not run" end
  end
  self.state = good and "done" or "failed"
  local why = not good and cause_of(self, workflow)
  view.show(self, true)
  if not good then core.fail("error", ("pipeline %s: %s"):format(self.name, why)) end
end

-- The Workflows that this run has made of this pipeline, by their uids.
local function of_this_run(self)
  local run = core.run:sub(1, 63):gsub("[^%w_.-]", "-"):gsub("^%W+", ""):gsub("%W+$", "") -- as labels have it
  local found = {}
  for _, one in ipairs(k8s.list("workflows.argoproj.io", { namespace = self.namespace,
      selector = ("firesteel/run=%s,firesteel/pipeline=%s"):format(run, self.name) })) do
    found[one.metadata.uid] = one
  end
  return found
end

-- After an interrupt: the Workflow goes, also one that was made when its answer had not come.
local function remove(self, earlier)
  if self.workflow then return self:clean() end
  for uid, one in pairs(of_this_run(self)) do
    if not earlier[uid] and not mine[uid] then one:delete { propagation = "Foreground" } end
  end
end

-- A resumed run gets the Workflow of the run before: it is attached to, unless it has failed.
function flow:submit(options)
  options = core.check("flow:submit", options)
  local workflow, make = argo.workflow(self, options)
  preflight(self, workflow, make)
  view.reset(self)
  self.state, self.first_failed = "running", nil
  self:watch()
  self.workflow = nil
  local earlier = of_this_run(self)
  -- an interrupt ends the steps, as those of flow:run
  local deed = core.owe(REMOVED_IN, function() remove(self, earlier) end)
  local ok, made = pcall(k8s.create, workflow, { namespace = self.namespace })
  if not ok then -- the server's own error: nothing was made
    core.settle(deed)
    error(made, 0)
  end
  self.workflow, mine[made.uid] = made, true
  print(("workflow %s"):format(self.workflow.name))
  view.show(self)
  local ended = follow(self, self.workflow, make)
  core.settle(deed)
  finish(self, ended)
  return self
end

local function applied(self, object, make)
  preflight(self, object, make)
  return k8s.apply(object, { namespace = self.namespace })
end

function flow:template(name, options)
  core.check_kind("flow:template", "the name", name, "string")
  core.pipeline.templates[name] = self
  return applied(self, argo.template(self, name, core.check("flow:template", options)))
end

function flow:cron(schedule, options)
  return applied(self, argo.cron(self, schedule, core.check("flow:cron", options)))
end

core.api [[
flow:submit({account: string=, image: string=, pull: string=, ttl: duration=, at_once: integer=}) -> flow
  Runs the pipeline as a Workflow of Argo on the cluster; the graph is live below the cell, as that of flow:run. In a resumed run
  it attaches to the Workflow that it submitted.
  account: the service account that its pods run as
  image: in which trainers run: image.build with the trainer in it
  pull: when images are pulled: "Always", "IfNotPresent", "Never"
  ttl: how long the workflow stays when it has ended
  at_once: how many of its pods run at once
  errors: what Argo cannot say, what a preflight finds, and the first step that fails, with its cause and the last lines of its log
  effect: cluster
  example:
    flow = pipeline { "hello", steps = { greet = { image = "busybox", command = "echo hello" } } }
    flow:submit { ttl = "1h" }
flow:template(name, {account: string=, image: string=, pull: string=, ttl: duration=, at_once: integer=}) -> handle
  Makes a WorkflowTemplate of the pipeline: steps of other pipelines use its steps: use = "refit/train".
  account: the service account that its pods run as
  image: in which trainers run
  pull: when images are pulled
  ttl: how long its workflows stay when they have ended
  at_once: how many of a workflow's pods run at once
  effect: cluster
  example:
    flow = pipeline { "hello", steps = { greet = { image = "busybox", command = "echo hello" } } }
    flow:template "greetings"
flow:cron(schedule, {name: string=, account: string=, image: string=, pull: string=, ttl: duration=, at_once: integer=, timezone: string=, concurrency: string=, keep: integer=}) -> handle
  Makes a CronWorkflow of the pipeline: it runs by this schedule, "0 3 * * *" or "@every 1h".
  name: its name; the pipeline's unless it is said
  account: the service account that its pods run as
  image: in which trainers run
  pull: when images are pulled
  ttl: how long its workflows stay when they have ended
  at_once: how many of a workflow's pods run at once
  timezone: the schedule's, "Europe/Berlin"
  concurrency: when one still runs: "Allow", "Forbid", "Replace"; Forbid unless it is said
  keep: how many ended workflows stay
  effect: cluster
  example:
    flow = pipeline { "hello", steps = { greet = { image = "busybox", command = "echo hello" } } }
    nightly = flow:cron "0 3 * * *"
    print(time.format(nightly:next_run()))
]]
