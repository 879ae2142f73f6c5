-- SPDX-License-Identifier: MIT
-- k8s.jobs: the engine of plain Jobs. The driver is a Job of one pod, the executors are another one with an index for each,
-- and a Service gives the driver its name. They need an image with firesteel-worker and nothing else in the cluster.
local core = ...
local PORT = 7337

local function usage(format, ...)
  core.fail("error", "k8s.jobs: " .. format:format(...))
end

local function count(options, name, most)
  local value = options[name]
  if value ~= nil and (math.type(value) ~= "integer" or value < 1 or value > most) then
    usage("%s is an integer from 1 to %d, not %s", name, most, tostring(value))
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

-- A Job of `n` pods that are tried once: the driver starts again from the cell, not by itself.
local function job_manifest(options, job, role, n, container, volumes)
  local labels = merged(options.labels or {}, job.labels, { ["firesteel/hvd-role"] = role })
  container.name, container.image, container.resources = role, tostring(options.image), resources_of(options)
  container.imagePullPolicy = options.pull_policy
  container.volumeMounts = with(container.volumeMounts or {}, options.volume_mounts or {})
  return {
    apiVersion = "batch/v1", kind = "Job",
    metadata = { name = ("%s-%s"):format(job.name, role), labels = labels },
    spec = {
      backoffLimit = 0, completions = n, parallelism = n, completionMode = "Indexed", ttlSecondsAfterFinished = 3600,
      template = {
        metadata = { labels = labels, annotations = merged({ ["sidecar.istio.io/inject"] = "false" }, options.annotations or {}) },
        spec = {
          restartPolicy = "Never", terminationGracePeriodSeconds = 5, enableServiceLinks = false,
          automountServiceAccountToken = options.service_account ~= nil, serviceAccountName = options.service_account,
          imagePullSecrets = names_of(options.pull_secrets), nodeSelector = options.node_selector, tolerations = options.tolerations,
          containers = { container }, volumes = with(volumes, options.volumes or {}),
        },
      },
    },
  }
end

local function service_of(job)
  return { apiVersion = "v1", kind = "Service", metadata = { name = job.name, labels = job.labels },
    spec = { clusterIP = "None", publishNotReadyAddresses = true, ports = { { port = PORT } },
      selector = merged(job.labels, { ["firesteel/hvd-role"] = "driver" }) } }
end

-- One rank needs no executors: the driver calls the function itself.
local function plan(options, job)
  local slots = count(options, "cores", 4096) or 1
  local executors = count(options, "executors", 4096) or (job.np + slots - 1) // slots
  if options.image == nil then usage "image: an image with firesteel-worker, as image.build {…}:push() gives it" end
  local driver = { args = job.command, volumeMounts = { job.mount }, env = job.driver_env }
  local objects = core.array { service_of(job) }
  if job.np > 1 then
    driver.ports = { { containerPort = PORT } }
    driver.env = with(job.driver_env, {
      { name = "FIRESTEEL_EXECUTORS", value = tostring(executors) },
      { name = "FIRESTEEL_EXECUTOR_CORES", value = tostring(slots) },
      { name = "FIRESTEEL_DRIVER_PORT", value = tostring(PORT) },
    })
    local executor = { args = { "--executor", ("%s:%d"):format(job.name, PORT) }, env = job.executor_env }
    objects[3] = job_manifest(options, job, "executor", executors, executor, {})
  end
  objects[2] = job_manifest(options, job, "driver", 1, driver, { job.volume })
  return {
    objects = objects,
    main = 2,
    driver = ("firesteel/hvd=%s,firesteel/hvd-role=driver"):format(job.name),
    pods = "firesteel/hvd=" .. job.name,
  }
end

k8s.jobs = core.hvd_engine("k8s.jobs", {
  says = "plain Jobs",
  slots = function(options) return options.executors and options.executors * (options.cores or 1) end,
  plan = plan,
})

core.api [[
k8s.jobs{image: any=, namespace: string=, executors: integer=, cores: integer=1, cpu: any=, memory: string=, gpu: any=, env: table=, pull_secrets: any=, pull_policy: string=, service_account: string=, node_selector: table=, tolerations: list=, labels: table=, annotations: table=, volumes: list=, volume_mounts: list=} -> engine
  Where hvd.run runs its ranks: a Job with the driver, and a Job of executors, each with some of the ranks.
  image: an image with firesteel-worker: what image.build gives, or its name
  namespace: that of the context unless it is said
  executors: how many pods; as many as np needs unless it is said
  cores: how many ranks an executor takes
  cpu: what each pod requests, 2 or "500m"
  memory: what each pod requests and may use, "1Gi"
  gpu: how many GPUs (nvidia.com/gpu) each pod has, or { ["amd.com/gpu"] = 1 }
  env: variables of all pods
  pull_secrets: a Secret for the image's registry, or several
  pull_policy: "Never", "IfNotPresent" or "Always"
  service_account: whose rights the pods have; none unless it is said
  node_selector: labels of the nodes, { disk = "ssd" }
  tolerations: of nodes' taints, as in a pod
  labels: of Jobs and pods
  annotations: of the pods
  volumes: further ones, as in a pod
  volume_mounts: where they are mounted in driver and executors
  example:
    on = k8s.jobs { image = "registry:5000/trainer:1", executors = 4, memory = "1Gi" }
    print(pcall(hvd.run, function() end, { np = 5, on = on })) --> false
]]
