-- SPDX-License-Identifier: MIT
-- Descriptions of the functions of k8s.lua and namespace.lua (script/api/core/api.lua). An argument that means an object is a
-- handle, "pods" and a name, or "pods/name".
local core = ...

core.api [[
k8s: module -- The cluster of the chosen context, with all its kinds; options are spelled as kubectl's.
k8s.create(manifest, {namespace: string=}) -> handle
  Makes the objects of a manifest: a file, its text, a table, or a record of k8s.rayjob with an entrypoint. A resumed run does not make
  them twice.
  namespace: where objects go that name no namespace
  result: a handle; for several objects a list of them
  errors: what the server refuses, and what is no manifest
  effect: cluster
  example:
    app = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made" }, data = { size = "1" } }
    print(app) --> configmap/made
k8s.apply(manifest, {namespace: string=, force=false}) -> handle
  The same by server-side apply: changes what is there, and makes what is not.
  namespace: where objects go that name no namespace
  force: takes over fields that others manage
  result: a handle; for several objects a list of them
  effect: cluster
  example:
    k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "applied" }, data = { size = "2" } }
k8s.check(manifest, {verb: string="create", force=false}) -> boolean
  Would the server accept it? Sends a dry run, and raises the server's objection.
  verb: "create" or "apply"
  force: with "apply": as if fields that others manage were taken over
  errors: what the server refuses
  example:
    k8s.check { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "checked" } } --> true
k8s.diff(manifest, {namespace: string=, force=false}) -> boolean
  What k8s.apply would change: prints it as `kubectl diff` does, with the values of Secrets masked.
  namespace: where objects are that name no namespace
  force: as if fields that others manage were taken over
  result: whether anything differs, and the text
  example:
    differs = k8s.diff { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "new" }, data = { size = "3" } }
    expect(differs):is_true()
k8s.preflight(manifest, {namespace: string=}) -> preflight
  What would keep these objects from doing their work on this cluster: kinds, namespaces, rights, accounts, secrets, operators and
  their webhooks, nodes, quotas, and a dry run. It makes nothing.
  namespace: where objects go that name no namespace
  result: {findings = {{level = "error", "warning" or "note", what, next}}, context}
  example:
    found = k8s.preflight { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "later" } }
    print(#found.findings) --> 0
k8s.list(kind, {namespace: string=, all_namespaces=false, selector: string=, field_selector: string=, wide=false}) -> handles
  The objects of a kind; shows as kubectl's table. As the last line of a cell it fetches the table's rows alone.
  namespace: the context's unless it is said
  all_namespaces: those of all namespaces
  selector: those whose labels match, "app=web,tier!=cache"
  field_selector: those whose fields match, "status.phase=Running"
  wide: shows all columns
  example:
    for _, pod in ipairs(k8s.list("pods", { selector = "app=web" })) do print(pod.metadata.name) end
k8s.each(kind, {namespace: string=, all_namespaces=false, selector: string=, field_selector: string=, limit: integer=500}) -> function
  The objects of a list one by one, a page of `limit` at a time, so that no more than these are in memory.
  namespace: the context's unless it is said
  all_namespaces: those of all namespaces
  selector: those whose labels match
  field_selector: those whose fields match
  limit: how many are fetched at once
  result: what a loop takes
  example:
    for pod in k8s.each("pods", { limit = 100 }) do print(pod.metadata.name) end
k8s.get(kind, name, {namespace: string=, all_namespaces: boolean=, selector: string=, field_selector: string=, wide: boolean=}) -> handle
  The whole object as it is now; without a name, the list, as k8s.list gives it.
  namespace: the context's unless it is said
  all_namespaces: of a list: those of all namespaces
  selector: of a list: those whose labels match
  field_selector: of a list: those whose fields match
  wide: of a list: shows all columns
  errors: an object that is not there
  example:
    print(k8s.get("configmaps", "settings").data.color) --> blue
k8s.patch(object, patch, {namespace: string=, type: string="merge", subresource: string=}) -> handle
  Changes fields of an object.
  namespace: the context's unless it is said
  type: how the patch is meant: "merge", "strategic" or "json"
  subresource: what is patched instead of the object: "status"
  effect: cluster; a resumed run repeats it
  example:
    k8s.patch("configmaps/settings", { data = { size = "9" } })
k8s.label(object, changes, {namespace: string=, overwrite=false}) -> handle
  Sets labels, { tier = "gpu" } or "tier=gpu"; false or a key with "-" at its end removes one.
  namespace: the context's unless it is said
  overwrite: a label that has another value is no error
  effect: cluster
  example:
    k8s.label("configmaps/settings", { tier = "gpu", old = false })
k8s.annotate(object, changes, {namespace: string=, overwrite=false}) -> handle
  The same for annotations.
  namespace: the context's unless it is said
  overwrite: an annotation that has another value is no error
  effect: cluster
  example:
    k8s.annotate("configmaps/settings", { note = "of the first trial" })
k8s.scale(object, replicas, {namespace: string=, current_replicas: integer=}) -> handle
  Sets how many replicas there shall be, of any kind that has the subresource scale.
  namespace: the context's unless it is said
  current_replicas: only if there are so many now
  effect: cluster
  example:
    k8s.scale("deployments/web", 2)
k8s.restart(object, {namespace: string=}) -> handle
  Has the pods of a Deployment, a StatefulSet or a DaemonSet made anew, one after another, as kubectl rollout restart does.
  namespace: the context's unless it is said
  effect: cluster
  example:
    k8s.restart("deployments/web")
k8s.rollout_undo(object, {namespace: string=, revision: integer=}) -> handle
  Takes a Deployment, a StatefulSet or a DaemonSet back to an earlier revision, as kubectl rollout undo does.
  namespace: the context's unless it is said
  revision: this one; without it the one before
  effect: cluster
  example:
    k8s.rollout_undo("deployments/web")
k8s.set_image(object, images, {namespace: string=}) -> handle
  Sets images of containers, { app = "nginx:2" } or "app=nginx:2"; "nginx:2" where there is one container.
  namespace: the context's unless it is said
  effect: cluster
  example:
    k8s.set_image("deployments/web", { app = "nginx:2" })
k8s.suspend(object, {namespace: string=}) -> handle
  A CronJob, Job, JobSet, MPIJob, Workflow or schedule starts nothing until k8s.resume.
  namespace: the context's unless it is said
  effect: cluster
  example:
    k8s.suspend("cronjobs/nightly")
k8s.resume(object, {namespace: string=}) -> handle
  What was suspended goes on.
  namespace: the context's unless it is said
  effect: cluster
  example:
    k8s.resume("cronjobs/nightly")
k8s.trigger(object, {namespace: string=}) -> handle
  Makes the Job of a CronJob now, as kubectl create job --from does.
  namespace: the context's unless it is said
  result: the Job
  effect: cluster
  example:
    job = k8s.trigger("cronjobs/nightly")
k8s.cordon(object) -> handle
  Nothing new comes to a node.
  effect: cluster
  example:
    k8s.cordon("nodes/node1")
k8s.uncordon(object) -> handle
  Pods may come to a node again.
  effect: cluster
  example:
    k8s.uncordon("nodes/node1")
k8s.drain(object, {ignore_daemonsets=false, delete_emptydir_data=false, force=false, grace: integer=, wait=true, timeout: duration=})
  Cordons a node, has its pods evicted, and waits until they are gone; evictions that a disruption budget forbids are tried again.
  ignore_daemonsets: pods of DaemonSets stay; without it they are an error
  delete_emptydir_data: pods with an emptyDir go, too
  force: pods that nothing makes again go, too
  grace: seconds that pods get to end, in the place of their own
  wait: whether it waits
  timeout: how long it waits
  result: what was done, as a text
  errors: a pod for which one of these options is missing; nothing was changed then
  effect: destructive
  example:
    print(k8s.drain("nodes/node1", { ignore_daemonsets = true, timeout = "5m" }))
k8s.delete(object, {namespace: string=, wait=true, timeout: duration=, propagation: string=, grace: integer=})
  Deletes an object, and waits until it is gone.
  namespace: the context's unless it is said
  wait: whether it waits
  timeout: how long it waits
  propagation: what becomes of what it owns: "Background", "Foreground" or "Orphan"
  grace: how many seconds its pods get to end
  effect: destructive
  example:
    k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "brief" } }
    k8s.delete("configmaps/brief", { timeout = "30s" })
k8s.watch(object, {namespace: string=, all_namespaces=false, selector: string=, field_selector: string=, wide=false, sick_first=false, usage=false})
  Leaves a live table below the cell and returns at once: of an object with all that belongs to it, or of a kind.
  namespace: the context's unless it is said
  all_namespaces: those of all namespaces
  selector: those whose labels match
  field_selector: those whose fields match
  wide: shows all columns
  sick_first: what is wrong stands first
  usage: of pods and nodes: shows what they use of processor and memory, of pods also in percent of requests (/R) and limits (/L), always; else where there is room
  example:
    k8s.watch("pods", { sick_first = true })
k8s.wait{handle, what, timeout: duration=} -> handle
  Waits until something is so of an object: "condition=Ready", "jsonpath={.status.phase}=Running", "delete" or "create".
  timeout: how long at most
  result: the object as it was at the end
  errors: an end after which it cannot come to that; the time-out; both with the cause that can be seen
  example:
    settings = k8s.get("configmaps", "settings")
    k8s.wait { settings, "jsonpath={.data.color}=blue", timeout = "1m" }
k8s.logs(object, {namespace: string=, selector: string=, container: string=, all=false, all_containers=false, grep: string=, tail: integer=, since: duration=, previous=false, follow=false, timestamps=false, prefix: boolean=})
  The log as a text: of a pod by its name, of what has pods, or of the pods that a selector chooses.
  namespace: the context's unless it is said
  selector: of the pods whose labels match
  container: of this container
  all: the logs of every pod, merged by time
  all_containers: of all containers
  grep: lines that have this text
  tail: the last so many lines
  since: lines that are no older
  previous: of the container before it was started again
  follow: shows it live below the cell, and returns at once
  timestamps: when it was written stands before each line
  prefix: whether each line begins with its pod; where there are several it does
  example:
    print(k8s.logs("hello", { tail = 1 })) --> hello
k8s.events(object, {namespace: string=}) -> handles
  The events of an object; without one, those of the namespace.
  namespace: the context's unless it is said
  example:
    print(#k8s.events "pods/hello" > 0) --> true
k8s.describe(object, {namespace: string=})
  What `kubectl describe` prints of an object.
  namespace: the context's unless it is said
  example:
    print(k8s.describe("configmaps/settings"):match "Name:%s+(%S+)") --> settings
k8s.explain(words, {recursive=false, api_version: string=})
  What a kind or a field of it means, as `kubectl explain` prints it.
  recursive: with all fields below
  api_version: of this version, "apps/v1"
  example:
    expect(k8s.explain "sparkapplications.spec.type"):contains "FIELD: type"
k8s.why(object, {namespace: string=}) -> reason
  Why an object does not go on: of its pods, events and conditions.
  namespace: the context's unless it is said
  result: {what, seen, next, differs, state, looked, text}; what is nil when no cause is known, looked says what was looked at, text is all of it, and differs what was recorded otherwise in the last run in which this cell ended well
  example:
    print(k8s.why("pods/hello").what) --> nil
k8s.can_i(verb, kind, {namespace: string=, name: string=, subresource: string=}) -> boolean
  May we do this? The server says.
  namespace: the context's unless it is said
  name: with this object alone
  subresource: with its "log", "scale", …
  result: true or false, and the server's reason
  example:
    print((k8s.can_i("create", "jobs"))) --> true
k8s.tree(object, {namespace: string=})
  Leaves a live tree of its family below the cell: owners, what it owns, and their pods; a Workflow's steps.
  namespace: the context's unless it is said
  example:
    k8s.tree("jobs", "count")
k8s.contexts()
  The contexts of the kubeconfig: a list of {name, cluster, namespace, user, server, current, guarded}.
  example:
    print(k8s.contexts()[1].current) --> true
k8s.whoami() -> user
  Who we are, as the server says: {username, uid, groups, extra}.
  example:
    k8s.whoami()
k8s.version() -> table
  The server's version: {gitVersion, sandbox}.
  example:
    print(k8s.version().sandbox) --> true
k8s.kinds() -> list
  All kinds that the server has.
  example:
    expect(#k8s.kinds()):at_least(10)
k8s.yaml(value)
  A value as YAML, as kubectl writes it.
  example:
    print(k8s.yaml { a = { 1, 2 } })
k8s.namespace{name, labels: table=, annotations: table=, quota: table=, account: string|table=, role: string="edit"} -> handle
  Makes or renews a namespace in which pods can be made.
  quota: the options of k8s.quota
  account: a service account for it: a name, or the options of k8s.account
  role: what the account may do there
  labels: its labels
  annotations: its annotations
  effect: cluster
  example:
    k8s.namespace { "bench", account = "spark", role = "edit" }
k8s.account{name, namespace: string=, labels: table=, annotations: table=, role: string=, pull_secrets: string|list=} -> handle
  Makes or renews a service account.
  namespace: the context's unless it is said
  role: a ClusterRole that is bound to it, as NAME-ROLE
  pull_secrets: secrets with which its pods pull images
  labels: its labels
  annotations: its annotations
  effect: cluster
  example:
    k8s.account { "robot", role = "view" }
k8s.role_binding{name, namespace: string=, labels: table=, annotations: table=, role: string=, own_role: string=, account: string|list=, user: string|list=, group: string|list=} -> handle
  Binds a role to somebody.
  namespace: the context's unless it is said
  role: a ClusterRole: "view", "edit", "admin"
  own_role: a Role of the namespace
  account: service accounts; one of another namespace is "namespace/name"
  user: users
  group: groups
  labels: its labels
  annotations: its annotations
  effect: cluster
  example:
    k8s.role_binding { "robots", role = "edit", account = { "robot", "bench/spark" } }
k8s.quota{name, namespace: string=, labels: table=, annotations: table=, cpu: any=, memory: any=, cpu_limit: any=, memory_limit: any=, gpus: any=, storage: any=, claims: any=, pods: any=, services: any=, secrets: any=, configmaps: any=, hard: table=} -> handle
  Limits what a namespace uses. Where cpu or memory is limited, pods without requests are refused.
  namespace: the context's unless it is said
  cpu: what all pods request together
  memory: what all pods request together, "16Gi"
  cpu_limit: the sum of all limits
  memory_limit: the sum of all limits
  gpus: NVIDIA's
  storage: what all claims request together
  claims: how many claims of volumes
  pods: how many pods
  services: how many services
  secrets: how many secrets
  configmaps: how many config maps
  hard: others in Kubernetes' own words, { ["count/jobs.batch"] = 5 }
  labels: its labels
  annotations: its annotations
  effect: cluster
  example:
    k8s.quota { "team", cpu = 8, memory = "16Gi", pods = 20 }
k8s.claim{name, namespace: string=, labels: table=, annotations: table=, size: any=, access: string|list="ReadWriteOnce", storage_class: string=, volume: string=, fill: table=} -> handle
  Makes or renews a claim of a volume, and fills it from an image.
  namespace: the context's unless it is said
  size: how large, "1Gi"
  access: how it can be mounted
  storage_class: "" for volumes that were made by hand
  volume: the volume that is meant
  fill: { image = img, path = "/work/data" }: the folder of an image (which has sh and cp) that a Job copies into it, and which is waited for; also timeout, pull_secrets
  labels: its labels
  annotations: its annotations
  effect: cluster
  example:
    k8s.claim { "mnist", size = "1Gi" }
handle: type -- An object of the cluster: its fields, as far as they were fetched, and these methods. As a text it is kubectl's "pod/name".
handle:refresh() -> handle
  The object as it is now.
  example:
    print(k8s.get("configmaps", "settings"):refresh().kind) --> ConfigMap
handle:status() -> table
  Its status as it is now. Of an object that was fetched whole, status is the field, without a call.
  example:
    made = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "plain" } }
    print(next(made:status())) --> nil
handle:state()
  Its state in a word, whether it has ended, and why.
  example:
    print(k8s.get("pods", "hello"):state()) --> Succeeded	true	nil
handle:describe()
  What `kubectl describe` prints of it.
  example:
    k8s.get("pods", "hello"):describe()
handle:logs({container: string=, all=false, all_containers=false, grep: string=, tail: integer=, since: duration=, previous=false, follow=false, timestamps=false, prefix: boolean=})
  Its log, as k8s.logs gives it.
  container: of this container
  all: the logs of all its pods, merged by time
  all_containers: of all containers
  grep: lines that have this text
  tail: the last so many lines
  since: lines that are no older
  previous: of the container before it was started again
  follow: shows it live below the cell, and returns at once
  timestamps: when it was written stands before each line
  prefix: whether each line begins with its pod
  example:
    print(k8s.get("pods", "hello"):logs { tail = 1 }) --> hello
handle:events() -> handles
  Its events.
  example:
    k8s.get("pods", "hello"):events()
handle:delete({wait=true, timeout: duration=, propagation: string=, grace: integer=})
  Deletes it, and waits until it is gone.
  wait: whether it waits
  timeout: how long it waits
  propagation: what becomes of what it owns
  grace: how many seconds its pods get to end
  effect: destructive
  example:
    k8s.create({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "short" } }):delete()
handle:patch(patch, {type: string="merge", subresource: string=}) -> handle
  Changes fields of it.
  type: "merge", "strategic" or "json"
  subresource: what is patched instead of the object
  effect: cluster
  example:
    k8s.get("configmaps", "settings"):patch { data = { speed = "3" } }
handle:explain(field, {recursive=false, api_version: string=})
  What a field of its kind means.
  recursive: with all fields below
  api_version: of this version
  example:
    k8s.get("pods", "hello"):explain "spec.containers"
handle:label(changes, {overwrite=false}) -> handle
  Sets and removes labels, as k8s.label does.
  overwrite: a label that has another value is no error
  effect: cluster
  example:
    k8s.get("configmaps", "settings"):label { stage = "test" }
handle:annotate(changes, {overwrite=false}) -> handle
  Sets and removes annotations.
  overwrite: an annotation that has another value is no error
  effect: cluster
  example:
    k8s.get("configmaps", "settings"):annotate { by = "trial 7" }
handle:scale(replicas, {current_replicas: integer=}) -> handle
  Sets how many replicas there shall be.
  current_replicas: only if there are so many now
  effect: cluster
  example:
    k8s.get("deployments", "web"):scale(1)
handle:restart() -> handle
  Has its pods made anew, one after another.
  effect: cluster
  example:
    k8s.get("deployments", "web"):restart()
handle:yaml()
  The whole object as YAML.
  example:
    print(k8s.get("configmaps", "settings"):yaml():match "kind: %S+") --> kind: ConfigMap
handle:tree()
  Leaves a live tree of its family below the cell.
  example:
    k8s.get("jobs", "count"):tree()
handle:watch() -> handle
  Leaves a live table of it and of what belongs to it below the cell.
  example:
    k8s.get("jobs", "count"):watch()
handle:ui(options)
  Shows below the cell what an application of Spark does inside: of a SparkApplication, or of a driver's pod; as spark.ui.
  example:
    ok, why = pcall(function() k8s.get("configmaps", "settings"):ui() end)
    print(ok) --> false
handle:inside(options) -> inside
  The same as records, as spark.inside returns them.
  example:
    ok, why = pcall(function() return k8s.get("configmaps", "settings"):inside() end)
    print(ok) --> false
handle:why() -> reason
  Why it does not go on.
  example:
    k8s.get("pods", "hello"):why()
handle:wait(what, timeout) -> handle
  Waits until something is so of it, as k8s.wait does.
  errors: an end after which it cannot come to that; the time-out
  example:
    k8s.get("configmaps", "settings"):wait("jsonpath={.data.color}=blue", "10s")
handle:reaches(state, timeout)
  Waits for a state in a word; expect(handle):reaches calls this.
  errors: a state that its kind does not have; another state at its end, with the cause; the time-out
  example:
    k8s.get("pods", "hello"):reaches("Succeeded", "1m")
handles: type -- A list of objects; it shows as kubectl's table.
handles:delete({wait=true, timeout: duration=, propagation: string=, grace: integer=})
  Deletes all of them, the last one first.
  wait: whether it waits
  timeout: how long it waits
  propagation: what becomes of what they own
  grace: how many seconds their pods get to end
  effect: destructive
  example:
    k8s.list("configmaps", { selector = "stage=old" }):delete()
]]
