-- SPDX-License-Identifier: MIT
-- pipeline{…}: a graph of steps. Here it is read and checked, before anything starts; steps.lua knows what each kind of step
-- does, and flow.lua runs the graph.
local core = ...

local flow = { __name = "pipeline" } -- methods
flow.__index = flow
core.pipeline = { flow = flow, kinds = {}, templates = {} } -- kinds: steps.lua; templates: name -> pipeline

local options_of_pipeline = { steps = 1, timeout = 1, namespace = 1 }
local options_of_step = {
  apply = 1, image = 1, trainer = 1, call = 1, delete = 1, use = 1, command = 1, args = 1, env = 1, after = 1, with = 1, when = 1,
  retries = 1, timeout = 1, each = 1, at_once = 1, outputs = 1, reaches = 1, namespace = 1,
  volumes = 1, queue = 1, priority = 1, template = 1,
}
local KINDS = { "apply", "image", "trainer", "call", "delete", "use" }
local SOURCES = { field = 1, file = 1, log = 1, metric = 1 }
local EVERY = { state = true, name = true } -- outputs of each step that makes an object

local function fail(self, step, format, ...)
  core.fail("error", ("pipeline %s: step %s: "):format(self.name, step) .. format:format(...))
end

local function names_of(map)
  local list = {}
  for name in pairs(map) do list[#list + 1] = tostring(name) end
  table.sort(list)
  return list
end

local function meant(name, map)
  local near = core.nearest(name, names_of(map))
  return near and ("; did you mean %s?"):format(near) or "; there are " .. table.concat(names_of(map), ", ")
end

local function list_of(value)
  if value == nil then return {} end
  return type(value) == "table" and value or { value }
end

-- Calls fn with each text in a value, however deep.
local function each_text(value, fn)
  if type(value) == "string" then
    fn(value)
  elseif type(value) == "table" then
    for key, item in pairs(value) do
      each_text(key, fn)
      each_text(item, fn)
    end
  end
end

-- A manifest that is a file: its text.
function core.pipeline.text(self, step)
  local source = step.apply
  if type(source) ~= "string" or source:find "\n" or source:find "^%s*[{%[]" then return source end
  local file, why = io.open(source, "r")
  if not file then fail(self, step.name, "%s", why) end
  local text = file:read "a"
  file:close()
  return text
end

local function kind_of(self, name, step)
  local kind
  for _, k in ipairs(KINDS) do
    if step[k] ~= nil then
      if kind then fail(self, name, "it has both %s and %s; a step does one thing", kind, k) end
      kind = k
    end
  end
  if not kind then fail(self, name, "it does nothing: it needs one of %s", table.concat(KINDS, ", ")) end
  return kind
end

local TYPES = {
  apply = { table = 1, string = "a file, a text or a table" }, delete = { table = "the names of steps", string = "the names of steps" },
  with = { table = "a table of parameters" }, outputs = { table = 'a table: { rows = "status.rows" }' }, env = { table = "a table of texts" },
  each = { table = 1, string = 'a list, or an output that is one: "${prep.shards}"' }, namespace = { string = "a text" }, reaches = { string = "a state" },
  image = { string = "the name of an image" }, command = { table = 1, string = "a text or a list" }, args = { table = "a list" },
  volumes = { table = 'a table of places: { ["/data"] = "pvc/sales" }' },
  queue = { string = "a LocalQueue of Kueue" }, priority = { string = "a WorkloadPriorityClass of Kueue" },
  template = { table = 'a patch of the pod: { spec = { priorityClassName = "high" } }' },
  trainer = { table = 1, string = "a file, or the options of trainer.run" }, use = { string = 'a template and one of its steps: "refit/train"' },
}

local function check_volumes(self, step)
  if step.volumes and step.kind ~= "image" then fail(self, step.name, "volumes are for steps with an image") end
  for place, source in pairs(step.volumes or {}) do
    local kind = type(source) == "string" and source:match "^(%l+)/."
    if type(place) ~= "string" or not place:find "^/" or not core.pipeline.volume_kinds[kind] then
      fail(self, step.name, 'volumes: a place in the container, and what is seen there: { ["/data"] = "pvc/NAME" }, "secret/NAME" or "configmap/NAME"')
    end
  end
end

local function check_types(self, step)
  local name = step.name
  for _, option in ipairs(names_of(TYPES)) do
    if step[option] ~= nil and not TYPES[option][type(step[option])] then
      fail(self, name, "%s is %s", option, TYPES[option].string or TYPES[option].table)
    end
  end
  if type(step.each) == "string" and not step.each:find "^%${[^}]*}$" then fail(self, name, "each is %s", TYPES.each.string) end
  if step.at_once ~= nil and (math.type(step.at_once) ~= "integer" or step.at_once < 1) then
    fail(self, name, "at_once is a number from 1 on")
  end
  if step.kind == "call" and type(step.call) ~= "function" then fail(self, name, "call is a function") end
  if step.kind == "use" and not tostring(step.use):find "^[%l%d-]+/[%a_][%w_]*$" then
    fail(self, name, 'use is a template and one of its steps: "refit/train"')
  end
  check_volumes(self, step)
  for _, option in ipairs { "queue", "priority", "template" } do
    if step[option] ~= nil and step.kind ~= "image" then fail(self, name, "%s is for steps with an image; of others the manifest says it", option) end
  end
  if step.command and step.kind ~= "image" then fail(self, name, "command is for steps with an image") end
  local retries = step.retries or 0
  if math.type(retries) ~= "integer" or retries < 0 then fail(self, name, "retries is a number from 0 on") end
  if step.when ~= nil and type(step.when) ~= "string" then
    fail(self, name, 'when is "always", "failed" or an expression such as "${train.accuracy} > 0.95"')
  end
  if step.timeout ~= nil then
    local good, why = pcall(core.duration, step.timeout)
    if not good then fail(self, name, "timeout: %s", why) end
  end
  for output, source in pairs(step.outputs or {}) do
    if type(source) == "table" then
      local key = next(source)
      if not SOURCES[key] or next(source, key) ~= nil then
        fail(self, name, "output %s comes from one of field, file, log and metric", output)
      end
    elseif type(source) ~= "string" then
      fail(self, name, 'output %s is a field of the object, as "status.rows", or { file = … }, { log = … }, { metric = … }', output)
    end
  end
end

local function read_step(self, name, given)
  if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
    core.fail("error", ("pipeline %s: a step is called by a word, not %s"):format(self.name, tostring(name)))
  end
  if type(given) == "function" then given = { call = given } end
  if type(given) ~= "table" then fail(self, name, "it is a %s; a step is a table", type(given)) end
  local step = { name = name, after = {}, refs = {} }
  for key, value in pairs(given) do
    if not options_of_step[key] then fail(self, name, "there is no option %s%s", tostring(key), meant(tostring(key), options_of_step)) end
    if key ~= "after" then step[key] = value end
  end
  step.kind = kind_of(self, name, step)
  check_types(self, step)
  step.exit = step.when == "always" or step.when == "failed"
  for _, other in ipairs(list_of(given.after)) do step.after[other] = true end
  return step
end

local LUA = {}
for word in ("and or not true false nil if then else end function return local"):gmatch "%a+" do LUA[word] = true end

-- The names of outputs and parameters that the expressions of a text use.
local function uses(text, each)
  for dollar, expression in text:gmatch "(%$?)%${(.-)}" do
    if dollar ~= "" then expression = "" end -- $${ stands for ${
    local plain = expression:gsub('"[^"]*"', '""'):gsub("'[^']*'", "''")
    for before, word, rest in plain:gmatch "(.?)%f[%a_]([%a_][%w_]*)%f[^%w_]([%s]*%.?[%s]*[%w_]*)" do
      if not before:find "[.%w]" then each(word, rest:match "^%s*%.%s*([%a_][%w_]*)", expression) end
    end
  end
end

-- Checks, before anything starts, that each expression in a text compiles.
local function check_syntax(self, step, text)
  for expression in text:gmatch "%${(.-)}" do
    local fn, why = load("return " .. expression, "=expression")
    if not fn then fail(self, step.name, "${%s}: %s", expression, (why:gsub("^expression:%d+: ", ""))) end
  end
end

-- Where the quoted text that begins here ends: its inner last, its last; nil: none begins here.
local function quoted_to(text, from)
  local level = text:match("^%[(=*)%[", from)
  if level then
    local inner, last = text:find("]" .. level .. "]", from, true)
    return (inner or #text + 1) - 1, last or #text
  elseif not text:find("^[\"']", from) then
    return nil
  end
  local to = from + 1
  while to <= #text and text:sub(to, to) ~= text:sub(from, from) do to = to + (text:sub(to, to) == "\\" and 2 or 1) end
  return to - 1, to
end

-- Returns a condition without its quoted texts; fn is called with each of them.
local function unquoted(text, fn)
  local out, at = {}, 1
  while at <= #text do
    local inner, last = quoted_to(text, at)
    if inner then fn(text:sub(at + 1, inner)) end
    out[#out + 1] = inner and '""' or text:sub(at, at)
    at = (last or at) + 1
  end
  return table.concat(out)
end

-- Checks a condition: ${…} within quotes would be a text, and the name of a step without ${} is no output.
local function check_when(self, step)
  local function look(inner)
    local expression = inner:match "%${.-}"
    if expression then
      fail(self, step.name, "when: %s is within quotes, where it is only a text; write %s without them", expression, expression)
    end
  end
  local bare = unquoted(step.when:gsub("%${(.-)}", function(expression)
    return not expression:find "[\"']" and "${" .. expression .. "}" or "${}"
  end), look):gsub("%${.-}", "0")
  for before, word, rest in bare:gmatch "(.?)%f[%a_]([%a_][%w_]*)%f[^%w_](%s*%.?%s*[%w_]*)" do
    local field, is_known = rest:match "^%s*%.%s*([%a_][%w_]*)", LUA[word] or step.with and step.with[word] ~= nil or not self.steps[word] and _G[word] ~= nil
    if not before:find "[.:%w]" and not is_known then
      if not self.steps[word] then fail(self, step.name, "when: %s is neither a parameter of with nor a variable", word) end
      fail(self, step.name, "when: %s.%s is an output: write ${%s.%s}", word, field or "…", word, field or "…")
    end
  end
  local fn, why = load("return " .. step.when:gsub("%${(.-)}", "(%1)"), "=when")
  if not fn then fail(self, step.name, "when: %s", (why:gsub("^when:%d+: ", ""))) end
end

-- Notes in step.refs what a step reads of others. A step depends on those whose outputs it reads.
local function read_uses(self, step)
  local used = {}
  local function each(word, field, expression)
    local other = self.steps[word]
    used[word] = true
    if step.with and step.with[word] ~= nil then return end
    if other and field then
      if other == step then fail(self, step.name, "${%s}: it cannot read its own output", expression) end
      if other.kind == "delete" then fail(self, step.name, "${%s}: step %s deletes, and has no outputs", expression, word) end
      if other.outputs and other.outputs[field] == nil and not EVERY[field] then
        fail(self, step.name, "${%s}: step %s has no output %s%s", expression, word, field, meant(field, other.outputs))
      end
      if not step.exit then step.after[word] = true end
      step.refs[word] = step.refs[word] or {}
      step.refs[word][field] = true
    elseif not LUA[word] and word ~= "item" and _G[word] == nil then
      if field then fail(self, step.name, "${%s}: there is no step %s%s", expression, word, meant(word, self.steps)) end
      fail(self, step.name, "${%s}: it is neither a parameter of with nor a variable", expression)
    end
  end
  local function look(text)
    check_syntax(self, step, text)
    uses(text, each)
  end
  each_text(step.with, look)
  each_text({ core.pipeline.text(self, step), step.image, step.command, step.args, step.env, step.volumes, step.queue, step.template,
    type(step.trainer) ~= "function" and step.trainer or nil, step.each }, look)
  if step.when and not step.exit then
    look(step.when)
    check_when(self, step)
  end
  if step.kind == "call" or step.kind == "use" then return end
  for name in pairs(step.with or {}) do
    if not used[name] then fail(self, step.name, "nothing uses its parameter %s", tostring(name)) end
  end
end

local function check_after(self, step)
  for other in pairs(step.after) do
    local s = self.steps[other]
    if not s then fail(self, step.name, "after: there is no step %s%s", tostring(other), meant(tostring(other), self.steps)) end
    if s == step then fail(self, step.name, "it waits for itself") end
    if s.exit and not step.exit then
      fail(self, step.name, 'it waits for %s, which runs at the end (when = "%s")', other, s.when)
    end
  end
  for _, other in ipairs(step.kind == "delete" and list_of(step.delete) or {}) do
    local s = self.steps[other]
    if not s then fail(self, step.name, "delete: there is no step %s%s", tostring(other), meant(tostring(other), self.steps)) end
    if s.kind ~= "apply" and s.kind ~= "image" then fail(self, step.name, "delete: step %s makes no object", other) end
    if not step.exit then step.after[other] = true end
  end
end

-- What a container can see at a place of its own, by kubectl's names.
core.pipeline.volume_kinds = {
  pvc = function(name) return { persistentVolumeClaim = { claimName = name } } end,
  secret = function(name) return { secret = { secretName = name } } end,
  configmap = function(name) return { configMap = { name = name } } end,
}

-- { ["/data"] = "pvc/sales" } → the volumes of a pod, and where its container sees them; nil: it has none.
function core.pipeline.volumes(places)
  if not places or not next(places) then return nil end
  local volumes, mounts = core.array {}, core.array {}
  for i, place in ipairs(names_of(places)) do
    local kind, name = places[place]:match "^(%l+)/(.+)$"
    volumes[i] = core.pipeline.volume_kinds[kind](name)
    volumes[i].name = "volume-" .. i
    mounts[i] = { name = volumes[i].name, mountPath = place }
  end
  return volumes, mounts
end

-- The steps in an order in which each comes after those that it waits for; a cycle is an error.
local function order_of(self)
  local order, state, path = {}, {}, {}
  local function visit(name)
    if state[name] == "done" then return end
    if state[name] then
      while path[1] ~= name do table.remove(path, 1) end
      path[#path + 1] = name
      fail(self, name, "steps wait for one another: %s", table.concat(path, " -> "))
    end
    state[name] = "open"
    path[#path + 1] = name
    for _, other in ipairs(names_of(self.steps[name].after)) do visit(other) end
    path[#path] = nil
    state[name] = "done"
    order[#order + 1] = name
  end
  for _, name in ipairs(names_of(self.steps)) do visit(name) end
  local sorted = {} -- those of the end last
  for _, at_end in ipairs { false, true } do
    for _, name in ipairs(order) do
      if self.steps[name].exit == at_end then sorted[#sorted + 1] = name end
    end
  end
  return sorted
end

-- A trainer that runs here; elsewhere it is in an image.
local function check_trainer(self, step)
  local name = type(step.trainer) == "table" and step.trainer[1] or step.trainer
  if type(name) ~= "string" then fail(self, step.name, 'trainer needs a file: { "trainer.lua", args = { … } }') end
  if name:find("${", 1, true) then return end
  local file, why = io.open(name, "r")
  if not file then fail(self, step.name, "%s", why) end
  file:close()
end

-- All that can be known before anything starts. Manifests are files that a cell may have written since. here: it is about to
-- run here.
function core.pipeline.check(self, here)
  for _, name in ipairs(names_of(self.steps)) do
    self.steps[name].refs = {}
    check_after(self, self.steps[name])
    if here and self.steps[name].kind == "trainer" then check_trainer(self, self.steps[name]) end
  end
  for _, name in ipairs(names_of(self.steps)) do read_uses(self, self.steps[name]) end
  self.order = order_of(self)
end

-- pipeline { "nightly", timeout = "1h", steps = { prep = { apply = "prep.yaml", reaches = "COMPLETED" }, … } }
function pipeline(options)
  if type(options) ~= "table" or type(options[1]) ~= "string" or type(options.steps) ~= "table" then
    core.fail("error", 'pipeline expects a name and steps: pipeline { "nightly", steps = { prep = { apply = "prep.yaml" } } }')
  end
  for key in pairs(options) do
    if key ~= 1 and not options_of_pipeline[key] then core.unknown("pipeline", "option", tostring(key), options_of_pipeline) end
  end
  if not options[1]:find "^[%l%d][%l%d-]*$" then
    core.fail("error", ("pipeline: the name %s: objects are named after it, so it has small letters, digits and -"):format(options[1]))
  end
  local self = setmetatable({ name = options[1], namespace = options.namespace, steps = {}, status = {} }, flow)
  self.timeout = options.timeout and core.duration(options.timeout)
  for name, step in pairs(options.steps) do self.steps[name] = read_step(self, name, step) end
  if next(self.steps) == nil then core.fail("error", ("pipeline %s: it has no steps"):format(self.name)) end
  core.pipeline.check(self)
  return self
end
