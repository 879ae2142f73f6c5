-- %% [markdown]
-- # Steps of the tour
-- A notebook that prepares, trains and checks. It is run by the cells of steps 7 and 8.

-- %% tags=["parameters"]
lr = 0.1

-- %% Prepare
sh("echo prepared at $(date +%T) | tee data.txt", { inputs = {}, outputs = { "data.txt" } })

-- %% Train
weight = 0
for step = 1, 20 do
  weight = weight + lr * 2 * (1 - weight)
  run.metric("loss", (1 - weight) ^ 2, { step = step })
end
print(("after 20 steps the weight is %.3f"):format(weight))

-- %% Check
if not fs.exists "ready" then error("the file ready is missing: it appears when step 7 goes on", 0) end
