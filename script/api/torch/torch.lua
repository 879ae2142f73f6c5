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
  local value = options[name] or least
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

local function text_map(map)
  local copy = {}
  for name, value in pairs(map or {}) do
    if type(name) ~= "string" or type(value) == "table" then usage('env expects names and values: { NAME = "value" }') end
    copy[name] = tostring(value)
  end
  return copy
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
  local here = { python = options.python, env = text_map(options.env), inputs = options.inputs, outputs = options.outputs, check = options.check,
    run = { nodes = options.nodes, nproc = options.nproc, restarts = options.restarts } }
  for key, value in pairs(made) do here[key] = value end
  return core.call("torch.here", here)
end

-- torch.run { "train.py", nodes = 2, nproc = 2, on = …, args = {…} } → a training job
function torch.run(options)
  if type(options) == "string" then options = { options } end
  if type(options) ~= "table" then usage 'expects a script: torch.run { "train.py", nodes = 2 }' end
  local given = options[1]
  local checked = {}
  for name, value in pairs(core.check("torch.run", options)) do checked[name] = value end
  options = checked
  count(options, "nodes", 1)
  count(options, "nproc", 1)
  count(options, "restarts", 0)
  local made = script_of(given, options)
  local ranks = options.nodes * options.nproc
  core.print(("Running %s on %d rank%s..."):format(made.name, ranks, ranks == 1 and "" or "s"))
  local result = run_here(made, options)
  return result.left_out and core.said(result, job, "torch.run") or setmetatable(result, job)
end

core.module("torch", torch)

core.api [[
torch: module -- Scripts in Python on the ranks of several nodes.
torch.run{script, nodes: integer=1, nproc: integer=1, args: table={}, env: table={}, python: string="python3", restarts: integer=0, inputs: list={}, outputs: list={}, check=true} -> training job
  Runs a script as torchrun does, on nodes × nproc ranks: MASTER_ADDR, MASTER_PORT, RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE
  and NODE_RANK are set for each. Any script in Python can be run, of PyTorch, JAX or none. Its progress and what it prints
  of metrics (name=value, JSON lines, tqdm's, Keras's and Lightning's forms) are shown below the cell.
  nodes: how many nodes; here all of them are this machine
  nproc: how many ranks a node has, torchrun's --nproc-per-node
  args: its words, { "--lr", 0.1 }; or names and values, { lr = 0.1, amp = true } for --amp --lr=0.1
  env: variables for it, { NAME = "value" }
  python: the interpreter, ".venv/bin/python"
  restarts: how often all ranks are started again after one has failed, torchrun's --max-restarts
  inputs: files it reads; a resumed run repeats it only when the script, an input or an output has changed
  outputs: files it writes
  check: whether a rank that fails is an error
  result: {code, output, metrics = {loss, …}, history, restarts, files = {name = sha256}, seconds}, which as a cell's last value says how it went
  errors: the rank that failed first, and why
  effect: local
  example:
    io.open("ranks.py", "w"):write('import os\nprint("rank=%s loss=%s" % (os.environ["RANK"], 0.5))\n'):close()
    job = torch.run { "ranks.py", nproc = 2 }
    print(job.metrics.loss) --> 0.5
]]
