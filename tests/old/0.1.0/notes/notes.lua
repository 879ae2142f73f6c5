-- %% [markdown]
-- # A notebook with everything that a run can record
-- Displays, an error, secrets, parameters, metrics, artifacts, branches, commands, a training, trials and measurements.

-- %% tags=["parameters"]
rate = 0.05           -- learning rate
units = 4             -- of the hidden layer
words = { "one", "two" }
layers = { first = 8, second = 2 }
shuffle = true
api_token = "none"    -- a secret by its name
lines = 10          -- of the cell "A spool"

-- %% Files and variables
-- %env OMP_NUM_THREADS=1
fs.write("rows.csv", "name,size\na,12\nb,345\n")
rows = {}
for line in io.lines "rows.csv" do rows[#rows + 1] = line end
print(#rows .. " lines", os.getenv "OLD_COLOUR")
out = io.open("copy.csv", "w")
out:write(table.concat(rows, "\n"), "\n"):close()

-- %% Secrets
print("the token is " .. api_token, "and the password is " .. secret "OLD_PASSWORD")

-- %% Streams
io.write("no line break at the end: \u{6f22}\u{5b57}, \27[31mred\27[0m, \27]0;title\7bell")
io.stderr:write "a word on standard error\n"
print "\rover"

-- %% A spool
for i = 1, lines do print(("line %05d"):format(i)) end

-- %% A table
display.table({ { name = "a", size = 1234567, took = 90 }, { name = "b", size = 12, took = 0.25 } },
  { columns = { "name", "size", "took" }, types = { size = "bytes", took = "duration" } })

-- %% Plots
display.plot { loss = { 0.9, 0.5, 0.3 }, x = { 1, 2, 3 }, title = "training", x_label = "epoch", y_label = "loss" }
display.plot { accuracy = { 0.91, 0.95 }, x = { "narrow", "wide" }, kind = "bars" }
display.plot { { 1, 2, 2, 3, 3, 3 }, kind = "histogram", bins = 3 }
display.plot { speed = { 10, 14 }, error = { speed = { { 9, 12 }, 0.5 } } }

-- %% Other displays
display.markdown "**done** in 3 s"
display.html "<b>bold</b> and <i>brave</i>"
display.json { name = "a", layers = { 64, 10 } }
display.image("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><circle r='4' cx='4' cy='4'/></svg>", { alt = "a dot" })
bar = display.progress(3, "files")
for i = 1, 3 do bar:update(i, { loss = 1 / i }) end

-- %% A value
{ 1, 2, three = { 3 } }

-- %% A command outputs=["made.txt"] language="bash" inputs=["rows.csv"]
-- wc -l < rows.csv | tee made.txt
-- echo "of the command" >&2

-- %% Other commands
!echo "a line of a command"
both = !printf 'x\ny\n'
print(#both, sh("exit 3", { check = false }).code)

-- %% A file file="trial.lua"
local nn, data = require "nn", require "data"
local args = require "args" { rate = 0.1, units = 2, epochs = 2, weights = "" }
local x, y = {}, {}
for i = 1, 32 do
  x[i] = { math.sin(i), math.cos(3 * i) }
  y[i] = { x[i][1] * x[i][2] }
end
local model = nn.Sequential { nn.Dense { args.units, activation = "tanh", input_dim = 2 }, nn.Dense { 1 } }
model:compile { optimizer = nn.Adam { args.rate }, loss = "mse" }
model:fit { data.tensor(x), data.tensor(y), epochs = args.epochs, batch_size = 8, verbose = 2 }
if args.weights ~= "" then model:save(args.weights) end

-- %% A training
job = trainer.run { "trial.lua", args = { "--rate=" .. rate, "--units=" .. units, "--weights=model.safetensors" }, outputs = { "model.safetensors" } }
job.metrics.loss < 1

-- %% Records
for step = 1, 3 do run.metric("score", step / 8, { step = step }) end
run.metric { accuracy = 0.9375, odd = 0 / 0, far = math.huge }
run.param { model = "wide", depth = 3, deep = false }
run.tag "baseline"
run.tag("data", "2026-11")
run.artifact("model.safetensors", { name = "model" })
run.artifact "copy.csv"

-- %% Branches
squares = parallel.map({ 1, 2, 3 }, { at_once = 2, name = function(n) return "square " .. n end }, function(n)
  print("branch of " .. n)
  run.metric("square", n * n)
  return n * n
end)
other = async("other", function() print "asynchronous" return "done" end)
print(table.concat(squares, " "), await(other))

-- %% Trials
ts = tune { "digits", over = { rate = { 0.01, 0.1 }, units = { 2, 4 } }, by = "loss", seed = 7,
  function(trial)
    local w = trial:path "model.safetensors"
    return trainer.run { "trial.lua", outputs = { w },
      args = { "--rate=" .. trial.params.rate, "--units=" .. trial.params.units, "--weights=" .. w } }
  end }
best = ts:best()
print(best.params.units > 0)

-- %% Measurements
s = study { "sizes", over = { size = { 1, 2 } }, repeats = 3, warm_up = 1, metric = "value", seed = 5,
  function(point) return point.params.size * 2 end }
print(s[1].values[1], s[2].values[3])

-- %% An error that is expected tags=["raises-exception"]
local deep = { inner = {} }
return deep.inner.missing.field

-- %% Done again retries=1
tries = (tries or 0) + 1
if tries == 1 then error "the first time" end
print("attempt " .. tries)

-- %% Left out when="rate > 1"
print "never"

-- %% At the end when="always"
failure = firesteel.failure()
print(failure and display.inspect(failure) or "nothing has failed")
