-- SPDX-License-Identifier: MIT
-- k8s.jobs: the engine of plain Jobs. The driver is a Job of one pod, the executors are another one with an index for each,
-- and a Service gives the driver its name. They need an image with firesteel-worker and nothing else in the cluster.
local core = ...
local PORT = 7337
local WORKER = { "/opt/firesteel/firesteel-worker" } -- where image.build puts it; a base may have an entry point of its own

local function usage(engine, format, ...)
  core.fail("error", engine .. ": " .. format:format(...))
end

local function count(engine, options, name, most)
  local value = options[name]
  if value ~= nil and (math.type(value) ~= "integer" or value < 1 or value > most) then
    usage(engine, "%s must be an integer from 1 to %d, not %s", name, most, tostring(value))
  end
  return value
end

local function names_of(value)
  if value == nil then return nil end
  local list = core.array {}
  for i, name in ipairs(type(value) == "table" and value or { value }) do list[i] = { name = tostring(name) } end
  return list
end

-- Requests and limits of a container: cores are requested ("500m" is half of one), memory and GPUs are limits, too.
local function resources_of(options)
  if type(options.memory) == "string" and options.memory:find "%dm$" then
    core.fail("error", ('memory = "%s" is in thousandths of a byte, as Kubernetes reads it: "%sMi"'):format(options.memory, options.memory:sub(1, -2)))
  end
  local gpu = options.gpu and (type(options.gpu) == "table" and options.gpu or { ["nvidia.com/gpu"] = options.gpu })
  local requests, limits = { cpu = options.cpu and tostring(options.cpu), memory = options.memory }, { memory = options.memory }
  for name, n in pairs(gpu or {}) do requests[name], limits[name] = n, n end
  return { requests = next(requests) and requests or nil, limits = next(limits) and limits or nil }
end

local function merged(...)
  local all = {}
  for _, map in ipairs { ... } do
    for key, value in pairs(map) do all[key] = value end
  end
  return all
end

local function with(list, more)
  local all = core.array {}
  for _, item in ipairs(list) do all[#all + 1] = item end
  for _, item in ipairs(more) do all[#all + 1] = item end
  return all
end

-- volumes = { mnist = "/data" }: claims and where they are mounted. A list is that of a pod, with volume_mounts beside it.
local function volumes_of(options)
  local given = options.volumes
  if given == nil or #given > 0 then return given or {}, options.volume_mounts or {} end
  local volumes, mounts = {}, {}
  for i, one in ipairs(core.claims("volumes", given)) do
    local name = ("volume-%d"):format(i)
    volumes[i] = { name = name, persistentVolumeClaim = { claimName = one.claim } }
    mounts[i] = { name = name, mountPath = one.path }
  end
  return volumes, with(mounts, options.volume_mounts or {})
end

-- What tells the items of a list apart when it is patched; other lists are replaced. As Kubernetes merges pods.
local KEYS = { containers = "name", initContainers = "name", volumes = "name", env = "name", imagePullSecrets = "name",
  volumeMounts = "mountPath", ports = "containerPort" }

local patched

local function patched_list(list, patch, key)
  local all, at = core.array {}, {}
  for i, item in ipairs(list) do all[i], at[item[key]] = item, i end
  for _, item in ipairs(patch) do
    local i = at[item[key]] or #all + 1
    all[i], at[item[key]] = patched(all[i] or {}, item), i
  end
  return all
end

-- A tree with what the patch says: maps are merged, core.null removes.
function patched(tree, patch)
  local all = merged(tree)
  for name, value in pairs(patch) do
    local have = all[name]
    if type(value) ~= "table" or type(have) ~= "table" or value == core.null then
      all[name] = value ~= core.null and value or nil
    elseif KEYS[name] then
      all[name] = patched_list(have, value, KEYS[name])
    elseif #value > 0 then
      all[name] = value
    else
      all[name] = patched(have, value)
    end
  end
  return all
end

local function list_in(engine, spec, name, key)
  for i, item in ipairs(spec[name] or {}) do
    if type(item) ~= "table" or item[key] == nil then
      usage(engine, "template.spec.%s[%d] has no %s", name, i, key)
    end
  end
end

-- template = { metadata = …, spec = … }, checked; a container without a name is the job's own.
local function template_of(engine, options, container)
  local patch = options.template
  if patch == nil then return nil end
  for key, value in pairs(patch) do
    if (key ~= "metadata" and key ~= "spec") or type(value) ~= "table" then
      usage(engine, 'template is a patch of a pod, { spec = { priorityClassName = "high" } }: it has no %s', tostring(key))
    end
  end
  local spec = merged(patch.spec or {})
  for _, name in ipairs { "containers", "initContainers" } do
    for i, item in ipairs(spec[name] or {}) do
      if type(item) ~= "table" then usage(engine, "template.spec.%s[%d] must be a table", name, i) end
    end
  end
  if spec.containers then
    local own = core.array {}
    for i, item in ipairs(spec.containers) do own[i] = merged(item, { name = item.name or container }) end
    spec.containers = own
  end
  for name, key in pairs(KEYS) do list_in(engine, spec, name, key) end
  return { metadata = patch.metadata, spec = spec }
end

-- Kueue's labels, of the object that it admits as a whole; never of pods, which it would then admit one by one.
local function queue_labels(engine, options)
  if options.priority and not options.queue then
    usage(engine, "priority is a WorkloadPriorityClass of Kueue, for jobs in a queue: queue = …; a pod's is template = { spec = { priorityClassName = … } }")
  end
  return { ["kueue.x-k8s.io/queue-name"] = options.queue, ["kueue.x-k8s.io/priority-class"] = options.priority }
end

-- The pods of a role: its one container has the role's name.
local function pod_template(engine, options, job, role, container, volumes)
  local more_volumes, more_mounts = volumes_of(options)
  container.name, container.image, container.resources = role, options.image and tostring(options.image), resources_of(options)
  container.imagePullPolicy = options.pull_policy
  container.volumeMounts = with(container.volumeMounts or {}, more_mounts)
  local labels = merged(job.labels, { [job.label .. "-role"] = role })
  local template = {
    metadata = { labels = merged(options.labels or {}, labels),
      annotations = merged({ ["sidecar.istio.io/inject"] = "false" }, options.annotations or {}) },
    spec = {
      restartPolicy = "Never", terminationGracePeriodSeconds = 5, enableServiceLinks = false,
      automountServiceAccountToken = options.service_account ~= nil, serviceAccountName = options.service_account,
      imagePullSecrets = names_of(options.pull_secrets), nodeSelector = options.node_selector, tolerations = options.tolerations,
      containers = { container }, volumes = with(volumes, more_volumes),
    },
  }
  local patch = template_of(engine, options, role)
  return patch and patched(patched(template, patch), { metadata = { labels = labels } }) or template
end

-- A Job of `n` pods that are tried once: the driver starts again from the cell, not by itself.
-- The pods of elastic executors are replaced, and call the driver again.
local function job_spec(engine, options, job, role, n, container, volumes)
  return {
    backoffLimit = role == "executor" and job.elastic and 100 or 0, completions = n, parallelism = n, completionMode = "Indexed",
    template = pod_template(engine, options, job, role, container, volumes),
  }
end

local function job_manifest(options, job, role, n, container, volumes)
  local spec = job_spec("k8s.jobs", options, job, role, n, container, volumes)
  spec.ttlSecondsAfterFinished = 3600
  return {
    apiVersion = "batch/v1", kind = "Job", spec = spec,
    metadata = { name = ("%s-%s"):format(job.name, role), labels = merged(spec.template.metadata.labels, queue_labels("k8s.jobs", options)) },
  }
end

-- Nobody else reaches the ranks' ports: what MPI carries is neither encrypted nor asked for a secret.
local function network_policy(job)
  return {
    apiVersion = "networking.k8s.io/v1", kind = "NetworkPolicy", metadata = { name = job.name, labels = job.labels },
    spec = { podSelector = { matchLabels = job.labels }, policyTypes = { "Ingress" },
      ingress = { { from = { { podSelector = { matchLabels = job.labels } } } } } },
  }
end

local parts = { merged = merged, pod_template = pod_template, job_spec = job_spec, queue_labels = queue_labels, template_of = template_of,
  patched = patched, resources_of = resources_of, network_policy = network_policy, port = PORT }
core.engine_parts = parts

-- How many executors, and the ranks that each takes.
function parts.sizes(engine, options, job)
  local slots = count(engine, options, "cores", 4096) or 1
  local executors = count(engine, options, "executors", 4096) or (job.np + slots - 1) // slots
  if options.image == nil then usage(engine, "image: an image with firesteel-worker, as image.build {…}:push() gives it") end
  return executors, slots
end

function parts.slots(options)
  return options.executors and options.executors * (options.cores or 1)
end

function parts.driver(job, executors, slots)
  return {
    command = WORKER, args = job.command, volumeMounts = { job.mount }, ports = { { containerPort = PORT } },
    env = with(job.driver_env, {
      { name = "FIRESTEEL_EXECUTORS", value = tostring(executors) },
      { name = "FIRESTEEL_EXECUTOR_CORES", value = tostring(slots) },
      { name = "FIRESTEEL_DRIVER_PORT", value = tostring(PORT) },
    }),
  }
end

-- Executors find the driver by the name of a Service that is the job's.
function parts.executor(job)
  return { command = WORKER, args = { "--executor", ("%s-driver:%d"):format(job.name, PORT) }, env = job.executor_env }
end

-- The objects to create for a job: `main`, and the others that it needs.
function parts.plan(options, job, main, container, ...)
  local role = merged(job.labels, { [job.label .. "-role"] = "driver" })
  local objects = {}
  if options.network_policy ~= false then objects[1] = network_policy(job) end
  if not container then -- Spark has its own Service
    objects[#objects + 1] = { apiVersion = "v1", kind = "Service", metadata = { name = job.name .. "-driver", labels = job.labels },
      spec = { clusterIP = "None", publishNotReadyAddresses = true, ports = { { port = PORT } }, selector = role } }
  end
  objects[#objects + 1] = main
  local at = #objects
  for _, more in ipairs { ... } do objects[#objects + 1] = more end
  return {
    objects = objects, main = at, container = container,
    driver = ("%s=%s,%s-role=driver"):format(job.label, job.name, job.label), pods = job.label .. "=" .. job.name,
    log = container and "Spark's driver" or nil,
  }
end

function parts.check_nodes(engine, options, has_image)
  for _, name in ipairs { "executors", "cores" } do
    if options[name] ~= nil then usage(engine, "%s belongs to hvd.run; nodes and nproc of torch.run say how many ranks there are", name) end
  end
  if options.image == nil and not has_image then usage(engine, "image: an image with Python and what the script imports") end
end

-- The same for the nodes of a script: rank 0 is found by the name of a Service, which selects its pod by `first`.
function parts.nodes_plan(engine, options, job, main, first)
  parts.check_nodes(engine, options)
  local objects = {}
  if options.network_policy ~= false then objects[1] = network_policy(job) end
  objects[#objects + 1] = { apiVersion = "v1", kind = "Service", metadata = { name = job.address, labels = job.labels },
    spec = { clusterIP = "None", publishNotReadyAddresses = true, ports = { { port = job.port } }, selector = merged(job.labels, first) } }
  objects[#objects + 1] = main
  local pods = job.label .. "=" .. job.name
  return { objects = objects, main = #objects, driver = pods, pods = pods }
end

-- Plain Jobs and JobSets give their pods an index.
parts.first_index = { ["batch.kubernetes.io/job-completion-index"] = "0" }

function parts.from_label(name, label)
  return { name = name, valueFrom = { fieldRef = { fieldPath = ("metadata.labels['%s']"):format(label) } } }
end

local function no_restarts(engine, job)
  if job.restarts > 0 then
    usage(engine, "restarts: one pod alone would be started again; k8s.jobset starts all of them")
  end
end
parts.no_restarts = no_restarts

local function plan(options, job)
  local executors, slots = parts.sizes("k8s.jobs", options, job)
  local most = job.elastic and (job.max_np + slots - 1) // slots or executors
  local driver = parts.driver(job, executors, slots)
  if job.np == 1 and not job.elastic then -- it needs no executors: the driver calls the function itself
    driver.env, driver.ports = job.driver_env, nil
    return parts.plan(options, job, job_manifest(options, job, "driver", 1, driver, { job.volume }))
  end
  driver.env = with(driver.env, { { name = "FIRESTEEL_MAX_EXECUTORS", value = tostring(most) } })
  return parts.plan(options, job, job_manifest(options, job, "driver", 1, driver, { job.volume }), nil,
    job_manifest(options, job, "executor", most, parts.executor(job), {}))
end

local function nodes(options, job)
  no_restarts("k8s.jobs", job)
  local container = job.container { node_of = "JOB_COMPLETION_INDEX" }
  return parts.nodes_plan("k8s.jobs", options, job, job_manifest(options, job, "node", job.nodes, container, { job.volume }), parts.first_index)
end

k8s.jobs = core.hvd_engine("k8s.jobs", { says = "plain Jobs", slots = parts.slots, plan = plan, nodes = nodes })

-- The options that engines share: name, type with its default, words.
local OPTIONS = {
  { "image", "any=", "an image with firesteel-worker: what image.build gives, or its name" },
  { "namespace", "string=", "that of the context unless it is said" },
  { "executors", "integer=", "how many executors; as many as np needs unless it is said" },
  { "cores", "integer=1", "how many ranks an executor takes" },
  { "queue", "string=", "a LocalQueue of Kueue, which admits driver and executors together" },
  { "priority", "string=", "a WorkloadPriorityClass of Kueue" },
  { "template", "table=", "a patch of the pods, as of k8s.jobs" },
  { "cpu", "any=", 'what each pod requests, 2 or "500m"' },
  { "memory", "string=", 'what each pod requests and may use, "1Gi"' },
  { "gpu", "any=", 'how many GPUs (nvidia.com/gpu) each pod has, or { ["amd.com/gpu"] = 1 }; firesteel\'s own trainer uses none' },
  { "env", "table=", "variables of all pods" },
  { "pull_secrets", "any=", "a Secret for the image's registry, or several" },
  { "pull_policy", "string=", '"Never", "IfNotPresent" or "Always"' },
  { "service_account", "string=", "whose rights the pods have; none unless it is said" },
  { "node_selector", "table=", 'labels of the nodes, { disk = "ssd" }' },
  { "tolerations", "list=", "of nodes' taints, as in a pod" },
  { "labels", "table=", "of the object and its pods" },
  { "annotations", "table=", "of the pods" },
  { "volumes", "table=", 'claims and where driver and executors mount them, { mnist = "/data" }; or a list of volumes as in a pod' },
  { "volume_mounts", "list=", "where those of a list are mounted" },
  { "network_policy", "boolean=true", "a NetworkPolicy lets only pods of the job reach its pods" },
}

-- Describes an engine. own: words of an option that differ, { type, words } of one, false: it has no such option;
-- after = { NAME = { { name, type, words }, … } }: options of its own, behind that one. with: of the example; count: the option
-- that says how many pods there are.
function parts.describe(engine, what, own, image, with, count)
  local options, lines = {}, {}
  local function add(name, kind, words)
    options[#options + 1], lines[#lines + 1] = name .. ": " .. kind, ("  %s: %s"):format(name, words)
  end
  for _, option in ipairs(OPTIONS) do
    local name, kind, words = table.unpack(option)
    local mine = own[name]
    if mine ~= false then add(name, type(mine) == "table" and mine[1] or kind, type(mine) == "table" and mine[2] or mine or words) end
    for _, more in ipairs(own.after and own.after[name] or {}) do add(table.unpack(more)) end
  end
  core.api(("%s{%s} -> engine\n  Where hvd.run and torch.run run their ranks: %s\n%s\n  example:\n    on = %s { image = \"registry:5000/%s\", %s = 4%s }\n"
    .. "    print((pcall(hvd.run, function() end, { np = 5, on = on }))) --> false\n"):format(engine, table.concat(options, ", "), what,
    table.concat(lines, "\n"), engine, image, count or "executors", with or ""))
end

parts.describe("k8s.jobs", "a Job with the driver, and a Job of executors, each with some of the ranks.", {
  executors = "how many pods; as many as np needs unless it is said",
  queue = "a LocalQueue of Kueue, which admits each of the two Jobs by itself; k8s.jobset is admitted as a whole",
  template = 'a patch of the pods, { spec = { schedulerName = "volcano" } }: maps are merged, lists of named things by name; a container without a name is the job\'s',
  labels = "of Jobs and pods",
}, "trainer:1", ', memory = "1Gi"')
