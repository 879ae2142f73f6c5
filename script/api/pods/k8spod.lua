-- SPDX-License-Identifier: MIT
-- What goes into pods: k8s.exec, k8s.attach, and the same as methods of handles. A pod is a handle, its name, or
-- "deploy/web" and the like for one of its pods.
local core = ...

local object = core.types.handle

local function usage(format, ...)
  core.fail("error", format:format(...))
end

-- What a call is about: {kind, name, namespace, …}.
local function target(what, pod)
  if type(pod) == "table" and getmetatable(pod) == object then return core.k8s_reference(pod) end
  if type(pod) ~= "string" or pod == "" then usage('%s expects a pod: its name, "deploy/web" or a handle', what) end
  local kind, name = pod:match "^([^/]+)/(.+)$"
  return { kind = kind or "pods", name = name or pod }
end

local function take_options(args, what, options)
  for key, value in pairs(core.check(what, options)) do
    if type(key) == "string" then args[key] = value end
  end
end

local result_meta = {
  __name = "exec result",
  __tostring = function(result) return result.stdout end,
  __display = function() return nil end, -- its output was shown below the cell already
}

local function said(result, what)
  return result.left_out and core.said(result, result_meta, what) or setmetatable(result, result_meta)
end

-- k8s.exec("web-0", { "cat", "/etc/hosts" }), k8s.exec("deploy/web", "ls | wc -l", { container = "main" }) → { stdout =, stderr =,
-- code = }. A list of words needs no shell; a text is for the container's sh.
function k8s.exec(pod, command, options)
  local args = target("k8s.exec", pod)
  if type(command) == "table" then
    take_options(args, "k8s.exec", command)
    args.command = core.words_of("k8s.exec", command)
    for i, word in ipairs(args.command) do
      if type(word) == "number" then args.command[i] = tostring(word) end
    end
  elseif type(command) == "string" then
    args.command = core.array { "sh", "-c", command }
  else
    usage 'k8s.exec expects a command: { "ls", "-l" }, or a text for the container\'s sh'
  end
  take_options(args, "k8s.exec", options)
  return said(core.call("k8s.exec", args), "k8s.exec")
end

-- k8s.attach("web-0", { stdin = "line\n", timeout = "10s" }): the output of what runs in the container already, until it ends.
function k8s.attach(pod, options)
  local args = target("k8s.attach", pod)
  take_options(args, "k8s.attach", options)
  return said(core.call("k8s.attach", args), "k8s.attach")
end

local forward = { __name = "forward" }
forward.__index = forward

-- k8s.port_forward("web-0", "8080:80"), k8s.port_forward("svc/web", { ":http", 9090 }) → a handle with .port (of this machine)
-- and :close(). It leads there until it is closed, or the run ends.
function k8s.port_forward(pod, ports, options)
  local args = target("k8s.port_forward", pod)
  if type(ports) ~= "table" then ports = { ports } end
  take_options(args, "k8s.port_forward", options)
  args.ports = core.array {}
  for i, port in ipairs(ports) do
    if type(port) ~= "string" and math.type(port) ~= "integer" then usage 'k8s.port_forward expects ports, as "8080:80" or 8080' end
    args.ports[i] = tostring(port)
  end
  local made = core.call("k8s.port_forward", args)
  made.port = made.ports[1].port
  return setmetatable(made, forward)
end

-- The ports that lead into pods now: { { id =, address =, ports = { { port =, remote = } }, pod =, namespace =, connections = } }
function k8s.forwards()
  local list = core.call("k8s.forwards", {})
  for _, one in ipairs(list) do
    one.port = one.ports[1].port
    setmetatable(one, forward)
  end
  return list
end

function forward:close()
  if not rawget(self, "closed") then core.call("k8s.forwards", { close = self.id }) end
  self.closed = true
end

forward.__close = forward.close

function forward.__tostring(f)
  local words = {}
  for i, p in ipairs(f.ports) do words[i] = ("%s:%d → %d"):format(f.address, p.port, p.remote) end
  return table.concat(words, ", ") .. " of pod " .. f.pod
end

forward.__display = function() return nil end -- a line below the cell tells of it

core.types.forward = forward

-- "web-0:/path", "ns/web-0:/path", "deploy/web:/path": the pod and the path there; nil for a path here.
local function place(text)
  local pod, path = text:match "^([^:]+):(.*)$"
  if not pod or pod:find "^[./]" then return nil end
  if path == "" then usage('k8s.cp: "%s" has no path in the pod', text) end
  return pod, path
end

-- k8s.cp("data", "web-0:/tmp/data"), k8s.cp("web-0:/tmp/out", "out", { container = "main" }) → { files =, bytes = }: files and
-- folders into a container and out of it, as `kubectl cp`. "pvc/mnist:train.csv" is a file in the volume of a claim (k8svolume.lua).
function k8s.cp(from, to, options)
  if type(from) ~= "string" or type(to) ~= "string" then usage 'k8s.cp expects two paths: k8s.cp("data", "web-0:/tmp/data")' end
  local from_pod, from_path = place(from)
  local to_pod, to_path = place(to)
  if (from_pod == nil) == (to_pod == nil) then usage('k8s.cp: one of "%s" and "%s" has to be in a pod, as "web-0:/tmp"', from, to) end
  local claim = (from_pod or to_pod):match "^pvc/(.+)$" or (from_pod or to_pod):match "^persistentvolumeclaims?/(.+)$"
  if claim then
    return core.claim_copy(claim, from_pod and to or from, from_path or to_path, to_pod ~= nil, core.check("k8s.cp", options) or {})
  end
  local args = target("k8s.cp", from_pod or to_pod)
  take_options(args, "k8s.cp", options)
  if args.image or args.pull_secrets then usage 'k8s.cp: image and pull_secrets are for the volume of a claim, "pvc/NAME:PATH"' end
  args.here, args.there = from_pod and to or from, from_path or to_path
  return core.call(from_pod and "k8s.cp_from" or "k8s.cp_to", args)
end

function object:port_forward(ports, options) return k8s.port_forward(self, ports, options) end
function object:exec(command, options) return k8s.exec(self, command, options) end
function object:attach(options) return k8s.attach(self, options) end

core.api [[
k8s.exec(pod, command, {container: string=, stdin: string=, tty=false, timeout: duration=, check=true, quiet=false, again=false, namespace: string=}) -> table
  Runs a command in a container that runs, as `kubectl exec`: a list of words, or a text for the container's sh. Its output streams
  below the cell. The pod is its name, a handle, or "deploy/web" for one of its pods.
  container: which one; the pod's first, or the one that its annotation names, unless it is said
  stdin: what the command reads
  tty: gives it a terminal, whose stdout has stderr in it
  timeout: how long it may take; then nobody listens to it any more, but it may go on there
  check: whether an exit code other than 0 is an error
  quiet: shows nothing below the cell
  again: whether a resumed run may do it a second time; else that stops and asks for --redo
  namespace: the context's unless it is said
  result: {stdout, stderr, code}; as a text it is stdout; either has up to 64 MiB, and asking for a longer one is an error
  errors: an exit code other than 0, unless check = false; a pod, container or program that is not there
  effect: cluster
  example:
    print(k8s.exec("hello", { "cat", "/etc/hostname" }).code)
k8s.attach(pod, {container: string=, stdin: string=, timeout: duration=, quiet=false, again=false, namespace: string=}) -> table
  Shows what the program of a container writes from now on, until it ends, as `kubectl attach`.
  container: which one; the pod's first, or the one that its annotation names, unless it is said
  stdin: what the program gets to read; the container's spec needs stdin: true
  timeout: how long it is listened to; the program goes on
  quiet: shows nothing below the cell
  again: whether a resumed run may attach a second time; else that stops and asks for --redo
  namespace: the context's unless it is said
  result: {stdout, stderr, code}; as a text it is stdout; either has up to 64 MiB, and asking for a longer one is an error
  effect: cluster
  example:
    k8s.attach("hello", { timeout = "10s" })
k8s.cp(from, to, {container: string=, timeout: duration=, namespace: string=, image: any=, pull_secrets: any=}) -> table
  Copies files and folders into a container or out of it, as `kubectl cp`: one of the two is "POD:PATH", "deploy/web:PATH" for one of
  its pods, or "pvc/mnist:PATH" for the volume of a claim, which a Job of its own mounts meanwhile. Modes stay, links stay links. What is copied to a folder that is there goes into it; a folder that is copied here gets
  the name, or what is in it goes into the folder of that name. Nothing from the pod gets out of the place here.
  container: which one; the pod's first unless it is said
  timeout: how long it may take
  namespace: the context's unless it is said
  image: for a claim: an image with sh and tar, for the Job's pod
  pull_secrets: for a claim: the names of Secrets for that image's registry
  result: {files, bytes}
  errors: a container without tar, a name in its stream that leads elsewhere, a link of yours where the pod has something else, nothing that could be copied
  effect: cluster into a pod and for a claim, local out of a pod; a resumed run copies again, and after a claim's copy does all that follows anew
  example:
    file = k8s.cp("hello:/etc/hostname", "hostname")
k8s.port_forward(pod, ports, {address: string="127.0.0.1", namespace: string=}) -> forward
  Opens ports of this machine that lead into a pod, as `kubectl port-forward`, until they are closed or the run ends; a resumed run
  opens them again. The pod is its name, a handle, "deploy/web" or "svc/web" (whose ports then count). Ports are "8080:80", 8080 for
  the same on both sides, ":80" for a free one here, or several in a list; the pod's may have their names.
  address: where it listens on this machine
  namespace: the context's unless it is said
  result: a handle with port, the first one here
  errors: a port that is taken, a pod or a port that is not there
  effect: cluster
  example:
    web = k8s.port_forward("hello", ":80")
    web:close()
k8s.forwards() -> list
  The ports of this machine that lead into pods now.
  result: {{id, address, port, ports = {{port, remote}}, pod, namespace, connections}}
  example:
    print(#k8s.forwards()) --> 0
forward: type -- What k8s.port_forward returns: port, address, ports and pod.
forward:close()
  Closes its ports and their connections.
  example:
    for _, open in ipairs(k8s.forwards()) do open:close() end
handle:port_forward(ports, {address: string="127.0.0.1"}) -> forward
  Opens ports of this machine that lead into the pod, or a pod of the object, as k8s.port_forward.
  address: where it listens on this machine
  effect: cluster
  example:
    web = k8s.get("pods", "hello"):port_forward ":80"
handle:exec(command, {container: string=, stdin: string=, tty=false, timeout: duration=, check=true, quiet=false, again=false}) -> table
  Runs a command in a container of the pod, or of a pod of the object, as k8s.exec.
  container: which one; the pod's first unless it is said
  stdin: what the command reads
  tty: gives it a terminal
  timeout: how long it may take
  check: whether an exit code other than 0 is an error
  quiet: shows nothing below the cell
  again: whether a resumed run may do it a second time
  result: {stdout, stderr, code}; as a text it is stdout; either has up to 64 MiB, and asking for a longer one is an error
  effect: cluster
  example:
    k8s.get("pods", "hello"):exec { "true" }
handle:attach({container: string=, stdin: string=, timeout: duration=, quiet=false, again=false}) -> table
  Shows what the program of a container writes, as k8s.attach.
  container: which one; the pod's first unless it is said
  stdin: what the program gets to read
  timeout: how long it is listened to
  quiet: shows nothing below the cell
  again: whether a resumed run may attach a second time
  result: {stdout, stderr, code}; as a text it is stdout; either has up to 64 MiB, and asking for a longer one is an error
  effect: cluster
  example:
    k8s.get("pods", "hello"):attach()
]]
