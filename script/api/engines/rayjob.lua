-- SPDX-License-Identifier: MIT
-- k8s.rayjob: a RayJob of KubeRay. It runs an entrypoint, k8s.create(k8s.rayjob { name = "train", entrypoint = … }), or the ranks
-- of torch.run and hvd.run, which ray_ranks.py starts in a placement group. KubeRay makes a cluster of Ray for it: a head, which
-- runs the entrypoint, workers, and a submitter, whose log is the job's.
local core = ...
local parts = core.engine_parts
local NAME = "k8s.rayjob"
local CODE, FILES = "/run/firesteel-ray", "/run/firesteel-files"
local SUBMITTER = "submitter"
local MOST = 900 * 1000 -- bytes of files in a ConfigMap
local MODES = { K8sJobMode = true, HTTPMode = true, SidecarMode = true }
local STRATEGIES = { STRICT_SPREAD = true, SPREAD = true, PACK = true, STRICT_PACK = true }

local function usage(format, ...)
  core.fail("error", NAME .. ": " .. format:format(...))
end

local function one_of(options, name, words, default)
  local value = options[name] or default
  if words[value] then return value end
  local names = {}
  for word in pairs(words) do names[#names + 1] = word end
  table.sort(names)
  usage("%s must be one of %s, not %s", name, table.concat(names, ", "), tostring(value))
end

local function workers_of(options, default)
  local n = options.workers == nil and default or options.workers
  if math.type(n) ~= "integer" or n < 0 or n > 4096 then usage("workers must be an integer from 0 to 4096, not %s", tostring(n)) end
  return n
end

-- ---- pods

-- Operators and Kueue write an object back without its empty lists: a resumed run would take that for a change by somebody.
local function without_empty(template)
  local spec = template.spec
  for _, of in ipairs { spec, table.unpack(spec.containers) } do
    for _, name in ipairs { "volumes", "volumeMounts", "env" } do
      if of[name] and #of[name] == 0 then of[name] = nil end
    end
  end
  return template
end

-- KubeRay starts Ray in the container, and again when it ends.
local function ray_pod(options, job, role, container, volumes)
  local template = parts.pod_template(NAME, options, job, role, container, volumes)
  if not ((options.template or {}).spec or {}).restartPolicy then template.spec.restartPolicy = nil end
  return without_empty(template)
end

local function head_options(options)
  return parts.merged(options, { cpu = options.head_cpu or options.cpu, memory = options.head_memory or options.memory, gpu = false })
end

-- The submitter needs no more than Ray's client does; Kueue counts it.
local function submitter_pod(options, job, container, volumes)
  container.env = core.env_list(core.text_map("env", options.env, NAME))
  table.move(container.more or {}, 1, 1, #container.env + 1, container.env)
  container.more = nil
  return without_empty(parts.pod_template(NAME, parts.merged(options, { cpu = "100m", memory = "512Mi", gpu = false, volumes = {}, volume_mounts = {} }), job, SUBMITTER, container, volumes))
end

local function code_map(job)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = job.name .. "-ray", labels = job.labels }, data = { ["ray_ranks.py"] = core.call("ray.ranks", {}) } }
end

local function code_volume(job) return { name = "ray-code", configMap = { name = job.name .. "-ray" } } end
local CODE_MOUNT = { name = "ray-code", mountPath = CODE, readOnly = true }

local function with_python(options, ...)
  return core.array { options.python or "python3", CODE .. "/ray_ranks.py", ... }
end

-- What Ray is told of the submission, for ray_ranks.py submit.
local function submission(options, more)
  return { name = "FIRESTEEL_SUBMIT", value = firesteel.json(parts.merged({ runtime_env = options.runtime_env, metadata = options.metadata,
    entrypoint_num_cpus = options.entrypoint_num_cpus, entrypoint_num_gpus = options.entrypoint_num_gpus, entrypoint_resources = options.entrypoint_resources }, more)) }
end

-- As KubeRay's own submitter, the pod's Job is not tried again: this one never hands in a job twice.
local function submitter(options, job, entrypoint, more, mounts, volumes)
  return submitter_pod(options, job, { command = with_python(options, "submit", entrypoint), more = { submission(options, more) },
    volumeMounts = { CODE_MOUNT, table.unpack(mounts) } }, { code_volume(job), table.unpack(volumes) })
end

-- ---- the objects

-- Ray runs whatever a client sends it, so only the operator, which asks the head for the job's state, and the job's own pods may connect.
local function network_policy(job)
  local policy = parts.network_policy(job)
  policy.spec.ingress[2] = { ports = core.array { { port = 8265 } }, from = core.array { { namespaceSelector = {},
    podSelector = { matchExpressions = core.array { { key = "app.kubernetes.io/name", operator = "In", values = core.array { "kuberay", "kuberay-operator" } } } } } } }
  return policy
end

local function cluster_spec(options, head, worker, n, head_params)
  local given = options.ray_start_params or {}
  return {
    rayVersion = options.ray_version,
    headGroupSpec = { rayStartParams = parts.merged({ ["dashboard-host"] = "0.0.0.0" }, given, head_params), template = head },
    workerGroupSpecs = n > 0 and core.array { { groupName = "workers", replicas = n, minReplicas = n, maxReplicas = n,
      rayStartParams = given, template = worker } } or nil,
  }
end

local function manifest(options, job, spec)
  return { apiVersion = "ray.io/v1", kind = "RayJob",
    metadata = { name = job.name, namespace = options.namespace, labels = parts.merged(options.labels or {}, job.labels, parts.queue_labels(NAME, options)) }, spec = spec }
end

-- ---- an entrypoint

local function whole_number(options, name)
  local value = options[name]
  if value ~= nil and (math.type(value) ~= "integer" or value < 0) then usage("%s must be a whole number, not %s", name, tostring(value)) end
  return value
end

-- files = { "train.py", "more/own.py" }: data of a ConfigMap, and items of its volume.
local function packed(files)
  local data, items, size = {}, core.array {}, 0
  for i, name in ipairs(files) do
    if type(name) ~= "string" or name:find "^/" or ("/" .. name .. "/"):find "/%.%./" then usage("files are below the working folder, not %s", tostring(name)) end
    local text, key = core.read_file(NAME, name), ("file%d"):format(i)
    data[key], size = core.base64(text), size + #text
    items[i] = { key = key, path = name }
  end
  if size > MOST then usage("files have %d kB, and a ConfigMap holds %d: put what is large into the image or a volume", size // 1000, MOST // 1000) end
  return data, items
end

local function check_entrypoint(options)
  if type(options.entrypoint) ~= "string" or not options.entrypoint:find "%S" then
    usage 'entrypoint: the command that Ray runs, entrypoint = "python train.py"; torch.run and hvd.run take the record as `on` instead'
  end
  if not options.name then usage 'name: the RayJob\'s, name = "train"' end
  if #options.name > 47 then usage("name: KubeRay takes names of up to 47 characters, and this has %d", #options.name) end
  if not options.image then usage "image: an image with Ray and what the entrypoint imports, as rayproject/ray:2.46.0" end
  for _, name in ipairs { "cores", "strategy" } do
    if options[name] ~= nil then usage("%s is for ranks of hvd.run and torch.run; an entrypoint places its own tasks", name) end
  end
  local mode = one_of(options, "submission_mode", MODES, "K8sJobMode")
  if #(options.files or {}) > 0 and mode ~= "K8sJobMode" then usage("files go to Ray by the submitter's pod, and %s has none", mode) end
  if options.queue and options.shutdown_after_job_finishes == false then
    usage "shutdown_after_job_finishes: a RayJob in a queue gives its cluster back when it has ended"
  end
  return mode
end

-- The objects of an entrypoint, the RayJob first; what follows belongs to it and goes with it.
local function objects(options)
  local mode = check_entrypoint(options)
  local job = { name = options.name, label = "firesteel/ray", labels = { ["firesteel/ray"] = options.name } }
  local env = core.env_list(core.text_map("env", options.env, NAME))
  local shuts = options.shutdown_after_job_finishes ~= false
  local n, files = workers_of(options, 1), options.files or {}
  local spec = {
    entrypoint = options.entrypoint, submissionMode = mode, shutdownAfterJobFinishes = shuts,
    ttlSecondsAfterFinished = shuts and whole_number(options, "ttl_seconds_after_finished") or nil, backoffLimit = whole_number(options, "backoff_limit"),
    activeDeadlineSeconds = options.active_deadline_seconds and math.ceil(core.duration(options.active_deadline_seconds)) or nil,
    runtimeEnvYAML = options.runtime_env and firesteel.json(options.runtime_env) or nil, metadata = options.metadata,
    entrypointNumCpus = options.entrypoint_num_cpus, entrypointNumGpus = options.entrypoint_num_gpus,
    entrypointResources = options.entrypoint_resources and firesteel.json(options.entrypoint_resources) or nil,
    rayClusterSpec = cluster_spec(options, ray_pod(head_options(options), job, "head", { env = env }, {}), ray_pod(options, job, "worker", { env = env }, {}), n, {}),
  }
  local made = core.array { manifest(options, job, spec) }
  if options.network_policy ~= false then made[2] = network_policy(job) end
  if #files > 0 then
    local data, items = packed(files)
    local map = code_map(job)
    map.binaryData = data
    made[#made + 1] = map
    spec.submitterPodTemplate = submitter(options, job, options.entrypoint, { working_dir = FILES }, { { name = "ray-files", mountPath = FILES, readOnly = true } },
      { { name = "ray-files", configMap = { name = map.metadata.name, items = items } } })
  elseif mode == "K8sJobMode" then
    spec.submitterPodTemplate = submitter_pod(options, job, {}, {})
  end
  if mode == "K8sJobMode" then spec.submitterConfig = { backoffLimit = 0 } end
  for i = 2, #made do made[i].metadata.namespace = options.namespace end
  return made
end

-- ---- ranks

local FOR_ENTRYPOINTS = { "name", "entrypoint", "files", "backoff_limit", "active_deadline_seconds", "entrypoint_num_cpus", "entrypoint_num_gpus", "entrypoint_resources",
  "shutdown_after_job_finishes", "ttl_seconds_after_finished", "submission_mode", "metadata" }

local function check_ranks(options, whose)
  for _, name in ipairs(FOR_ENTRYPOINTS) do
    if options[name] ~= nil then usage("%s is for an entrypoint, which k8s.create takes; %s has its own way", name, whose) end
  end
end

-- What a node's actor takes of its pod: a processor, since it only starts the ranks, and all GPUs.
local function bundle(options)
  local gpus = type(options.gpu) == "table" and 0 or options.gpu
  for _, n in pairs(type(options.gpu) == "table" and options.gpu or {}) do gpus = gpus + n end
  return { CPU = 1, GPU = gpus and gpus > 0 and gpus or nil }
end

-- The head runs no ranks: its processors are none of Ray's.
local function ranks_plan(options, job, n, told, head, worker, volumes)
  told.nodes, told.bundle, told.strategy, told.timeout = n, bundle(options), one_of(options, "strategy", STRATEGIES, "STRICT_SPREAD"), job.start_timeout
  head.env = core.array { { name = "FIRESTEEL_RAY", value = firesteel.json(told) }, table.unpack(head.env) }
  head.volumeMounts = { CODE_MOUNT, table.unpack(head.volumeMounts or {}) }
  local main = manifest(options, job, {
    entrypoint = table.concat(with_python(options), " "), submissionMode = "K8sJobMode", shutdownAfterJobFinishes = true, backoffLimit = 0,
    submitterConfig = { backoffLimit = 0 }, submitterPodTemplate = submitter(options, job, table.concat(with_python(options), " "), {}, {}, {}),
    rayClusterSpec = cluster_spec(options, ray_pod(head_options(options), job, "head", head, { code_volume(job), table.unpack(volumes.head) }),
      ray_pod(options, job, "worker", worker, volumes.worker), n, { ["num-cpus"] = "0" }),
  })
  local made = core.array { code_map(job), main }
  if options.network_policy ~= false then table.insert(made, 1, network_policy(job)) end
  local pods = job.label .. "=" .. job.name
  return { objects = made, main = #made, driver = ("%s,%s-role=%s"):format(pods, job.label, SUBMITTER), pods = pods }
end

-- hvd.run: the head has the driver, each worker an executor.
local function plan(options, job)
  check_ranks(options, "hvd.run")
  if job.elastic then core.fail("error", NAME .. ": a RayJob has a fixed number of workers; elastic jobs run by k8s.jobs") end
  local n, cores = parts.sizes(NAME, parts.merged(options, { executors = options.workers }), job)
  local driver = parts.driver(job, n, cores)
  local worker = parts.executor(job).command[1]
  return ranks_plan(options, job, n, { command = core.array { worker, "--executor", ("{head}:%d"):format(parts.port) }, driver = core.array { worker, table.unpack(job.command) } },
    { env = driver.env, volumeMounts = driver.volumeMounts }, { env = job.executor_env }, { head = { job.volume }, worker = {} })
end

-- torch.run: each worker is a node, whose launcher starts its ranks.
local function nodes(options, job)
  check_ranks(options, "torch.run")
  if options.workers ~= nil then usage "workers belongs to hvd.run and to entrypoints; nodes of torch.run says how many there are" end
  parts.check_nodes(NAME, options)
  local container = job.container {}
  local env, threads = core.array {}, nil
  for _, variable in ipairs(container.env) do
    if variable.name ~= "TORCH_RUN" then env[#env + 1] = variable end
    if variable.name == "OMP_NUM_THREADS" then threads = variable.value end
  end
  local own = parts.merged(options, { python = container.command[1] })
  if container.command[1] == "python3" then container.command[1] = "{python}" end
  return ranks_plan(own, job, job.nodes, { command = container.command, env = { OMP_NUM_THREADS = threads }, restarts = job.restarts,
    launcher = { nodes = job.nodes, nproc = job.nproc, restarts = job.restarts, name = job.name } }, { env = env },
    { env = env, volumeMounts = container.volumeMounts }, { head = {}, worker = { job.volume } })
end

k8s.rayjob = core.hvd_engine(NAME, { says = "a RayJob", plan = plan, nodes = nodes, objects = objects,
  slots = function(options) return options.workers and options.workers * (options.cores or 1) end })

parts.describe(NAME, "a RayJob of KubeRay (ray.io/v1): an actor on each worker, in a placement group, starts its ranks. With entrypoint = \"python train.py\" it is a manifest for k8s.create.", {
  image = "an image with Ray and what runs: firesteel-worker for hvd.run, Python and what the script imports for torch.run and entrypoints",
  executors = false, cores = "how many ranks of hvd.run a worker takes",
  queue = "a LocalQueue of Kueue, which admits head, workers and submitter as a whole", labels = "of the RayJob and its pods",
  template = "a patch of head, workers and submitter, as of k8s.jobs", cpu = 'what head and workers request each, 2 or "500m"; Ray counts it up to whole processors',
  memory = 'what head and workers request each and may use, "4Gi"', gpu = 'how many GPUs (nvidia.com/gpu) each worker has, or { ["amd.com/gpu"] = 1 }',
  volumes = 'claims and where head and workers mount them, { mnist = "/data" }; or a list of volumes as in a pod',
  network_policy = "a NetworkPolicy lets only pods of the job reach its pods, and KubeRay the head's port 8265",
  after = { image = { { "name", "string=", "of the RayJob of an entrypoint" }, { "entrypoint", "string=", 'the command that the head runs, "python train.py --lr 0.1"' },
    { "files", "list=", "what the entrypoint gets as its working folder (Ray's working_dir), 900 kB at most" } },
    namespace = { { "workers", "integer=1", "how many workers; of hvd.run as many as np needs unless it is said, of torch.run its nodes" } },
    gpu = { { "head_cpu", "any=", "the same of the head" }, { "head_memory", "string=", "the same of the head" },
      { "ray_start_params", "table=", 'options of ray start on head and workers, { ["object-store-memory"] = "200000000" }' },
      { "ray_version", "string=", "that of the image, for KubeRay" },
      { "runtime_env", "table=", 'Ray\'s runtime environment of the job, { pip = { "requests" } }' },
      { "strategy", 'string="STRICT_SPREAD"', "of the placement group of ranks: STRICT_SPREAD, SPREAD, PACK or STRICT_PACK" },
      { "python", "string=", "the interpreter that has Ray; python3 unless it is said" },
      { "submission_mode", 'string="K8sJobMode"', "of an entrypoint: K8sJobMode, HTTPMode or SidecarMode" },
      { "shutdown_after_job_finishes", "boolean=true", "the cluster of Ray goes when the entrypoint has ended" },
      { "ttl_seconds_after_finished", "integer=", "so many seconds later" },
      { "backoff_limit", "integer=0", "how often a failed entrypoint is tried again, each time with a new cluster of Ray" },
      { "active_deadline_seconds", "duration=", "how long it may take" },
      { "entrypoint_num_cpus", "number=", "what Ray reserves for the entrypoint" }, { "entrypoint_num_gpus", "number=", "the same" },
      { "entrypoint_resources", "table=", "the same, of resources of one's own" }, { "metadata", "table=", "of Ray's job" } } },
}, "ray-trainer:1", nil, "workers")
