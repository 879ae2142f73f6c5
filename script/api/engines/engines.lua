-- SPDX-License-Identifier: MIT
-- k8s.mpijob, k8s.jobset and k8s.sparkapp: engines of hvd.run that operators run (script/api/hvd/hvd.lua has the contract, jobs.lua the
-- engine of plain Jobs). Ranks are started by firesteel-worker in each of them, so an MPIJob needs no ssh, and Spark only
-- schedules.
local core = ...
local parts = core.engine_parts

-- ---- the MPI operator: the launcher is the driver, the workers are the executors

local function mpi_replica(options, job, role, n, container, volumes)
  return { replicas = n, restartPolicy = "Never", template = parts.pod_template("k8s.mpijob", options, job, role, container, volumes) }
end

local function mpi_manifest(options, job, slots, replicas)
  return {
    apiVersion = "kubeflow.org/v2beta1", kind = "MPIJob",
    metadata = { name = job.name, labels = parts.merged(options.labels or {}, job.labels, parts.queue_labels("k8s.mpijob", options)) },
    spec = { slotsPerWorker = slots, mpiImplementation = "MPICH", mpiReplicaSpecs = replicas,
      runPolicy = { cleanPodPolicy = "Running", backoffLimit = 0, ttlSecondsAfterFinished = 3600 } },
  }
end

local function mpijob(options, job)
  local executors, cores = parts.sizes("k8s.mpijob", options, job)
  return parts.plan(options, job, mpi_manifest(options, job, cores, {
    Launcher = mpi_replica(options, job, "driver", 1, parts.driver(job, executors, cores), { job.volume }),
    Worker = mpi_replica(options, job, "executor", executors, parts.executor(job), {}),
  }))
end

-- The launcher is node 0, the workers are the others; the operator numbers these in a label.
local function mpi_nodes(options, job)
  parts.no_restarts("k8s.mpijob", job)
  local replicas = { Launcher = mpi_replica(options, job, "launcher", 1, job.container { node = 0 }, { job.volume }) }
  if job.nodes > 1 then
    local container = job.container { node_of = "FIRESTEEL_NODE", plus = 1 }
    container.env[#container.env + 1] = parts.from_label("FIRESTEEL_NODE", "training.kubeflow.org/replica-index")
    replicas.Worker = mpi_replica(options, job, "worker", job.nodes - 1, container, { job.volume })
  end
  return parts.nodes_plan("k8s.mpijob", options, job, mpi_manifest(options, job, job.nproc, replicas), { [job.label .. "-role"] = "launcher" })
end

k8s.mpijob = core.hvd_engine("k8s.mpijob", { says = "an MPIJob", slots = parts.slots, plan = mpijob, nodes = mpi_nodes })

-- ---- JobSet: driver and executors as two jobs of one object, which a queue admits as a whole

local function replicated(options, job, role, n, container, volumes)
  local spec = parts.job_spec("k8s.jobset", options, job, role, n, container, volumes)
  return { name = role, replicas = 1, template = { metadata = { labels = spec.template.metadata.labels }, spec = spec } }
end

local function jobset_manifest(options, job, restarts, jobs)
  return {
    apiVersion = "jobset.x-k8s.io/v1alpha2", kind = "JobSet",
    metadata = { name = job.name, labels = parts.merged(options.labels or {}, job.labels, parts.queue_labels("k8s.jobset", options)) },
    spec = {
      network = { enableDNSHostnames = false }, failurePolicy = { maxRestarts = restarts }, ttlSecondsAfterFinished = 3600,
      successPolicy = { operator = "All", targetReplicatedJobs = core.array { jobs[1].name } }, replicatedJobs = jobs,
    },
  }
end

local function jobset(options, job)
  local executors = parts.sizes("k8s.jobset", options, job)
  local cores = options.cores or 1
  if job.elastic then core.fail("error", "k8s.jobset: a JobSet has a fixed number of pods; elastic jobs run by k8s.jobs") end
  return parts.plan(options, job, jobset_manifest(options, job, 0, core.array {
    replicated(options, job, "driver", 1, parts.driver(job, executors, cores), { job.volume }),
    replicated(options, job, "executor", executors, parts.executor(job), {}),
  }))
end

local function jobset_nodes(options, job)
  local container = job.container { node_of = "JOB_COMPLETION_INDEX", attempt_of = "FIRESTEEL_ATTEMPT" }
  container.env[#container.env + 1] = parts.from_label("FIRESTEEL_ATTEMPT", "jobset.sigs.k8s.io/restart-attempt")
  local jobs = core.array { replicated(options, job, "node", job.nodes, container, { job.volume }) }
  return parts.nodes_plan("k8s.jobset", options, job, jobset_manifest(options, job, job.restarts, jobs), parts.first_index)
end

k8s.jobset = core.hvd_engine("k8s.jobset", { says = "a JobSet", slots = parts.slots, plan = jobset, nodes = jobset_nodes })

-- ---- Kubeflow's Trainer: pods of one kind by a runtime of the cluster; the first one is the driver, too

local TRAINER = "trainer.kubeflow.org"
local PATCHED = { affinity = 1, containers = 1, imagePullSecrets = 1, initContainers = 1, nodeSelector = 1, schedulingGates = 1, securityContext = 1,
  serviceAccountName = 1, tolerations = 1, volumes = 1 } -- what a TrainJob may change of its runtime's pods
local OF_CONTAINER = { env = 1, name = 1, securityContext = 1, volumeMounts = 1 }

local function only(what, map, allowed)
  for key in pairs(map) do
    if not allowed[key] then
      local names = {}
      for name in pairs(allowed) do names[#names + 1] = name end
      table.sort(names)
      core.fail("error", ("k8s.trainjob: a TrainJob cannot change %s.%s of its runtime, only %s"):format(what, key, table.concat(names, ", ")))
    end
  end
end

-- What a pod template of ours has beyond its container's command and resources, as a patch of the runtime's. Its container is "node".
local function pod_patch(options, job, container, volumes)
  local template = parts.pod_template("k8s.trainjob", options, job, "node", { volumeMounts = container.volumeMounts }, volumes)
  local spec, own, given = {}, template.spec.containers[1], (options.template or {}).spec or {}
  only("template.spec", given, PATCHED)
  for _, one in ipairs(given.containers or {}) do only("template.spec.containers", one, OF_CONTAINER) end
  for name in pairs(PATCHED) do spec[name] = template.spec[name] end
  spec.containers = core.array { { name = "node", volumeMounts = own.volumeMounts, securityContext = own.securityContext } }
  for i = 2, #template.spec.containers do spec.containers[i] = template.spec.containers[i] end
  return { metadata = template.metadata, spec = spec }, own.env
end

local function trainjob_manifest(options, job, nodes, slots, container, volumes)
  if not options.runtime then core.fail("error", 'k8s.trainjob: runtime: the name of a ClusterTrainingRuntime, runtime = "torch-distributed"') end
  local patch, env = pod_patch(options, job, container, volumes)
  for _, variable in ipairs(env or {}) do container.env[#container.env + 1] = variable end
  return {
    apiVersion = TRAINER .. "/v1alpha1", kind = "TrainJob",
    metadata = { name = job.name, labels = parts.merged(options.labels or {}, job.labels, parts.queue_labels("k8s.trainjob", options)) },
    spec = {
      runtimeRef = { apiGroup = TRAINER, kind = options.runtime_kind or "ClusterTrainingRuntime", name = options.runtime },
      trainer = { image = options.image and tostring(options.image), command = container.command, args = container.args, env = container.env,
        numNodes = nodes, numProcPerNode = slots, resourcesPerNode = parts.resources_of(options) },
      runtimePatches = core.array { { manager = TRAINER .. "/firesteel", trainingRuntimeSpec = { template = { spec = { replicatedJobs = core.array {
        { name = "node", template = { spec = { template = patch } } } } } } } } },
    },
  }
end

-- The pods of the JobSet that the Trainer makes; their names are known before.
local function trainjob_plan(options, job, main, driver)
  local objects = {}
  if options.network_policy ~= false then objects[1] = parts.network_policy(job) end
  objects[#objects + 1] = main
  local pods = job.label .. "=" .. job.name
  return { objects = objects, main = #objects, driver = driver and pods .. ",batch.kubernetes.io/job-completion-index=0" or pods, pods = pods }
end

local function trainjob(options, job)
  local executors, slots = parts.sizes("k8s.trainjob", options, job)
  if job.elastic then core.fail("error", "k8s.trainjob: a TrainJob has a fixed number of pods; elastic jobs run by k8s.jobs") end
  local container = parts.driver(job, executors, slots)
  container.args = core.array { "--node", ("%s-node-0-0.%s:%d"):format(job.name, job.name, parts.port), table.unpack(job.command) }
  return trainjob_plan(options, job, trainjob_manifest(options, job, executors, slots, container, { job.volume }), true)
end

local function trainjob_nodes(options, job)
  if job.restarts > 0 then core.fail("error", "k8s.trainjob: restarts: the runtime's failurePolicy says how often a TrainJob starts again") end
  parts.check_nodes("k8s.trainjob", options, true)
  job.address = ("%s-node-0-0.%s"):format(job.name, job.name)
  local container = job.container { node_of = "JOB_COMPLETION_INDEX" }
  return trainjob_plan(options, job, trainjob_manifest(options, job, job.nodes, job.nproc, container, { job.volume }))
end

k8s.trainjob = core.hvd_engine("k8s.trainjob", { says = "a TrainJob", slots = parts.slots, plan = trainjob, nodes = trainjob_nodes })

-- ---- the Spark operator: spark.py is the main file, a task of its barrier stage is an executor

-- Spark sets variables and mounts the Secret itself, so this works without the operator's webhook, too. The driver's spark.py
-- makes the secret of its ranks.
local function spark_conf(options, job)
  local conf = parts.merged(options.conf or {}, { ["spark.app.name"] = job.name })
  for prefix, list in pairs { ["spark.kubernetes.driverEnv."] = job.driver_env, ["spark.executorEnv."] = job.executor_env } do
    for _, variable in ipairs(list) do
      if variable.value then conf[prefix .. variable.name] = variable.value end
    end
  end
  if #(options.volumes or {}) > 0 then
    core.fail("error", 'k8s.sparkapp: volumes are claims and where they are mounted, { mnist = "/data" }')
  end
  -- Ranks need no GPU of Spark's: only who asks for its scheduling of GPUs gets it.
  if options.task_gpu or options.gpu_discovery then core.spark_gpus("k8s.sparkapp", conf, options, true) end
  return core.spark_claims(conf, core.claims("volumes", options.volumes or {}))
end

local function sparkapp(options, job)
  local executors, cores = parts.sizes("k8s.sparkapp", options, job)
  local labels = parts.merged(options.labels or {}, job.labels)
  local annotations = parts.merged({ ["sidecar.istio.io/inject"] = "false" }, options.annotations or {})
  local function template(container)
    local patch = parts.template_of("k8s.sparkapp", options, container)
    if patch and not patch.spec.containers then patch.spec.containers = core.array { { name = container } } end
    return patch
  end
  local java = options.java_options or "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" -- the JVMs only hand out work
  local function role(name, n)
    return {
      cores = n, coreRequest = options.cpu and tostring(options.cpu), memory = options.memory or "1g", javaOptions = java,
      labels = parts.merged(labels, { ["firesteel/hvd-role"] = name }), annotations = annotations,
    }
  end
  local driver, executor = role("driver", 1), role("executor", cores)
  driver.serviceAccount = options.service_account or "spark"
  driver.template, executor.template = template "spark-kubernetes-driver", template "spark-kubernetes-executor"
  driver.secrets = { { name = job.name, path = job.mount.mountPath, secretType = "Generic" } }
  executor.instances = executors
  for name, of in pairs { gpu = executor, driver_gpu = driver } do
    if options[name] then
      local vendor, kind, n = core.devices("k8s.sparkapp", name, options[name])
      of.gpu = { name = vendor .. "/" .. kind, quantity = n }
    end
  end
  return parts.plan(options, job, {
    apiVersion = "sparkoperator.k8s.io/v1beta2", kind = "SparkApplication", metadata = { name = job.name, labels = parts.merged(labels, parts.queue_labels("k8s.sparkapp", options)) },
    spec = {
      type = "Python", mode = "cluster", image = tostring(options.image), imagePullPolicy = options.pull_policy,
      imagePullSecrets = options.pull_secrets and (type(options.pull_secrets) == "table" and options.pull_secrets or { options.pull_secrets }),
      sparkVersion = options.spark_version or "3.5.7", mainApplicationFile = "local:///opt/firesteel/spark.py",
      arguments = job.command, restartPolicy = { type = "Never" }, nodeSelector = options.node_selector,
      sparkConf = spark_conf(options, job), driver = driver, executor = executor,
    },
  }, "spark-kubernetes-driver")
end

k8s.sparkapp = core.hvd_engine("k8s.sparkapp", { says = "a SparkApplication", slots = parts.slots, plan = sparkapp })

parts.describe("k8s.mpijob", "an MPIJob of the MPI operator (v2beta1), whose launcher is the driver. No ssh is needed.", {
  executors = "how many workers; as many as np needs unless it is said", cores = "how many ranks a worker takes",
  queue = "a LocalQueue of Kueue, which admits launcher and workers together", labels = "of the MPIJob and its pods",
  volumes = 'claims and where launcher and workers mount them, { mnist = "/data" }; or a list of volumes as in a pod',
}, "trainer:1")

parts.describe("k8s.jobset", "a JobSet (jobset.x-k8s.io), with a job for the driver and one for the executors. A queue admits it as a whole.",
  { labels = "of the JobSet and its pods" }, "trainer:1")

parts.describe("k8s.trainjob", "a TrainJob of Kubeflow's Trainer (2.2), whose pods are those of a runtime of the cluster. The first one is the driver, too.", {
  image = "an image with what runs: firesteel-worker for hvd.run, Python for torch.run; the runtime's unless it is said",
  queue = "a LocalQueue of Kueue, which admits it as a whole", labels = "of the TrainJob and its pods", pull_policy = false,
  template = "a patch of the runtime's pods, as of k8s.jobs; a TrainJob may change volumes, their mounts, variables, security contexts, account, node selector, affinity and tolerations",
  after = { image = { { "runtime", "string=", 'a ClusterTrainingRuntime, "torch-distributed"' },
    { "runtime_kind", 'string="ClusterTrainingRuntime"', 'or "TrainingRuntime", of the namespace' } } },
}, "trainer:1", ', runtime = "torch-distributed"')

parts.describe("k8s.sparkapp", "the tasks of a barrier stage of a SparkApplication (v1beta2).", {
  image = 'an image with Spark and firesteel-worker: image.build { from = "apache/spark:3.5.7" }',
  executors = "how many executor pods; as many as np needs unless it is said", cores = "how many ranks an executor takes, as its cores",
  queue = "a LocalQueue of Kueue; the SparkApplication has its label",
  template = "a patch of the pods of driver and executors, as of k8s.jobs; the operator hands it to Spark as a pod template",
  cpu = 'what each pod requests, 2 or "500m" (coreRequest)', memory = { 'string="1g"', "of driver and executors, as Spark writes it" },
  gpu = 'how many GPUs (nvidia.com/gpu) each executor has, or { ["amd.com/gpu"] = 1 }; firesteel\'s own trainer uses none',
  pull_secrets = "the name of a Secret for the image's registry, or several",
  service_account = { 'string="spark"', "whose rights the driver has to make executors" }, tolerations = false,
  labels = "of the SparkApplication and its pods", volumes = 'claims and where driver and executors mount them, { mnist = "/data" }', volume_mounts = false,
  after = { gpu = { { "driver_gpu", "any=", "the same of the driver" },
    { "task_gpu", "number=", "how many GPUs Spark gives a task (spark.task.resource.gpu.amount), with its discovery script; 0.5: two tasks share one" },
    { "gpu_discovery", "string=", "that script, in the image; that of Apache's images unless it is said" } },
    env = { { "conf", "table=", "settings of Spark" }, { "java_options", "string=", "of all JVMs; by default such as let them start fast" },
    { "spark_version", 'string="3.5.7"', "that of the image" } } },
}, "trainer-spark:1")
