-- SPDX-License-Identifier: MIT
-- k8s.cp("pvc/mnist:train.csv", "train.csv", { image = img }): files out of a claim's volume and into it. Nobody can look into a
-- volume from outside, so a Job with a pod that mounts it is there while files are copied; it goes by itself.
local core = ...
local FOLDER, DONE = "/volume", "/tmp/copied"
local LIMIT, GONE = 600, 60 -- seconds

local function usage(format, ...)
  core.fail("error", format:format(...))
end

local function manifest(claim, up, options, seconds)
  local secrets = options.pull_secrets
  if type(secrets) == "string" then secrets = { secrets } end
  local references = secrets and core.array {}
  for i, secret in ipairs(secrets or {}) do references[i] = { name = secret } end
  return core.our_pods {
    apiVersion = "batch/v1", kind = "Job", metadata = { generateName = claim .. "-copy-", namespace = options.namespace },
    spec = { backoffLimit = 0, ttlSecondsAfterFinished = 0, activeDeadlineSeconds = math.ceil(seconds) + GONE, template = {
      metadata = { annotations = { ["sidecar.istio.io/inject"] = "false" } },
      spec = {
        restartPolicy = "Never", terminationGracePeriodSeconds = 1, imagePullSecrets = references, automountServiceAccountToken = false,
        containers = { { name = "copy", image = tostring(options.image),
          command = { "sh", "-c", ('until [ -e "%s" ]; do sleep 0.2; done'):format(DONE) },
          volumeMounts = { { name = "volume", mountPath = FOLDER, readOnly = not up or nil } } } },
        volumes = { { name = "volume", persistentVolumeClaim = { claimName = claim } } },
      } } },
  }
end

-- A pod that has begun is told; one that cannot begin is given no more time. The Job goes with it.
-- → whether it is gone
local function finish(job, ready)
  if ready then
    pcall(k8s.exec, "jobs/" .. job.name, { "touch", DONE }, { namespace = job.namespace, quiet = true, again = true })
  else
    pcall(k8s.patch, job, { spec = { activeDeadlineSeconds = 1 } })
  end
  return (pcall(k8s.wait, { job, "delete", timeout = GONE }))
end

-- Copies between `here` and `there`, a path in the volume of the claim; up: into it → { files =, bytes = }.
function core.claim_copy(claim, here, there, up, options)
  if options.image == nil then
    usage('k8s.cp: a volume is reached by a pod: image = img, one with sh and tar ("pvc/%s")', claim)
  end
  local seconds, began = core.duration(options.timeout or LIMIT), core.now()
  local job, ready
  local deed = core.owe(2 * GONE, function()
    if job then finish(job, ready) end
  end)
  local created, made = pcall(k8s.create, manifest(claim, up, options, seconds))
  if not created then
    core.settle(deed)
    error(made, 0)
  end
  job = made
  local ok, result = pcall(function()
    k8s.wait { job, "jsonpath={.status.ready}=1", timeout = seconds }
    ready = true
    local inside = ("jobs/%s:%s/%s"):format(job.name, FOLDER, (there:gsub("^/+", "")))
    local copy = { namespace = job.namespace, timeout = math.max(1, seconds - (core.now() - began)) }
    return k8s.cp(up and here or inside, up and inside or here, copy)
  end)
  if finish(job, ready) then core.settle(deed) end -- else, as after an interrupt, at the end of the cell
  if not ok then error(result, 0) end
  return result
end
