-- SPDX-License-Identifier: MIT
-- image: container images of a trainer, its data and the worker. They are built here and pushed to
-- the cluster's registry.
local core = ...

local img = { __name = "image" }
img.__index = img
img.__tostring = function(i) return i.ref end
img.__display = function(i) return ("%s %s"):format(i.tagged or i.ref, i.digest) end

image = {}

-- Those that go with a Dockerfile, and those that go without.
local dockerfile_options = { dockerfile = 1, context = 1, args = 1, target = 1, tag = 1, created = 1, worker = 1 }
local build_options = { from = 1, add = 1, tag = 1, created = 1, exclude = 1, env = 1, user = 1, workdir = 1,
  entrypoint = 1, cmd = 1, worker = 1, firesteel = 1, onednn = 1 }

-- The pairs of a table by the order of their keys: the same build each time.
local function sorted(pairs_of, what)
  local keys = {}
  for key in pairs(pairs_of or {}) do
    if type(key) == "string" then keys[#keys + 1] = key
    elseif math.type(key) ~= "integer" then core.fail("error", what .. " takes names") end
  end
  table.sort(keys)
  return keys
end

local function list(value, what)
  if value == nil then return nil end
  if type(value) == "string" then value = { value } end
  local texts = core.array {}
  for i, text in ipairs(value) do
    if type(text) ~= "string" then core.fail("error", what .. " takes a list of texts") end
    texts[i] = text
  end
  return texts
end

local function build_dockerfile(options)
  core.check("image.build with a dockerfile", options, dockerfile_options)
  local args = core.array {}
  for i, name in ipairs(sorted(options.args, "args")) do args[i] = name .. "=" .. tostring(options.args[name]) end
  local built = setmetatable(core.call("image.dockerfile", { dockerfile = options.dockerfile, tag = options.tag,
    context = options.context, args = args, target = options.target, created = options.created }), img)
  if not options.worker then return built end
  return image.build { from = built, tag = options.tag, created = options.created }
end

-- image.build{ from = "base:tag", add = {"trainer.lua", "data/mnist"}, tag = "name:tag" }
--   → {ref, digest, size, layers = {{digest, size}, …}}, with :push()
-- from: an image by its name ("apache/spark:3.5.7", "name@sha256:…"), which is pulled if the local
-- store does not have it, or the result of image.build or image.pull; nil: the worker alone. The names
-- in `add` are looked up in the working folder, those below data/ also among the installed data;
-- they are added below /work, or where ["local/name"] = "/place/in/image" says ("/place/": there,
-- under its own name).
-- exclude = {"**/*.pyc", "!keep.pyc"}: what stays out, as in a .dockerignore. env = { NAME = "value" },
-- user = "185", workdir = "/app", entrypoint = {…}, cmd = {…}: what containers run with.
-- worker = false: without the worker. firesteel = true: with firesteel itself, for steps of Kubeflow.
--
-- image.build{ dockerfile = "Dockerfile", tag = "name:tag", context = ".", args = { NAME = "value" }, target = "stage" }
-- builds a Dockerfile, here when it has no RUN, else by buildah or podman. worker = true adds the worker.
function image.build(options)
  local dockerfile = type(options) == "table" and options.dockerfile
  if not dockerfile then core.check("image.build", options, build_options) end
  if type(options) ~= "table" or type(options.tag) ~= "string" then
    core.fail("error", 'image.build expects a tag: image.build { add = {"trainer.lua"}, tag = "name:tag" }')
  end
  if dockerfile then return build_dockerfile(options) end
  if options.firesteel and options.worker == false then
    core.fail("error", "image.build: firesteel = true needs the worker: leave worker = false out")
  end
  local from, add = options.from, core.array {}
  if getmetatable(from) == img then -- what was pulled keeps its name: a push can mount its layers
    from = from.layers and from.digest or from.ref:match "^[^@]+" .. "@" .. from.digest
  end
  for i, name in ipairs(options.add or {}) do add[i] = name end
  for _, name in ipairs(sorted(options.add, "add")) do add[#add + 1] = { from = name, to = options.add[name] } end
  local env = options.env and core.array {}
  for i, name in ipairs(sorted(options.env, "env")) do env[i] = name .. "=" .. tostring(options.env[name]) end
  local args = { from = from, add = add, tag = options.tag, created = options.created,
    exclude = list(options.exclude, "exclude"), env = env, user = options.user and tostring(options.user),
    workdir = options.workdir, entrypoint = list(options.entrypoint, "entrypoint"), cmd = list(options.cmd, "cmd"),
    worker = options.worker, firesteel = options.firesteel, onednn = options.onednn }
  return setmetatable(core.call("image.build", args), img)
end

-- :push() → the image, with `ref` as manifests take it: with its digest, so pods run these bytes
-- whatever becomes of the tag; `tagged` is its name without the digest. A tag without a registry
-- goes to the chosen one (--registry, else the kubeconfig's extension firesteel/registry); to =
-- "host/name:tag" names another. insecure = true: plain HTTP, or a certificate nobody vouches for.
function img:push(options)
  if type(options) == "string" then options = { to = options } end
  options = core.check("image:push", options)
  local args = { ref = self.tagged or self.ref, digest = self.digest, to = options.to, insecure = options.insecure }
  return setmetatable(core.call("image.push", args), img)
end

-- image.pull "apache/spark:3.5.7" → the image, brought into the local store or renewed there
function image.pull(ref)
  if type(ref) ~= "string" then core.fail("error", 'image.pull expects a name: image.pull "apache/spark:3.5.7"') end
  return setmetatable(core.call("image.pull", { ref = ref }), img)
end

-- image.resolve "apache/spark:3.5.7" → { ref, registry, digest }: what the name leads to in its
-- registry now; digest is nil if there is no such image.
function image.resolve(ref)
  if type(ref) ~= "string" then core.fail("error", 'image.resolve expects a name: image.resolve "apache/spark:3.5.7"') end
  return core.call("image.resolve", { ref = ref })
end

-- image.list() → the images in the local store: {{ref, digest, size}, …}, with :push()
function image.list()
  local images = core.call("image.list", {})
  for i = 1, #images do setmetatable(images[i], img) end
  return images
end

-- image.remove "name:tag": removes the tag; blobs that no other image uses are removed by a build
-- one day later.
function image.remove(ref)
  if getmetatable(ref) == img then ref = ref.ref end
  if type(ref) ~= "string" then core.fail("error", 'image.remove expects an image: image.remove "name:tag"') end
  core.call("image.remove", { ref = ref })
end

core.module("image", image)
core.types.image = img

core.api [[
image: module -- Container images of a trainer, its data and the worker: built here, pushed to the cluster's registry.
image.build{from: any=, add: table=, tag: string=, created: integer=0, exclude: list|string=, env: table=, user: any=, workdir: string=, entrypoint: list|string=, cmd: list|string=, worker: boolean=true, firesteel=false, onednn: boolean=, dockerfile: string=, context: string=".", args: table=, target: string=} -> image
  Builds an image, or with dockerfile what a Dockerfile says: here when it has no RUN, else by buildah or podman.
  from: the base: a name, which is pulled if it is not here, or an image; nil: the worker alone
  add: files and folders, which go below /work, or { ["local/name"] = "/place" }
  tag: its name, "name:tag"
  created: the time that it carries, in seconds; the same input gives the same digest
  exclude: what stays out, as in a .dockerignore
  env: variables, { NAME = "value" }
  user: as whom containers run
  workdir: where they run
  entrypoint: the program
  cmd: its words
  worker: whether the trainer's worker is in it; with a Dockerfile it is not unless it is said
  firesteel: whether firesteel itself is in it, as /opt/firesteel/firesteel: for the steps of flow:kfp, and notebooks that run in a pod
  onednn: whether oneDNN is in it, for convolutions; if it is not said, when a Lua file of add has Conv2D or nn.applications
  dockerfile: a Dockerfile; with it go context, args, target, tag, created and worker alone
  context: the folder that it copies from
  args: its ARGs
  target: its stage
  result: {ref, digest, size, layers}
  errors: a base that is nowhere, a file that is not there
  effect: local
  example:
    io.open("trainer.lua", "w"):write("print 'hello'"):close()
    img = image.build { add = { "trainer.lua" }, tag = "demo:1" }
    print(img.digest:match "^sha256:") --> sha256:
image.pull(name) -> image
  Brings an image into the local store, or renews it there.
  result: {ref, digest, from}; from says where it was found: "host/name:tag"
  errors: a registry that does not have it
  effect: local
  example:
    ok, why = pcall(image.pull, "localhost:1/none:1")
    print(ok) --> false
image.resolve(name) -> table
  What a name leads to in its registry now: {ref, registry, digest}; digest is nil if there is no such image.
  example:
    ok, why = pcall(image.resolve, "localhost:1/none:1")
image.list() -> list
  The images in the local store: {ref, digest, size}, with :push().
  example:
    for _, img in ipairs(image.list()) do print(img.ref) end
image.remove(name)
  Removes a tag; blobs that no other image uses go a day later, with a build.
  effect: local
  example:
    image.remove(image.build { add = {}, tag = "old:1" })
image: type -- An image; as a text it is what manifests take. ref has its digest, tagged has not.
image:push({to: string=, insecure=false}) -> image
  Pushes it, and gives the image as manifests take it: with its digest, so that pods run these bytes whatever becomes of the tag.
  to: another name, "host/name:tag"; a name without a registry goes to the chosen one
  insecure: plain HTTP, or a certificate that nobody vouches for
  result: {ref, tagged, digest, registry}; registry is written as --registry takes it: for a notebook that runs in a pod
  errors: a registry that does not answer or refuses
  effect: cluster
  example:
    img = image.build { add = {}, tag = "pushed:1" }
    print(img:push().ref:match "@sha256:") --> @sha256:
]]
