-- SPDX-License-Identifier: MIT
-- k8s.mpijob, k8s.jobset and k8s.sparkapp: engines of hvd.run that operators run (script/api/hvd/hvd.lua has the contract, jobs.lua the
-- engine of plain Jobs). Ranks are started by firesteel-worker in each of them, so an MPIJob needs no ssh, and Spark only
-- schedules.
local core = ...
local parts = core.engine_parts

-- ---- the MPI operator: the launcher is the driver, the workers are the executors

local function mpijob(options, job)
  local executors, cores = parts.sizes("k8s.mpijob", options, job)
  local function replica(role, n, container, volumes)
    return { replicas = n, restartPolicy = "Never", template = parts.pod_template("k8s.mpijob", options, job, role, container, volumes) }
  end
  return parts.plan(options, job, {
    apiVersion = "kubeflow.org/v2beta1", kind = "MPIJob",
    metadata = { name = job.name, labels = parts.merged(options.labels or {}, job.labels, parts.queue_labels("k8s.mpijob", options)) },
    spec = {
      slotsPerWorker = cores, mpiImplementation = "MPICH",
      runPolicy = { cleanPodPolicy = "Running", backoffLimit = 0, ttlSecondsAfterFinished = 3600 },
      mpiReplicaSpecs = {
        Launcher = replica("driver", 1, parts.driver(job, executors, cores), { job.volume }),
        Worker = replica("executor", executors, parts.executor(job), {}),
      },
    },
  })
end

k8s.mpijob = core.hvd_engine("k8s.mpijob", { says = "an MPIJob", slots = parts.slots, plan = mpijob })

-- ---- JobSet: driver and executors as two jobs of one object, which a queue admits as a whole

local function jobset(options, job)
  local executors = parts.sizes("k8s.jobset", options, job)
  local cores = options.cores or 1
  if job.elastic then core.fail("error", "k8s.jobset: a JobSet has a fixed number of pods; elastic jobs run by k8s.jobs") end
  local function replicated(role, n, container, volumes)
    local spec = parts.job_spec("k8s.jobset", options, job, role, n, container, volumes)
    return { name = role, replicas = 1, template = { metadata = { labels = spec.template.metadata.labels }, spec = spec } }
  end
  return parts.plan(options, job, {
    apiVersion = "jobset.x-k8s.io/v1alpha2", kind = "JobSet",
    metadata = { name = job.name, labels = parts.merged(options.labels or {}, job.labels, parts.queue_labels("k8s.jobset", options)) },
    spec = {
      network = { enableDNSHostnames = false }, failurePolicy = { maxRestarts = 0 }, ttlSecondsAfterFinished = 3600,
      successPolicy = { operator = "All", targetReplicatedJobs = core.array { "driver" } },
      replicatedJobs = core.array {
        replicated("driver", 1, parts.driver(job, executors, cores), { job.volume }),
        replicated("executor", executors, parts.executor(job), {}),
      },
    },
  })
end

k8s.jobset = core.hvd_engine("k8s.jobset", { says = "a JobSet", slots = parts.slots, plan = jobset })

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
  if options.gpu then
    local name, n = next(type(options.gpu) == "table" and options.gpu or { ["nvidia.com/gpu"] = options.gpu })
    executor.gpu = { name = name, quantity = n }
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

parts.describe("k8s.sparkapp", "the tasks of a barrier stage of a SparkApplication (v1beta2).", {
  image = 'an image with Spark and firesteel-worker: image.build { from = "apache/spark:3.5.7" }',
  executors = "how many executor pods; as many as np needs unless it is said", cores = "how many ranks an executor takes, as its cores",
  queue = "a LocalQueue of Kueue; the SparkApplication has its label",
  template = "a patch of the pods of driver and executors, as of k8s.jobs; the operator hands it to Spark as a pod template",
  cpu = 'what each pod requests, 2 or "500m" (coreRequest)', memory = { 'string="1g"', "of driver and executors, as Spark writes it" },
  gpu = 'how many GPUs (nvidia.com/gpu) each executor has, or { ["amd.com/gpu"] = 1 }',
  pull_secrets = "the name of a Secret for the image's registry, or several",
  service_account = { 'string="spark"', "whose rights the driver has to make executors" }, tolerations = false,
  labels = "of the SparkApplication and its pods", volumes = 'claims and where driver and executors mount them, { mnist = "/data" }', volume_mounts = false,
  after = { env = { { "conf", "table=", "settings of Spark" }, { "java_options", "string=", "of all JVMs; by default such as let them start fast" },
    { "spark_version", 'string="3.5.7"', "that of the image" } } },
}, "trainer-spark:1")
