-- SPDX-License-Identifier: MIT
-- model: a trained model as a function: packaged as an image with examples of what it predicts, and checked.
local core = ...
local TOLERANCE = 1e-5
local KEPT = 600 -- seconds until the cluster removes a Job that has verified

model = {}

local fn = { __name = "fn" }
fn.__index = fn

function fn.__tostring(f) return f.image.ref end

function fn.__display(f)
  return ("%s as %s %s, %d examples"):format(f.name, f.image.tagged or f.image.ref, f.digest, f.count)
end

-- The same keys and values in a table of one's own.
function core.copy(of)
  local new = {}
  for key, value in pairs(of or {}) do new[key] = value end
  return new
end

-- { "predict.lua", "model.safetensors" } in either order.
local function files_of(options)
  local predict, file
  for i, name in ipairs(options) do
    core.expect_type("model.package", name, "string", "files")
    if name:match "%.lua$" then
      if predict then core.fail("error", "model.package takes one predict.lua, and got " .. predict .. " and " .. name) end
      predict = name
    elseif file then
      core.fail("error", ("model.package takes one model, and got %s and %s"):format(file, name))
    else
      file = name
    end
  end
  if not file then
    core.fail("error", 'model.package expects a model that model:save has written: model.package { "model.safetensors", examples = { {1, 2} } }')
  end
  return predict, file
end

local function base_name(path) return (path:match "([^/]+)/*$" or path):gsub("%.[^.]*$", "") end

-- "key=value" of each, sorted.
local function pairs_list(what, of)
  local list = core.array {}
  for key, value in pairs(of or {}) do
    if type(key) ~= "string" or key == "" or key:find "=" then core.fail("error", what .. " are { name = value }") end
    if type(value) == "table" or type(value) == "function" then
      core.fail("error", ("%s: the value of %s is a %s"):format(what, key, type(value)))
    end
    list[#list + 1] = key .. "=" .. tostring(value)
  end
  table.sort(list)
  return list
end

local function json_of(list)
  return next(list) ~= nil and core.json(list) or nil
end

-- Where it came from, as annotations of the image: OCI's keys, and ours for what these have no word for.
local function lineage_notes(name, tag, file, predict)
  local l = core.lineage()
  local git = l.git or {}
  local inputs, cells = {}, core.array {}
  for _, thing in ipairs(l.used) do
    if thing.name ~= file and thing.name ~= predict then inputs[thing.name] = thing.key end
  end
  for i, cell in ipairs(l.cells) do cells[i] = { title = cell.title or cell.id, sha256 = cell.sha256 } end
  return {
    ["org.opencontainers.image.title"] = name,
    ["org.opencontainers.image.version"] = tag:match ":([^:/]+)$",
    ["org.opencontainers.image.revision"] = git.commit,
    ["firesteel.run"] = l.run,
    ["firesteel.notebook"] = l.notebook,
    ["firesteel.notebook.sha256"] = l.source,
    ["firesteel.dirty"] = git.dirty and (git.diff or "yes") or nil,
    ["firesteel.branch"] = git.branch,
    ["firesteel.model"] = file,
    ["firesteel.version"] = core.version,
    ["firesteel.parameters"] = json_of(l.parameters or {}),
    ["firesteel.cells"] = json_of(cells),
    ["firesteel.inputs"] = json_of(inputs),
  }
end

-- model.package{ "predict.lua", "model.safetensors", name = "circle", tag = "team/circle:1", examples = { {1, 2}, … } }
function model.package(options)
  if type(options) ~= "table" then files_of {} end
  local predict, file = files_of(options)
  local with = {}
  for key, value in pairs(options) do
    if type(key) == "string" then with[key] = value end
  end
  with = core.check("model.package", with)
  local name = with.name or base_name(file)
  if not name:match "^[%w][%w._-]*$" then
    core.fail("error", ('model.package: name is of letters, digits and "._-", not "%s"'):format(name))
  end
  if with.examples == nil then
    core.fail("error", "model.package needs examples, which the package is checked by: rows, or a file (.npy, .npz, .json)")
  end
  local is_file = type(with.examples) == "string"
  local tag = with.tag or name:lower() .. ":latest"
  local notes = lineage_notes(name, tag, file, predict)
  for key, value in pairs(with.annotations or {}) do notes[key] = value end
  local args = { name = name, tag = tag, model = file, predict = predict,
    tolerance = with.tolerance or TOLERANCE, labels = pairs_list("labels", with.labels),
    annotations = pairs_list("annotations", notes) }
  if is_file then args.examples = with.examples else args.rows = core.array(with.examples) end
  local made = core.call("model.package", args)
  local image = setmetatable({ ref = made.ref, digest = made.digest, size = made.size, layers = made.layers }, core.types.image)
  return setmetatable({ name = made.name, digest = made.digest, image = image, examples = made.examples,
    count = made.count, files = made.files, memory = made.memory, has_onnx = made.onnx, run = core.run }, fn)
end

-- fn:push{ to = "host/name:tag" } → the function, whose image is where the cluster pulls.
function fn:push(options)
  self.image = self.image:push(options)
  return self
end

-- A check's result: same, and the first difference.
local check = { __name = "check" }
check.__index = check

local function one_line(where, c)
  local runtime = c.version and where .. " " .. c.version or where
  if c.same then
    return ("%s: %d examples, %d values, the greatest difference is %.3g"):format(runtime, c.examples, c.values, c.apart)
  end
  local d = c.first
  return ("%s: example %d: output %s is %s, and %s was expected"):format(runtime, d.example, d.output, d.got, d.expected)
end

function check.__tostring(c)
  local lines = {}
  for _, where in ipairs(c.checked) do lines[#lines + 1] = one_line(where, c[where]) end
  return table.concat(lines, "\n")
end
check.__display = check.__tostring

-- The last line that is JSON: a predict.lua may print, too.
local function json_line(text)
  local found
  for line in tostring(text):gmatch "[^\n]+" do
    local at = line:find("{", 1, true)
    local ok, value = pcall(core.parse, at and line:sub(at) or "")
    if ok and type(value) == "table" and value.examples then found = value end
  end
  return found
end

-- A Job of the image, by its digest, that checks itself.
local function verify_there(f, options)
  if not f.image.pinned then f:push() end
  local pod = core.copy(options.pod)
  pod.restartPolicy = "Never"
  pod.containers = { { name = "verify", image = f.image.ref, resources = options.resources,
    args = { "verify", "--json", "--tolerance", ("%.17g"):format(options.tolerance), "." } } }
  local job = k8s.create(core.our_pods { apiVersion = "batch/v1", kind = "Job",
    metadata = { generateName = "verify-" .. f.name:lower():gsub("[._]", "-"):sub(1, 40) .. "-", namespace = options.namespace },
    spec = { backoffLimit = 0, ttlSecondsAfterFinished = KEPT, template = { spec = pod } } })
  local ok, why = pcall(function() return job:reaches("Complete", options.timeout) end)
  local read, text = pcall(function() return job:logs() end)
  local result = read and json_line(text)
  if result then return result end
  if not ok then error(why, 0) end
  core.fail("error", ("%s ended without a result: %s"):format(tostring(job), tostring(text)))
end

local PLACES = { here = true, k8s = true, onnxruntime = true }

-- fn:verify{ on = "here" | "k8s" | "onnxruntime", tolerance = 1e-5 } → { same =, first = … }
function fn:verify(options)
  options = core.check("fn:verify", options)
  local on, tolerance = options.on or "here", options.tolerance or TOLERANCE
  if not PLACES[on] then core.fail("error", ('fn:verify: on is "here", "k8s" or "onnxruntime", not "%s"'):format(tostring(on))) end
  local result = { same = true, checked = {} }
  local function add(where, found)
    result[where], result.checked[#result.checked + 1] = found, where
    result.same = result.same and found.same
    result.first = result.first or found.first
  end
  local function local_check(runtime)
    return core.call("model.verify", { digest = self.digest, name = self.name, runtime = runtime, tolerance = tolerance,
      python = options.python })
  end
  if on == "k8s" then
    add(on, verify_there(self, { tolerance = tolerance, namespace = options.namespace, resources = options.resources,
      pod = options.pod, timeout = options.timeout or "5m" }))
  elseif on == "here" then
    add(on, local_check())
  end
  if on == "onnxruntime" or options.runtime ~= false then add("onnxruntime", local_check "onnxruntime") end
  setmetatable(result, check)
  if not result.same and options.check ~= false then
    core.fail("assertion", ("%s does not predict what its examples say\n%s"):format(self.name, tostring(result)))
  end
  return result
end

core.module("model", model)
core.types.fn = fn
core.types.check = check

core.api [[
model: module -- A trained model as a function: an image with examples of what it predicts, which is checked wherever it runs.
model.package{files, name: string=, tag: string=, examples: any=, tolerance: number=0.00001, labels: table=, annotations: table=} -> fn
  Packages a model that model:save has written, and a predict.lua if there is one, as an image: { "predict.lua", "model.safetensors" }.
  predict.lua defines function predict(inputs, model), which returns outputs by name; without it the model predicts.
  name: by which it is served; the model's file without its end
  tag: of the image, "name:tag"; "NAME:latest"
  examples: rows, { {1, 2}, … } or { { x = {1, 2}, word = "open" }, … }; { inputs = …, outputs = … }, whose outputs must be what is predicted; or a file: .npy and .npz (their first 100 rows), .json
  tolerance: by which given outputs may differ
  labels: of the image's config, { team = "vision" }
  annotations: of its manifest, beside those that tell where it came from
  result: {name, digest, image, examples = {{inputs, outputs}, …}, count, files = {name = sha256}}
  errors: a model that cannot be read, an example that it cannot predict, outputs that it does not predict
  effect: local
  example:
    io.open("make.lua", "w"):write("local nn = require 'nn' nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save 'line.safetensors'"):close()
    trainer.run "make.lua"
    fn = model.package { "line.safetensors", examples = { { 1, 2 }, { 3, 4 } } }
    print(#fn.examples, fn.digest:match "^sha256:") --> 2	sha256:
fn: type -- A model as an image; as a text it is what manifests take. digest, image, examples, files are its parts.
fn:push({to: string=, insecure=false}) -> fn
  Pushes its image; fn:verify and fn:serve on a cluster do that by themselves.
  to: another name, "host/name:tag"
  insecure: plain HTTP, or a certificate that nobody vouches for
  effect: cluster
  example:
    io.open("make.lua", "w"):write("local nn = require 'nn' nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save 'line.safetensors'"):close()
    trainer.run "make.lua"
    fn = model.package { "line.safetensors", examples = { { 1, 2 } } }
    print(fn:push().image.ref:match "@sha256:") --> @sha256:
fn:verify({on: string="here", tolerance: number=0.00001, runtime=true, python: string=, check=true, namespace: string=, resources: table=, pod: table=, timeout: duration="5m"}) -> check
  Does it predict what its examples say, where it will run, and in another runtime: the ONNX form of the model under onnxruntime?
  on: "here": what is in the image, with firesteel-worker; "k8s": a Job of the image; "onnxruntime": only there
  tolerance: |a - b| <= tolerance * max(1, |a|, |b|)
  runtime: false: not under onnxruntime
  python: a Python that has onnxruntime; python3 unless it is said
  check: whether a difference is an error
  namespace: of the Job
  resources: of its container
  pod: more of its pod's spec, as imagePullSecrets
  timeout: how long it may take
  result: {same, first = {example, output, expected, got}, here = {examples, values, apart}, onnxruntime = {…, version}}
  errors: a prediction that differs, unless check = false; a Python without onnxruntime
  effect: local, with on = "k8s" cluster
  example:
    io.open("make.lua", "w"):write("local nn = require 'nn' nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save 'line.safetensors'"):close()
    trainer.run "make.lua"
    fn = model.package { "line.safetensors", examples = { { 1, 2 } } }
    print(fn:verify { runtime = false }.same) --> true
check: type -- What fn:verify has found; as a text a line for each runtime.
]]
