# SPDX-License-Identifier: MIT
"""A sandbox with the kinds of operators that are not here."""
from kernel import Kernel
from sandbox import sandbox

CLUSTER = 'effects="cluster"'
DEFINE = """
local function crd(group, kind, plural)
  k8s.apply { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
    metadata = { name = plural .. "." .. group },
    spec = { group = group, names = { kind = kind, plural = plural, singular = kind:lower() }, scope = "Namespaced",
      versions = { { name = "v1", served = true, storage = true,
        schema = { openAPIV3Schema = { type = "object", ["x-kubernetes-preserve-unknown-fields"] = true } } } } } }
end
for line in ([[%s]]):gmatch "%%S+" do crd(line:match "^(.-)/(.-)/(.-)$") end
function make(api, kind, name, status, more)
  local o = { apiVersion = api, kind = kind, metadata = { name = name }, spec = {} }
  for k, v in pairs(more or {}) do o[k] = v end
  o.metadata.name = name
  local made = k8s.create(o)
  if status then k8s.patch(made, { status = status }) end
  return made
end
function own(o) local m = k8s.get(o) return { { apiVersion = m.apiVersion, kind = m.kind, name = m.metadata.name, uid = m.metadata.uid, controller = true } } end
"""


def cluster(t, *kinds, **env):
    k = Kernel(t, "", "--allow", "cluster,destructive", env={**sandbox(t), **env})
    done = k.run(DEFINE % "\n".join(kinds), CLUSTER)
    assert done.state == "ok", done
    return k


def ok(k, source):
    done = k.run(source, CLUSTER)
    assert done.state == "ok", done
    return done.out
