-- SPDX-License-Identifier: MIT
-- What a team's namespace needs, as ordinary objects that are applied: the namespace, its quota, accounts, role bindings,
-- claims of volumes with data. Applied again they change nothing; the ledger has each of them, and `firesteel clean` removes those
-- that the run made.
local core = ...

local function usage(format, ...)
  core.fail("error", format:format(...))
end

-- The options of a call, and the name that is their first item.
local function named(what, options, example)
  if type(options) == "string" then options = { options } end
  if type(options) ~= "table" or type(options[1]) ~= "string" then usage("%s expects a name: %s", what, example) end
  return core.check(what, options), options[1]
end

local function metadata(name, options)
  return { name = name, namespace = options.namespace, labels = options.labels, annotations = options.annotations }
end

local function list(value, what)
  if value == nil then return nil end
  if type(value) == "string" then return { value } end
  return core.expect_type(what, value, "table", "a name or a list of names")
end

-- Words for what a quota limits; all others are Kubernetes' own ("count/jobs.batch", "requests.nvidia.com/gpu").
local limits = {
  cpu = "requests.cpu", memory = "requests.memory", cpu_limit = "limits.cpu", memory_limit = "limits.memory",
  gpus = "requests.nvidia.com/gpu", storage = "requests.storage", claims = "persistentvolumeclaims", pods = "pods",
  services = "services", secrets = "secrets", configmaps = "configmaps",
}

-- k8s.quota { "team", namespace = "bench", cpu = 8, memory = "16Gi", gpus = 2, pods = 20 } → a handle of the ResourceQuota.
-- Also cpu_limit, memory_limit, storage, claims, services, secrets, configmaps; hard = { ["count/jobs.batch"] = 5 } takes
-- Kubernetes' own words. Where cpu or memory is limited, pods without requests are refused.
function k8s.quota(options)
  local name
  options, name = named("k8s.quota", options, 'k8s.quota { "team", cpu = 8, memory = "16Gi" }')
  local hard = {}
  for word, resource in pairs(limits) do
    if options[word] ~= nil then hard[resource] = tostring(options[word]) end
  end
  for resource, amount in pairs(options.hard or {}) do hard[resource] = tostring(amount) end
  if not next(hard) then usage "k8s.quota limits nothing: name cpu, memory, gpus, pods, storage, or others in hard = {…}" end
  return k8s.apply { apiVersion = "v1", kind = "ResourceQuota", metadata = metadata(name, options), spec = { hard = hard } }
end

-- k8s.role_binding { "spark-edit", namespace = "bench", role = "edit", account = "spark" } → a handle of the RoleBinding.
-- role: a ClusterRole ("view", "edit", "admin", …); own_role: a Role of the namespace. account, user, group: a name, or
-- several; an account of another namespace is written "namespace/name".
function k8s.role_binding(options)
  local name
  options, name = named("k8s.role_binding", options,
    'k8s.role_binding { "spark-edit", role = "edit", account = "spark" }')
  if (options.role == nil) == (options.own_role == nil) then
    usage "k8s.role_binding binds one role: role = \"edit\" (a ClusterRole), or own_role = \"name\" (a Role)"
  end
  local subjects = core.array {}
  for _, account in ipairs(list(options.account, "account") or {}) do
    local place, own = account:match "^([^/]+)/(.+)$"
    subjects[#subjects + 1] = { kind = "ServiceAccount", name = own or account, namespace = place or options.namespace }
  end
  for kind, names in pairs { User = list(options.user, "user") or {}, Group = list(options.group, "group") or {} } do
    for _, subject in ipairs(names) do
      subjects[#subjects + 1] = { kind = kind, name = subject, apiGroup = "rbac.authorization.k8s.io" }
    end
  end
  if #subjects == 0 then usage "k8s.role_binding binds a role to somebody: account =, user = or group =" end
  return k8s.apply { apiVersion = "rbac.authorization.k8s.io/v1", kind = "RoleBinding", metadata = metadata(name, options),
    roleRef = { apiGroup = "rbac.authorization.k8s.io", kind = options.role and "ClusterRole" or "Role",
      name = options.role or options.own_role },
    subjects = subjects }
end

-- k8s.account { "spark", namespace = "bench", role = "edit", pull_secrets = { "registry" } } → a handle of the
-- ServiceAccount. role binds that ClusterRole to it, as "NAME-ROLE".
function k8s.account(options)
  local name
  options, name = named("k8s.account", options, 'k8s.account { "spark", role = "edit" }')
  local secrets
  for i, secret in ipairs(list(options.pull_secrets, "pull_secrets") or {}) do
    secrets = secrets or {}
    secrets[i] = { name = secret }
  end
  local account = k8s.apply { apiVersion = "v1", kind = "ServiceAccount", metadata = metadata(name, options),
    imagePullSecrets = secrets }
  if options.role then
    k8s.role_binding { name .. "-" .. options.role, namespace = options.namespace, role = options.role, account = name }
  end
  return account
end

-- A copy of a table of options, in this namespace.
local function within(namespace, name, options)
  local copy = { name, namespace = namespace }
  for key, value in pairs(options) do
    if key ~= 1 then copy[key] = value end
  end
  return copy
end

-- k8s.namespace { "bench", quota = { cpu = 8, memory = "16Gi" }, account = "spark", role = "edit" } → a handle of the
-- Namespace, in which pods can be made. account: a ServiceAccount (a name, or the options of k8s.account), role: what it
-- may do there, "edit" unless it is said; quota: the options of k8s.quota.
function k8s.namespace(options)
  local name
  options, name = named("k8s.namespace", options, 'k8s.namespace { "bench", account = "spark" }')
  if options.role and not options.account then usage "k8s.namespace: role is that of an account = \"name\"" end
  local handle = k8s.apply { apiVersion = "v1", kind = "Namespace",
    metadata = { name = name, labels = options.labels, annotations = options.annotations } }
  if options.quota then k8s.quota(within(name, options.quota[1] or name, options.quota)) end
  if options.account then
    local account = type(options.account) == "table" and options.account or { options.account }
    local copy = within(name, account[1], account)
    copy.role = copy.role or options.role or "edit"
    k8s.account(copy)
  end
  -- no pod is admitted before the namespace has its own account
  local own = { kind = "serviceaccounts", namespace = name, name = "default" }
  k8s.wait { setmetatable(own, getmetatable(handle)), "create", timeout = "30s" }
  return handle
end

local fill_options = { image = 1, path = 1, timeout = 1, pull_secrets = 1 }

-- A Job that copies a folder of an image into the volume. It goes by itself, a minute after its end.
local function fill_claim(name, options, fill)
  core.check("k8s.claim's fill", fill, fill_options)
  if not fill.image or type(fill.path) ~= "string" then
    usage('k8s.claim fills a volume from a folder of an image: fill = { image = img, path = "/work/data" }')
  end
  local secrets
  for i, secret in ipairs(list(fill.pull_secrets, "pull_secrets") or {}) do
    secrets = secrets or {}
    secrets[i] = { name = secret }
  end
  local job = k8s.create(core.our_pods { apiVersion = "batch/v1", kind = "Job",
    metadata = { generateName = name .. "-fill-", namespace = options.namespace },
    spec = { backoffLimit = 2, ttlSecondsAfterFinished = 60, template = { spec = {
      restartPolicy = "Never", imagePullSecrets = secrets, securityContext = { runAsUser = 0 },
      containers = { { name = "fill", image = tostring(fill.image),
        command = { "sh", "-c", 'cp -R "$0/." /volume/', fill.path },
        volumeMounts = { { name = "volume", mountPath = "/volume" } } } },
      volumes = { { name = "volume", persistentVolumeClaim = { claimName = name } } },
    } } } })
  job:reaches("Complete", fill.timeout or "10m")
end

-- k8s.claim { "mnist", namespace = "bench", size = "1Gi", fill = { image = img, path = "/work/data/mnist" } } → a handle of
-- the PersistentVolumeClaim. access: "ReadWriteOnce" unless it is said, or several; storage_class: "" for volumes that were
-- made by hand, volume: the one that is meant. fill: what is in this folder of an image (which has sh and cp) is copied
-- into the volume by a Job, and waited for.
function k8s.claim(options)
  local name
  options, name = named("k8s.claim", options, 'k8s.claim { "mnist", size = "1Gi" }')
  if options.size == nil then usage 'k8s.claim needs a size: size = "1Gi"' end
  local claim = k8s.apply { apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = metadata(name, options),
    spec = { accessModes = list(options.access or "ReadWriteOnce", "access"), storageClassName = options.storage_class,
      volumeName = options.volume, resources = { requests = { storage = tostring(options.size) } } } }
  if options.fill then fill_claim(name, options, options.fill) end
  return claim
end
