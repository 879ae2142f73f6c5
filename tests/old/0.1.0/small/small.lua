-- %% [markdown]
-- # Runs that end in each way there is
-- A training with its trials, of which the last waits for the file "go": a run that is killed there has done the others.

-- %% tags=["parameters"]
fails = false
waits = false

-- %% The trainer file="trial.lua"
local nn, data = require "nn", require "data"
local args = require "args" { rate = 0.1, weights = "" }
local x, y = {}, {}
for i = 1, 32 do
  x[i] = { math.sin(i), math.cos(3 * i) }
  y[i] = { x[i][1] * x[i][2] }
end
local model = nn.Sequential { nn.Dense { 4, activation = "tanh", input_dim = 2 }, nn.Dense { 1 } }
model:compile { optimizer = nn.Adam { args.rate }, loss = "mse" }
model:fit { data.tensor(x), data.tensor(y), epochs = 2, batch_size = 8, verbose = 2 }
model:save(args.weights)

-- %% Train
job = trainer.run { "trial.lua", args = { "--weights=model.safetensors" }, outputs = { "model.safetensors" } }
print(job.metrics.loss < 1)

-- %% A command inputs=["model.safetensors"] language="bash" outputs=["size.txt"]
-- wc -c < model.safetensors > size.txt

-- %% Trials
ts = tune { "rates", over = { rate = { 0.01, 0.1, 0.2 } }, by = "loss", seed = 7,
  function(trial)
    local w = trial:path "model.safetensors"
    local job = trainer.run { "trial.lua", outputs = { w }, args = { "--rate=" .. trial.params.rate, "--weights=" .. w } }
    if waits and trial.params.rate == 0.2 then
      print "begun"
      while not fs.exists "go" do firesteel.sleep(0.05) end
    end
    return job
  end }

-- %% Count
count = fs.exists("count.txt") and tonumber(fs.read "count.txt") + 1 or 1
fs.write("count.txt", tostring(count))

-- %% Perhaps
if fails then
  local function inner() error "as told" end
  inner()
end

-- %% At the end when="always"
failure = firesteel.failure()
print(failure and display.inspect(failure) or "nothing has failed")
