-- SPDX-License-Identifier: MIT
-- torch.run: a script in Python on the ranks of some nodes: here, or where an engine (`on`) starts them. A launcher of ours
-- (launch.py) starts the ranks of a node with torchrun's variables; the script is the user's own.
local core = ...

torch = {}

local job = core.types["training job"]

local function usage(format, ...)
  core.fail("error", "torch.run: " .. format:format(...))
end

local function count(options, name, least)
  local value = options[name] == nil and least or options[name]
  options[name] = value
  if math.type(value) ~= "integer" or value < least or value > 4096 then
    usage("%s must be an integer from %d to 4096, not %s", name, least, tostring(value))
  end
end

-- args = { "--lr", 0.1 }: words as they are; { lr = 0.1, amp = true }: --lr=0.1 and --amp, sorted.
local function words_of(args)
  local words, names = core.array {}, {}
  for i, word in ipairs(args) do words[i] = tostring(word) end
  for key, value in pairs(args) do
    if type(key) == "string" then
      names[#names + 1] = key
    elseif type(value) == "table" then
      usage("args: word %s is a table", tostring(key))
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local value = args[name]
    if value == true then
      words[#words + 1] = "--" .. name
    elseif type(value) == "table" then
      usage("args: %s is a table", name)
    elseif value ~= false then
      words[#words + 1] = ("--%s=%s"):format(name, tostring(value))
    end
  end
  return words
end

-- A function of a cell in Python came as { name, source }: its text, and a call with the arguments, make a script. The
-- arguments are a list, or names and values.
local CALL = [[


if __name__ == "__main__":
    import json as _json
    _given = _json.loads(%s)
    %s(*_given) if isinstance(_given, list) else %s(**_given)
]]

local function script_of(given, options)
  if type(given) == "string" then
    if not given:find "%S" then usage "the script has no name" end
    return { script = given, name = given, words = words_of(options.args or {}) }
  end
  if type(given) ~= "table" or not given["$function"] then
    usage('expects a script: torch.run { "train.py", nodes = 2 }; in Python a function, too')
  end
  local name, args = given["$function"], options.args or core.array {}
  local list = #args > 0 or next(args) == nil
  local text = firesteel.json(list and core.array { table.unpack(args) } or args)
  return { script = name .. ".py", name = "function " .. name, words = core.array {},
    source = given.source .. CALL:format(firesteel.json(text), name, name) }
end

local function run_here(made, options)
  local here = { python = options.python, env = core.text_map("env", options.env, "torch.run"), inputs = options.inputs, outputs = options.outputs, check = options.check,
    run = { nodes = options.nodes, nproc = options.nproc, restarts = options.restarts } }
  for key, value in pairs(made) do here[key] = value end
  return core.call("torch.here", here)
end

-- ---- on an engine

-- What nodes(options, job) of an engine (script/api/hvd/hvd.lua) gets:
--
-- job = {
--   name = "@job@", label = "firesteel/torch", labels,   -- as in hvd.run
--   nodes, nproc, restarts, port, start_timeout,   -- the last in seconds
--   address = "@job@-rank0",      -- the name of a Service that the engine makes for the pod of rank 0
--   container = function(more)    -- the container of a node; `more` goes to launch.py: which node it is
--   volume,                       -- the Secret with script, launcher and further files
-- }
local FOLDER, PORT, MOST = "/run/firesteel", 29500, 1000 * 1000

-- Files below FOLDER by their names there, each in base64, as data of the Secret and as items of its volume.
local function packed(made, options)
  local data, items, size = {}, core.array {}, 0
  local function add(path, text)
    local key = ("file%d"):format(#items)
    data[key], size = core.base64(text), size + #text
    items[#items + 1] = { key = key, path = path }
  end
  for _, name in ipairs(options.files or {}) do
    if type(name) ~= "string" or name:find "^/" or ("/" .. name .. "/"):find "/%.%./" then
      usage("files are below the working folder, not %s", tostring(name))
    end
    add(name, core.read_file("torch.run", name))
  end
  add("launch.py", core.call("torch.launcher", {}))
  add(made.script:match "[^/]+$", made.source or core.read_file("torch.run", made.script))
  if size > MOST then usage("script and files have %d kB, and a Secret holds %d: put what is large into the image or a volume", size // 1000, MOST // 1000) end
  return data, items
end

local function job_of(made, options, on)
  local name = "@job@"
  local data, items = packed(made, options)
  local env = core.env_list(core.text_map("on.env", on.env, "torch.run"), core.text_map("env", options.env, "torch.run"))
  local job = {
    name = name, label = "firesteel/torch", labels = { ["firesteel/torch"] = name }, address = name .. "-rank0", port = PORT,
    nodes = options.nodes, nproc = options.nproc, restarts = options.restarts, start_timeout = core.duration(options.start_timeout or 600),
    volume = { name = "script", secret = { secretName = name, items = items } },
  }
  function job.container(more)
    local told = { nodes = job.nodes, nproc = job.nproc, restarts = job.restarts, name = name, address = job.address, port = PORT }
    for key, value in pairs(more) do told[key] = value end
    local own = core.array { { name = "TORCH_RUN", value = firesteel.json(told) } }
    for _, variable in ipairs(env) do own[#own + 1] = variable end
    local command = core.array { options.python or "python3", FOLDER .. "/launch.py", FOLDER .. "/" .. made.script:match "[^/]+$" }
    for _, word in ipairs(made.words) do command[#command + 1] = word end
    return { command = command, env = own, volumeMounts = { { name = "script", mountPath = FOLDER, readOnly = true } } }
  end
  return job, data
end

local function run_on(made, options, on, engine)
  for _, name in ipairs { "inputs", "outputs" } do
    if #(options[name] or {}) > 0 then usage("%s are files of this machine, and the ranks are in pods: leave them out", name) end
  end
  if not engine.nodes then usage("%s cannot run scripts: k8s.jobs, k8s.jobset, k8s.mpijob, k8s.trainjob and k8s.rayjob can", engine.name) end
  local job, data = job_of(made, options, on)
  local plan = engine.nodes(on, job)
  local env = core.text_map("on.env", on.env, "torch.run") -- beside the plan, which has them: so the journal knows what is secret
  for name, value in pairs(core.text_map("env", options.env, "torch.run")) do env[name] = value end
  return core.call("torch.elsewhere", {
    name = made.name, nodes = options.nodes, files = data, engine = engine.name, says = engine.says, namespace = on.namespace, plan = plan,
    env = env, start_timeout = core.duration(options.start_timeout or 600),
  })
end

-- torch.run { "train.py", nodes = 2, nproc = 2, on = …, args = {…} } → a training job
function torch.run(options)
  if type(options) == "string" then options = { options } end
  if type(options) ~= "table" then usage 'expects a script: torch.run { "train.py", nodes = 2 }' end
  local given, checked = options[1], {}
  for name, value in pairs(core.check("torch.run", options)) do checked[name] = value end
  options = checked
  for name, least in pairs { nodes = 1, nproc = 1, restarts = 0 } do count(options, name, least) end
  local engine = core.engine_of(options.on)
  if options.on ~= nil and not engine then
    usage "on expects where the ranks shall run: k8s.jobset { image = img }; without it they run here"
  end
  local made = script_of(given, options)
  local ranks = options.nodes * options.nproc
  core.print(("Running %s on %d rank%s%s..."):format(made.name, ranks, ranks == 1 and "" or "s", engine and " by " .. engine.says or ""))
  local result = engine and run_on(made, options, options.on, engine) or run_here(made, options)
  return result.left_out and core.said(result, job, "torch.run") or setmetatable(result, job)
end

core.module("torch", torch)

core.api [[
torch: module -- Scripts in Python on the ranks of several nodes.
torch.run{script, nodes: integer=1, nproc: integer=1, on: table=, args: table={}, env: table={}, python: string="python3", files: list={}, restarts: integer=0, start_timeout: duration=600, inputs: list={}, outputs: list={}, check=true} -> training job
  Runs a script as torchrun does, on nodes × nproc ranks: MASTER_ADDR, MASTER_PORT, RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE
  and NODE_RANK are set for each. Any script in Python can be run, of PyTorch, JAX or none. Its progress and what it prints
  of metrics (name=value, JSON lines, tqdm's, Keras's and Lightning's forms) are shown below the cell.
  nodes: how many nodes; without `on` all of them are this machine
  nproc: how many ranks a node has, torchrun's --nproc-per-node
  on: where the nodes are, as k8s.jobset { image = img }; an image with Python and what the script imports
  args: its words, { "--lr", 0.1 }; or names and values, { lr = 0.1, amp = true } for --amp --lr=0.1
  env: variables for it, { NAME = "value" }
  python: the interpreter, ".venv/bin/python"
  files: what goes with it to the pods of `on`, its own modules; here the whole folder is there
  restarts: how often all ranks are started again after one has failed, torchrun's --max-restarts; here, by k8s.jobset and by k8s.rayjob
  start_timeout: how long pods may take to start; the time in a queue does not count
  inputs: files it reads here; a resumed run repeats it only when the script, an input or an output has changed
  outputs: files it writes here
  check: whether a rank that fails here is an error
  result: {code, output, metrics = {loss, …}, history, restarts, files = {name = sha256}, seconds}, which as a cell's last value says how it went
  errors: the rank that failed first, and why
  effect: local; with on that of making objects: cluster
  example:
    io.open("ranks.py", "w"):write('import os\nprint("rank=%s loss=%s" % (os.environ["RANK"], 0.5))\n'):close()
    job = torch.run { "ranks.py", nproc = 2 }
    print(job.metrics.loss) --> 0.5
]]
