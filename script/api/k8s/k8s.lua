-- SPDX-License-Identifier: MIT
-- k8s: the cluster of the chosen context, with all its kinds. Verbs return handles of objects,
-- which can be watched, waited for, described, read and deleted.
local core = ...

k8s = {}

local object = { __name = "Kubernetes object" } -- methods of handles
local list = { __name = "Kubernetes list" }

local function usage(format, ...)
  core.fail("error", format:format(...))
end

-- The target of a handle: from a reference {kind, name, …} or a whole object {kind, metadata =
-- {name, …}}.
local function reference(handle)
  local m = rawget(handle, "metadata") or {}
  return {
    apiVersion = rawget(handle, "apiVersion"),
    kind = rawget(handle, "kind"),
    name = rawget(handle, "name") or m.name,
    namespace = rawget(handle, "namespace") or m.namespace,
    uid = rawget(handle, "uid") or m.uid,
    cluster = rawget(handle, "cluster"),
  }
end

local function is_handle(value)
  return type(value) == "table" and getmetatable(value) == object
end

local function as_handle(value)
  return type(value) == "table" and setmetatable(value, object) or value
end

-- Adds the options of a call to its target; a misspelt option is an error.
local function with_options(args, options, what)
  for key, value in pairs(core.check(what, options)) do
    if type(key) == "string" then args[key] = value end
  end
  return args
end

-- (handle, options), ("pods", "name", options), ("pods", options), ("pod/name", options)
local function about(what, kind, name, options)
  if is_handle(kind) then return with_options(reference(kind), name, what) end
  if type(kind) ~= "string" then usage('%s expects a handle, or a kind such as "pods"', what) end
  if type(name) == "table" then name, options = nil, name end
  local left, right = kind:match "^([^/]+)/(.+)$"
  if left and not name then kind, name = left, right end
  return with_options({ kind = kind, name = name }, options, what)
end

-- (handle, …), ("pods", "name", …), ("pods/name", …): the target, and what follows.
local function target(what, kind, ...)
  if is_handle(kind) then return reference(kind), ... end
  if type(kind) ~= "string" then usage('%s expects a handle, or a kind such as "pods"', what) end
  local left, right = kind:match "^([^/]+)/(.+)$"
  if left then return { kind = left, name = right }, ... end
  if type((...)) ~= "string" then usage("%s expects the name of a %s", what, kind) end
  return { kind = kind, name = (...) }, select(2, ...)
end

-- A record of an engine that is a manifest (k8s.rayjob with an entrypoint): its objects, the main one first.
local function of_engine(source)
  local ask = type(source) == "table" and rawget(core, "engine_objects")
  return ask and ask(source) or nil
end

local function objects_of(source, what)
  local made = of_engine(source)
  if made then return core.call("k8s.manifest", { value = made }) end
  if is_handle(source) then usage("%s expects a manifest: a file, its text, or a table", what) end
  if type(source) == "string" then
    local text = source:find "\n" or source:find "^%s*[{%[]"
    return core.call("k8s.manifest", text and { text = source } or { file = source })
  end
  if type(source) ~= "table" then usage("%s expects a manifest: a file, its text, or a table", what) end
  return core.call("k8s.manifest", { value = source })
end

-- Manifests whose pods this library thought out. In a namespace that enforces "restricted" the kernel makes them fit.
local ours = setmetatable({}, { __mode = "k" })

function core.our_pods(manifest)
  ours[manifest] = true
  return manifest
end

-- The main object of a record, and then what belongs to it and goes with it.
local function whole_record(verb, objects, options)
  local function make(o)
    o.metadata.namespace = o.metadata.namespace or options.namespace
    return core.call(verb, { object = o, force = options.force, ours = true })
  end
  local main = as_handle(make(objects[1]))
  for i = 2, #objects do
    objects[i].metadata.ownerReferences = core.array { { apiVersion = objects[1].apiVersion, kind = main.kind, name = main.name, uid = main.uid } }
    make(objects[i])
  end
  return main
end

local function each_object(verb, source, options)
  local made = of_engine(source)
  if made then return whole_record(verb, core.call("k8s.manifest", { value = made }), options) end
  local handles = setmetatable({}, list)
  for i, o in ipairs(objects_of(source, verb)) do
    if options.namespace then o.metadata.namespace = o.metadata.namespace or options.namespace end
    handles[i] = as_handle(core.call(verb, { object = o, force = options.force, ours = ours[source] }))
  end
  if #handles == 1 then return handles[1] end
  return handles
end

-- k8s.create "sparkapp.yaml", k8s.create { apiVersion = …, kind = … } → a handle; for several
-- objects a list of handles.
function k8s.create(source, options)
  return each_object("k8s.create", source, with_options({}, options, "k8s.create"))
end

-- The same by server-side apply; force = true takes over fields from other managers.
function k8s.apply(source, options)
  return each_object("k8s.apply", source, with_options({}, options, "k8s.apply"))
end

-- Would the server accept it? Sends a dry run, and raises the server's objection. verb = "create"
-- or "apply".
function k8s.check(source, options)
  options = with_options({}, options, "k8s.check")
  for _, o in ipairs(objects_of(source, "k8s.check")) do
    core.call("k8s.check", { object = o, verb = options.verb, force = options.force })
  end
  return true
end

-- What k8s.apply would change: prints it as `kubectl diff` does, with the values of Secrets masked, and returns whether
-- there is any difference, and the text.
function k8s.diff(source, options)
  options = with_options({}, options, "k8s.diff")
  local found = {}
  for _, o in ipairs(objects_of(source, "k8s.diff")) do
    if options.namespace then o.metadata.namespace = o.metadata.namespace or options.namespace end
    local d = core.call("k8s.diff", { object = o, force = options.force })
    if d.differs then found[#found + 1] = d end
  end
  table.sort(found, function(a, b) return a.name < b.name end)
  for i, d in ipairs(found) do found[i] = d.text end
  local text = table.concat(found, "\n")
  if #found > 0 then print(text) end
  return #found > 0, text
end

local flight = { __name = "preflight" }
flight.__index = flight

function flight.__tostring(f)
  local lines = {}
  for _, x in ipairs(f.findings) do
    lines[#lines + 1] = x.level .. ": " .. x.what
    if x.next then lines[#lines + 1] = "  next: " .. x.next end
  end
  if #lines == 0 then return "nothing stands in the way on context " .. f.context end
  return table.concat(lines, "\n")
end

flight.__display = flight.__tostring

-- What would keep these objects from doing their work on this cluster: kind, namespace, rights,
-- accounts, secrets, operators and their webhooks, Istio, nodes, quotas, and a dry run. It makes
-- nothing. → { findings = { { level = "error" | "warning" | "note", what =, next = }, … } }
function k8s.preflight(source, options)
  options = with_options({}, options, "k8s.preflight")
  local objects = objects_of(source, "k8s.preflight")
  return setmetatable(core.call("k8s.preflight", { objects = objects, namespace = options.namespace }), flight)
end

-- k8s.list("pods", { selector = "app=x", all_namespaces = true }) → { object, … }; shows as kubectl's
-- table. As a cell's last line it is only shown: then no objects are fetched, but the table's rows.
function k8s.list(kind, options)
  local args = about("k8s.list", kind, nil, options)
  if core.shown() then
    core.call("k8s.show", args)
    return
  end
  local result = core.call("k8s.list", args)
  local handles = setmetatable({}, list)
  for i, o in ipairs(result.items) do handles[i] = as_handle(o) end
  rawset(handles, "table", result.table)
  rawset(handles, "text", result.text)
  return handles
end

-- for pod in k8s.each("pods", { selector = "app=x" }) do … end: the objects of a list, a page of
-- `limit` (500) at a time, so that no more than these are in memory.
function k8s.each(kind, options)
  local args = about("k8s.each", kind, nil, options)
  local page, at = {}, 0
  return function()
    while at >= #page do
      if args.next == "" then return nil end
      local result = core.call("k8s.page", args)
      page, at, args.next, args.read = result.items, 0, result.next, result.read
    end
    at = at + 1
    return as_handle(page[at])
  end
end

-- k8s.get("pods", "name") → the whole object; without a name, the list.
function k8s.get(kind, name, options)
  if type(name) == "table" or (name == nil and not is_handle(kind) and not tostring(kind):find "/") then
    return k8s.list(kind, type(name) == "table" and name or options)
  end
  return as_handle(core.call("k8s.get", about("k8s.get", kind, name, options)))
end

-- k8s.patch(handle, { spec = … }), k8s.patch("pods", "name", patch): type = "merge", "strategic" or "json".
function k8s.patch(kind, ...)
  local args, patch, options = target("k8s.patch", kind, ...)
  if type(patch) ~= "table" then usage "k8s.patch expects the patch as a table" end
  args = with_options(args, options, "k8s.patch")
  local type_ = args.type
  if type_ ~= nil and type_ ~= "merge" and type_ ~= "strategic" and type_ ~= "json" then
    usage('k8s.patch: type is "merge", "strategic" or "json", not "%s"', type_)
  end
  args.patch = patch
  return as_handle(core.call("k8s.patch", args).object)
end

-- kubectl's words for a change, "key=value" and "key-", and a table's entries, key = value and key = false.
local function change(what, key, value)
  if type(key) == "number" then
    local name, text = tostring(value):match "^([^=]+)=(.*)$"
    if name then return name, text end
    key, value = tostring(value), false
    if not key:find ".%-$" then usage('%s: "%s" is neither "key=value" nor "key-"', what, key) end
  end
  if key:find "%-$" then return key:sub(1, -2), false end
  if value == core.null then return key, false end
  if type(value) == "table" or type(value) == "function" then usage("%s: the value of %s is a %s", what, key, type(value)) end
  return key, value
end

local function change_map(what, binding, kind, ...)
  local args, changes, options = target(what, kind, ...)
  if type(changes) == "string" then changes = { changes } end
  if type(changes) ~= "table" or next(changes) == nil then
    usage('%s expects what to change, as { tier = "gpu", ["old-"] = true }', what)
  end
  args = with_options(args, options, what)
  args.set, args.remove = {}, core.array {}
  local seen = {}
  for key, value in pairs(changes) do
    local name, text = change(what, key, value)
    if seen[name] ~= nil then usage("%s: %s is named twice", what, name) end
    seen[name] = true
    if text == false then args.remove[#args.remove + 1] = name else args.set[name] = tostring(text) end
  end
  return as_handle(core.call(binding, args).object)
end

-- k8s.label(handle, { tier = "gpu", old = false }), k8s.label("pods", "name", "tier=gpu"): sets labels; false or a key
-- with "-" at its end removes one. A label that has another value is an error without overwrite = true.
function k8s.label(kind, ...) return change_map("k8s.label", "k8s.label", kind, ...) end

-- k8s.annotate(handle, { note = "text", ["old-"] = true }): the same for annotations.
function k8s.annotate(kind, ...) return change_map("k8s.annotate", "k8s.annotate", kind, ...) end

-- k8s.scale(handle, 3), k8s.scale("deploy/web", 3, { current_replicas = 2 }): sets how many replicas there shall be, of
-- any kind that has the subresource scale; with current_replicas only if there are so many now.
function k8s.scale(kind, ...)
  local args, replicas, options = target("k8s.scale", kind, ...)
  if math.type(replicas) ~= "integer" or replicas < 0 then usage "k8s.scale expects how many replicas there shall be, as 3" end
  args = with_options(args, options, "k8s.scale")
  args.replicas = replicas
  return as_handle(core.call("k8s.scale", args).object)
end

-- k8s.restart(handle), k8s.restart "deploy/web": has its pods made anew, one after another, as kubectl rollout restart
-- does; of Deployments, StatefulSets and DaemonSets. expect(handle):reaches "Available" waits for the end.
function k8s.restart(kind, ...)
  local args, options = target("k8s.restart", kind, ...)
  return as_handle(core.call("k8s.restart", with_options(args, options, "k8s.restart")).object)
end

local function changed(binding, on, kind, ...)
  local args, options = target(binding, kind, ...)
  args = with_options(args, options, binding)
  args.on = on
  return as_handle(core.call(binding, args).object)
end

function k8s.suspend(kind, ...) return changed("k8s.suspend", true, kind, ...) end
function k8s.resume(kind, ...) return changed("k8s.suspend", false, kind, ...) end
function k8s.cordon(kind, ...) return changed("k8s.cordon", true, kind, ...) end
function k8s.uncordon(kind, ...) return changed("k8s.cordon", false, kind, ...) end
function k8s.rollout_undo(kind, ...) return changed("k8s.rollout_undo", nil, kind, ...) end

-- k8s.set_image("deploy/web", "app=nginx:2"), or a table { app = "nginx:2" }.
function k8s.set_image(kind, ...)
  local args, images, options = target("k8s.set_image", kind, ...)
  if type(images) == "table" then
    local words = {}
    for name, image in pairs(images) do words[#words + 1] = name .. "=" .. tostring(image) end
    table.sort(words)
    images = table.concat(words, " ")
  end
  if type(images) ~= "string" then usage 'k8s.set_image expects images, as "app=nginx:2" or { app = "nginx:2" }' end
  args = with_options(args, options, "k8s.set_image")
  args.images = images
  return as_handle(core.call("k8s.set_image", args).object)
end

-- A Job of a CronJob now, as `kubectl create job --from` makes it.
function k8s.trigger(kind, ...)
  local args, options = target("k8s.trigger", kind, ...)
  return k8s.create(core.call("k8s.trigger_job", with_options(args, options, "k8s.trigger")).object)
end

-- Cordons a node and has its pods evicted; waits until they are gone, unless wait = false.
function k8s.drain(kind, ...)
  local args, options = target("k8s.drain", kind, ...)
  return core.call("k8s.drain", with_options(args, options, "k8s.drain")).said
end

-- Deletes an object and waits until it is gone; wait = false does not wait.
function k8s.delete(kind, name, options)
  core.call("k8s.delete",
    about("k8s.delete", kind, name, options))
end

-- Leaves a live table below the cell, and returns at once: k8s.watch "events", k8s.watch("pods", { sick_first = true }).
function k8s.watch(kind, name, options)
  core.call("k8s.watch",
    about("k8s.watch", kind, name, options))
end

-- k8s.wait { handle, "condition=Ready", timeout = "1m" }, and "jsonpath={.status.x}=y", "delete",
-- "create". (`for`, as in kubectl, is a keyword in Lua.) Returns the object as it was at the end of
-- the wait.
function k8s.wait(options)
  if type(options) ~= "table" or not is_handle(options[1]) or type(options[2]) ~= "string" then
    usage('k8s.wait expects a handle and what to wait for: k8s.wait { handle, "condition=Ready", timeout = "1m" }')
  end
  local args = with_options(reference(options[1]), options, "k8s.wait")
  args["for"] = options[2]
  return as_handle(core.call("k8s.wait", args))
end

-- The log as a text; follow = true shows it live below the cell instead. all = true: the logs of
-- every pod, merged by time. k8s.logs { selector = "app=x" }: of the pods that it selects.
function k8s.logs(kind, name, options)
  if type(kind) == "table" and not is_handle(kind) and kind.selector then kind, name = "pods", kind end
  if type(kind) == "string" and type(name) ~= "string" and not kind:find "/" and not (type(name) == "table" and name.selector) then
    kind, name, options = "pods", kind, name -- k8s.logs("mnist-driver", {…}), as in kubectl
  end
  local args = about("k8s.logs", kind, name, options)
  if type(args.since) == "number" then args.since = args.since .. "s" end
  return core.call("k8s.logs", args)
end

local function events_result(result)
  local events = setmetatable(result.items, list)
  rawset(events, "table", result.table)
  rawset(events, "text", result.text)
  return events
end

-- The events of an object; without one, those of the namespace.
function k8s.events(kind, name, options)
  if kind == nil then return events_result(core.call("k8s.events", {})) end
  return events_result(core.call("k8s.events", about("k8s.events", kind, name, options)))
end

function k8s.describe(kind, name, options)
  return core.call("k8s.describe", about("k8s.describe", kind, name, options))
end

-- k8s.explain "pods.spec.containers", k8s.explain("deploy", { recursive = true, api_version = "apps/v1" }) → what a kind
-- or a field of it means, as `kubectl explain` prints it.
function k8s.explain(words, options)
  if type(words) ~= "string" then usage 'k8s.explain expects a kind or a field, as "pods.spec.containers"' end
  return core.call("k8s.explain", with_options({ words = words }, options, "k8s.explain"))
end

-- k8s.can_i("create", "sparkapplications", { namespace = … }) → true or false, and the server's
-- reason
function k8s.can_i(verb, kind, options)
  local args = about("k8s.can_i", kind, nil, options)
  args.verb = verb
  local answer = core.call("k8s.can_i", args)
  return answer.allowed, answer.reason
end

local user = { __name = "Kubernetes user" }
user.__index = user

function user.__tostring(u) return u.text end

user.__display = user.__tostring

-- The contexts of the kubeconfig, a list of { name =, cluster =, namespace =, user =, server =, current =, guarded = }.
function k8s.contexts() return core.call("k8s.contexts", {}) end

-- Who we are, as the server says: { username =, uid =, groups = {…}, extra = {…} }; shows as `kubectl auth whoami`.
function k8s.whoami() return setmetatable(core.call("k8s.whoami", {}), user) end

-- k8s.version() → the server's version; sandbox = true: it is one of ours
function k8s.version() return core.call("k8s.version", {}) end
function k8s.kinds() return core.call("k8s.kinds", {}) end
function k8s.yaml(value) return core.call("k8s.yaml", { value = value }) end

object.__index = object

function object:refresh() return k8s.get(self) end
function object:status() return rawget(k8s.get(self), "status") or {} end
function object:describe() return k8s.describe(self) end
function object:logs(options) return k8s.logs(self, options) end
function object:events() return k8s.events(self) end
function object:delete(options) return k8s.delete(self, options) end
function object:patch(patch, options) return k8s.patch(self, patch, options) end
-- object:explain "spec.template" → what a field of this kind means.
function object:explain(field, options)
  local args = with_options(reference(self), options, "handle:explain")
  args.field = field
  return core.call("k8s.explain", args)
end

function object:label(changes, options) return k8s.label(self, changes, options) end
function object:annotate(changes, options) return k8s.annotate(self, changes, options) end
function object:scale(replicas, options) return k8s.scale(self, replicas, options) end
function object:restart() return k8s.restart(self) end
function object:yaml() return k8s.yaml(k8s.get(self)) end

-- k8s.tree "deploy/web", object:tree(): its family below the cell, live: owners, what it owns, and their pods.
function k8s.tree(kind, ...)
  local args, options = target("k8s.tree", kind, ...)
  core.call("k8s.tree", with_options(args, options, "k8s.tree"))
end

function object:tree() k8s.tree(self) end

function object:watch()
  k8s.watch(self)
  return self
end

-- What an application of Spark does inside: of a SparkApplication, or of a driver's pod.
function object:ui(options) return spark.ui(self, options) end
function object:inside(options) return spark.inside(self, options) end

-- The object's state in a word ("RUNNING"), and whether it has ended.
function object:state()
  local s = core.call("k8s.state", reference(self))
  return s.state, s.ended, s.cause
end

local reason = { __name = "reason" }
reason.__index = reason

function reason.__tostring(r) return r.text end

reason.__display = reason.__tostring

-- Why an object does not go on: { what =, seen =, next =, differs =, state =, looked =, text = }; `what` is nil when
-- what was looked at does not tell.
function k8s.why(kind, name, options)
  return setmetatable(core.call("k8s.why", about("k8s.why", kind, name, options)), reason)
end

function object:why() return k8s.why(self) end

-- handle:wait("condition=Ready", "1m")
function object:wait(what, timeout)
  return k8s.wait { self, what, timeout = timeout }
end

-- Waits for a state; if the object ends in another one, that is an error at once, with its cause.
-- expect(x):reaches calls this.
function object:reaches(state, timeout)
  local args = reference(self)
  args.state, args.timeout = state, timeout
  return core.call("k8s.reach", args).state
end

function object.__tostring(o)
  local r = reference(o)
  local group = r.apiVersion and r.apiVersion:match "^(.+)/"
  return tostring(r.kind):lower() .. (group and "." .. group or "") .. "/" .. tostring(r.name)
end

function object.__display(o)
  -- A whole object is shown with its content, a reference by its name.
  return rawget(o, "metadata") and k8s.yaml(o) or tostring(o)
end

list.__index = list

function list.__tostring(l)
  if rawget(l, "text") then return (l.text:gsub("\n$", "")) end
  local names = {}
  for i, o in ipairs(l) do names[i] = tostring(o) end
  return table.concat(names, "\n")
end

function list.__display(l)
  local bundle = { ["text/plain"] = tostring(l) }
  bundle["application/vnd.firesteel.table+json"] = rawget(l, "table")
  return bundle
end

function list:delete(options)
  for i = #self, 1, -1 do self[i]:delete(options) end
end

core.types.handle, core.types.handles = object, list
core.k8s_reference = reference
core.module("k8s", k8s)
