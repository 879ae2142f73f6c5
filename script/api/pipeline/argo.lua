-- SPDX-License-Identifier: MIT
-- A pipeline in Argo's words: each step a template, their order a DAG, the steps of the end its exit handler. What Argo
-- cannot say is refused by name, with what to do instead.
-- argowords.lua says texts in its words, argosteps.lua makes the templates, argorun.lua submits it and shows it.
local core = ...
local flow, argo = core.pipeline.flow, core.pipeline.argo
local texts_of, steps = argo.words, argo.steps
local refuse, plain, env_of, known, in_dag, argument = texts_of.refuse, texts_of.plain, texts_of.env_of, texts_of.known, texts_of.in_dag, texts_of.argument
local arguments_of = texts_of.arguments_of
local add, seconds, apply, container, trainer_step, delete = steps.add, steps.seconds, steps.apply, steps.container, steps.trainer_step, steps.delete
local API = "argoproj.io/v1alpha1"

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
    if type(items) ~= "table" then core.fail("error", ("step %s: each must be a list, not %s"):format(step.name, tostring(items))) end
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
