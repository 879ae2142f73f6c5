-- SPDX-License-Identifier: MIT
-- fn:serve: a packaged model as a Deployment with a Service before it, which the next one replaces without a gap; and what
-- answers, asked through the API server.
local core = ...
local fn = core.types.fn

local served = { __name = "served" }
served.__index = served

function served.__tostring(s) return s:url() end

function served.__display(s)
  return ("%s served as %s by %d %s"):format(s.model, s:url(), s.replicas, s.replicas == 1 and "pod" or "pods")
end

local DIGEST, RUN, REFUSED, COMPONENT = "firesteel/digest", "firesteel/run", "firesteel/refused", "app.kubernetes.io/component"
local DRAIN, GRACE, BACK = 10, 20, 60 -- seconds
local NOBODY = 65534
local RECORDS = "/records"
-- Memory of a server: the program, its connections, and what bodies and answers may hold together (doc/serving.md, limits).
local MIB = 1 << 20
local PROGRAM, CONNECTIONS, HELD, HELD_BODIES = 64 * MIB, 256 * MIB, 256 * MIB, 8
local UNITS = { [""] = 1, k = 1 << 10, m = MIB, g = 1 << 30 }

-- What restricted namespaces ask for.
local function add_rules(pod, container)
  pod.securityContext = pod.securityContext or { runAsNonRoot = true, runAsUser = NOBODY, runAsGroup = NOBODY, fsGroup = NOBODY,
    seccompProfile = { type = "RuntimeDefault" } }
  container.securityContext = { allowPrivilegeEscalation = false, capabilities = { drop = { "ALL" } } }
end

-- record = "/folder": a folder that goes with the pod; record = "claim": a PersistentVolumeClaim.
local function add_record(pod, container, record)
  if not record then return end
  local folder = record:sub(1, 1) == "/" and record or RECORDS
  local volume = folder == record and { name = "records", emptyDir = {} }
    or { name = "records", persistentVolumeClaim = { claimName = record } }
  pod.volumes = core.copy(pod.volumes)
  pod.volumes[#pod.volumes + 1] = volume
  container.volumeMounts = { { name = "records", mountPath = folder } }
  container.args[#container.args + 1] = "--record=" .. folder
end

local function milliseconds(duration) return ("%d"):format(math.floor(core.duration(duration) * 1000 + 0.5)) end

-- The last seconds of a pod, of those that Kubernetes gives it: for `drain` it answers on, since the nodes learn a little later
-- that it ends; then it ends what it has begun.
local function last_seconds(pod)
  local given = pod.terminationGracePeriodSeconds or 30
  local drain = math.min(DRAIN, given // 3)
  return drain, math.max(0, math.min(GRACE, given - drain - 3))
end

-- "8Mi" or "8m", as firesteel-worker serve reads it.
local function bytes_of(size)
  local n, unit = size:match "^(%d+)([kKmMgG]?)i?$"
  local bytes = n and math.tointeger(n) and math.tointeger(n) * UNITS[unit:lower()]
  if not bytes or bytes < 1 << 10 or bytes > 1 << 30 then
    core.fail("error", ('fn:serve: body_size is from "1Ki" to "1Gi", not "%s"'):format(size))
  end
  return bytes
end

-- What it asks for is what it takes when nobody does it harm, its limit what it takes when everybody does. Who says something of
-- memory says all of it.
local function resources_of(f, o, body)
  local resources = core.copy(o.resources)
  if (resources.requests or {}).memory or (resources.limits or {}).memory then return resources end
  local usual = PROGRAM + (f.memory or 0) + 4 * body
  local most = usual + CONNECTIONS + math.max(HELD, HELD_BODIES * body)
  local function with(kind, bytes)
    resources[kind] = core.copy(resources[kind])
    resources[kind].memory = ("%dMi"):format((bytes + MIB - 1) // MIB)
  end
  with("requests", usual)
  with("limits", most)
  return resources
end

local function container_of(f, o, pod)
  local body = bytes_of(o.body_size)
  local drain, grace = last_seconds(pod)
  local args = core.array { "serve", "--port=" .. o.port, "--max-batch-size=" .. o.max_batch_size,
    "--max-latency=" .. milliseconds(o.max_latency), "--body-size=" .. body, "--drain=" .. drain, "--grace=" .. grace }
  local function probe(path, more)
    more.httpGet = { path = path, port = "http" }
    return more
  end
  return { name = "serve", image = f.image.ref, args = args, resources = resources_of(f, o, body),
    ports = { { name = "http", containerPort = o.port } },
    readinessProbe = probe("/v2/health/ready", { periodSeconds = 2, timeoutSeconds = 5 }),
    livenessProbe = probe("/v2/health/live", { periodSeconds = 10, timeoutSeconds = 5 }) }
end

local function manifests(f, o)
  local labels = { ["app.kubernetes.io/name"] = o.name, [COMPONENT] = "model" }
  local pod = core.copy(o.pod)
  local container = container_of(f, o, pod)
  add_rules(pod, container)
  add_record(pod, container, o.record)
  container.args[#container.args + 1] = "."
  pod.containers = { container }
  local notes = { [DIGEST] = f.digest, [RUN] = f.run }
  local deployment = { apiVersion = "apps/v1", kind = "Deployment",
    metadata = { name = o.name, namespace = o.namespace, labels = labels, annotations = notes },
    spec = { replicas = o.replicas, selector = { matchLabels = labels }, strategy = { rollingUpdate = { maxUnavailable = 0 } },
      template = { spec = pod, metadata = { labels = labels,
        annotations = { ["prometheus.io/scrape"] = "true", ["prometheus.io/port"] = tostring(o.port), ["prometheus.io/path"] = "/metrics" } } } } }
  local service = { apiVersion = "v1", kind = "Service", metadata = { name = o.name, namespace = o.namespace, labels = labels },
    spec = { selector = labels, ports = { { name = "http", port = o.port, targetPort = "http" } } } }
  return core.our_pods(deployment), service
end

-- The Deployment that has the name already: the model before. One that is no model's is not ours to replace.
local function standing(o)
  local ok, there = pcall(k8s.get, "deployments.apps", o.name, { namespace = o.namespace })
  if not ok then
    local why = tostring(there)
    if why:find("no kind", 1, true) then core.fail("error", "fn:serve: this server has no Deployments (the sandbox has none): serve it on a cluster") end
    if core.raised(why) == "error" and why:find("not found", 1, true) then return nil end
    error(there, 0)
  end
  local meta = there.metadata
  if (meta.labels or {})[COMPONENT] ~= "model" or not (meta.annotations or {})[DIGEST] then
    core.fail("error", ("fn:serve: there is a Deployment %s in the namespace %s that serves no model: give another name"):format(o.name, meta.namespace))
  end
  return there
end

-- The Deployment gets the pods again that it had, as by kubectl rollout undo. They are still there: none ends before a new one
-- is ready. → whether they answer, and a text that says it
local function put_back(before, refused)
  local meta, spec, notes = before.metadata, before.spec, before.metadata.annotations
  local ok, why = pcall(function()
    k8s.apply({ apiVersion = before.apiVersion, kind = before.kind, metadata = { name = meta.name, namespace = meta.namespace, labels = meta.labels,
        annotations = { [DIGEST] = notes[DIGEST], [RUN] = notes[RUN], [REFUSED] = refused } },
      spec = { replicas = spec.replicas, selector = spec.selector, strategy = spec.strategy, template = spec.template } }):reaches("Available", BACK)
  end)
  return ok, ok and ("the model before, %s, answers as it did"):format(notes[DIGEST])
    or ("the model before, %s, is to be put back: %s"):format(notes[DIGEST], tostring(why))
end

local function is_refused(running, digest)
  return (k8s.get(running).metadata.annotations or {})[REFUSED] == digest
end

-- Nothing was changed when the server or a rule has refused the apply; else it may have been.
local function is_unchanged(why)
  local kind = core.raised(tostring(why))
  return kind == "error" or kind == "refused"
end

-- Applies it and waits until the new pods answer. Else those before are put back: at once, or after an interrupt at the end of
-- the cell. A resumed run takes its earlier applies as done, also those that were put back since. → its handle
local function replace(deployment, before, digest, timeout)
  local deed = before and core.owe(2 * BACK, function() print((select(2, put_back(before, digest)))) end)
  local function settle()
    if deed then core.settle(deed) end
  end
  local applied, running = pcall(k8s.apply, deployment)
  if not applied then
    if is_unchanged(running) then settle() end
    error(running, 0)
  end
  local ok, why = pcall(function()
    while is_refused(running, digest) do running = k8s.apply(deployment) end
    running:reaches("Available", timeout)
  end)
  if ok or not before then
    settle()
    if not ok then error(why, 0) end
    return running
  end
  local kind = core.raised(tostring(why))
  local answers, back = put_back(before, digest)
  if answers then settle() end
  if kind == "interrupted" then error(why, 0) end
  core.fail(kind, ("%s does not take the place of the model before: %s\n%s"):format(digest, tostring(why), back))
end

-- fn:serve{ name = "rain", replicas = 2 } → a handle of the Deployment and Service, once all its pods answer.
function fn:serve(options)
  local o = core.copy(core.check("fn:serve", options))
  o.name = o.name or self.name:lower():gsub("[._]", "-")
  o.replicas, o.port = o.replicas or 1, o.port or 8080
  o.max_batch_size, o.max_latency, o.body_size = o.max_batch_size or 64, o.max_latency or 0, o.body_size or "8Mi"
  if not o.name:match "^%l[%l%d-]*$" or #o.name > 63 then
    core.fail("error", ('fn:serve: name is that of a Service: small letters, digits and "-", not "%s"'):format(o.name))
  end
  bytes_of(o.body_size)
  local before = standing(o)
  if not self.image.pinned then self:push() end
  local deployment, service = manifests(self, o)
  local running = replace(deployment, before, self.digest, o.timeout or "5m")
  local made = k8s.apply(service) -- last: with another port the model before would lose its address if it has to go on
  return setmetatable({ name = o.name, model = self.name, namespace = made.namespace, port = o.port, replicas = o.replicas,
    digest = self.digest, deployment = running, service = made }, served)
end

-- Where the cluster's own pods find it.
function served:url() return ("http://%s.%s.svc:%d"):format(self.name, self.namespace, self.port) end

local function ask(s, path, body, timeout)
  return core.call("k8s.service", { service = s.name, namespace = s.namespace, port = s.port, path = path, body = body,
    timeout = timeout or "1m" })
end

function served:metadata() return core.parse(ask(self, "/v2/models/" .. self.model)) end

-- What Prometheus reads.
function served:metrics() return ask(self, "/metrics") end

-- The numbers of rows, and their shape.
local function flatten(value, into)
  if type(value) ~= "table" then
    into[#into + 1] = value
    return
  end
  for _, item in ipairs(value) do flatten(item, into) end
end

local function tensor_of(name, rows)
  local data, shape, at = core.array {}, core.array {}, rows
  flatten(rows, data)
  while type(at) == "table" do
    shape[#shape + 1] = #at
    at = at[1]
  end
  local texts = type(data[1]) == "string"
  if #shape == 1 and not texts then shape[2] = 1 end
  return { name = name, datatype = texts and "BYTES" or "FP32", shape = shape, data = data }
end

-- Rows of an output; a row of one number is the number.
local function rows_of(output)
  local rows, width = {}, 1
  for i = 2, #output.shape do width = width * output.shape[i] end
  for r = 1, output.shape[1] do
    if width == 1 then rows[r] = output.data[r]
    else rows[r] = table.move(output.data, (r - 1) * width + 1, r * width, 1, {}) end
  end
  return rows
end

-- served:predict{ {1, 2}, {3, 4} }, or by the names of inputs → { NAME = rows, … }
function served:predict(inputs, options)
  core.expect_type("served:predict", inputs, "table", "rows, or rows by the names of inputs")
  options = core.check("served:predict", options)
  local list = core.array {}
  if inputs[1] ~= nil then
    self.input = self.input or self:metadata().inputs[1].name
    list[1] = tensor_of(self.input, inputs)
  else
    for name, rows in pairs(inputs) do
      if type(rows) ~= "table" then core.fail("error", ("served:predict: input %s is a list of rows"):format(tostring(name))) end
      list[#list + 1] = tensor_of(name, rows)
    end
    table.sort(list, function(a, b) return a.name < b.name end)
  end
  local answer = core.parse(ask(self, "/v2/models/" .. self.model .. "/infer", core.json { inputs = list }, options.timeout))
  local found = {}
  for _, output in ipairs(answer.outputs) do found[output.name] = rows_of(output) end
  return found
end

-- Removes Deployment and Service.
function served:delete()
  self.deployment:delete()
  self.service:delete()
end

core.types.served = served

core.api [[
fn:serve({name: string=, replicas: integer=1, namespace: string=, resources: table=, port: integer=8080, max_batch_size: integer=64, max_latency: duration=0, body_size: string="8Mi", record: string=, pod: table=, timeout: duration="5m"}) -> served
  Serves it on the cluster, by KServe's v2 REST protocol: a Deployment and a Service; returns when all its pods answer. Another image under the same name takes the place
  of the one before, without a gap; when its pods do not get ready the one before is put back, and goes on answering.
  name: of both; the model's unless it is said
  replicas: how many pods
  namespace: of both; the context's
  resources: of the container; without memory in it, that is asked for and limited by the sizes of the model and of bodies
  port: of the Service
  max_batch_size: rows of requests that wait at the same time are predicted together, up to so many
  max_latency: so long the first of them waits for others
  body_size: the most bytes of a request's body, as "512Ki" or "64Mi"
  record: requests and answers are written down there as JSON lines: "/folder" in each pod, or the name of a PersistentVolumeClaim
  pod: more of the pods' spec, as imagePullSecrets, nodeSelector
  timeout: how long it may take until they answer
  result: {name, namespace, port, model, digest, deployment, service}
  errors: a pod that does not start, with its reason; a Deployment of this name that serves no model
  effect: cluster
  example:
    io.open("make.lua", "w"):write("local nn = require 'nn' nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save 'line.safetensors'"):close()
    trainer.run "make.lua"
    fn = model.package { "line.safetensors", examples = { { 1, 2 } } }
    served = fn:serve { replicas = 2 }
    print(served:url()) --> http://line.default.svc:8080
served: type -- A model that a Deployment serves.
served:url() -> string
  Where pods of the cluster find it.
  example:
    io.open("make.lua", "w"):write("local nn = require 'nn' nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save 'line.safetensors'"):close()
    trainer.run "make.lua"
    print(model.package { "line.safetensors", examples = { { 1, 2 } } }:serve():url()) --> http://line.default.svc:8080
served:predict(inputs, {timeout: duration="1m"}) -> table
  Predictions, asked for through the API server: of rows of the only input, { {1, 2}, … }, or by the names of inputs, { x = { {1, 2} }, word = { "open" } }.
  timeout: how long the answer may take
  result: {NAME = rows, …}; a row of one number is the number
  errors: what the model cannot take, in its own words
  example:
    io.open("make.lua", "w"):write("local nn = require 'nn' nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save 'line.safetensors'"):close()
    trainer.run "make.lua"
    served = model.package { "line.safetensors", examples = { { 1, 2 } } }:serve()
    print(#served:predict({ { 1, 2 }, { 3, 4 } }).dense) --> 2
served:metadata() -> table
  The names, types and shapes of what it takes and gives.
  example:
    io.open("make.lua", "w"):write("local nn = require 'nn' nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save 'line.safetensors'"):close()
    trainer.run "make.lua"
    served = model.package { "line.safetensors", examples = { { 1, 2 } } }:serve()
    print(served:metadata().inputs[1].name) --> input
served:metrics() -> string
  The counts of one of its pods, in Prometheus's text format.
  example:
    io.open("make.lua", "w"):write("local nn = require 'nn' nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save 'line.safetensors'"):close()
    trainer.run "make.lua"
    served = model.package { "line.safetensors", examples = { { 1, 2 } } }:serve()
    print(served:metrics():match "firesteel_rows_total") --> firesteel_rows_total
served:delete()
  Removes Deployment and Service.
  effect: destructive
  example:
    io.open("make.lua", "w"):write("local nn = require 'nn' nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save 'line.safetensors'"):close()
    trainer.run "make.lua"
    model.package { "line.safetensors", examples = { { 1, 2 } } }:serve():delete()
]]
