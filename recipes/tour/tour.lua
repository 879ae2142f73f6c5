-- %% [markdown]
-- # A tour in ten steps
-- All of it happens in a **sandbox**, a small Kubernetes of this machine that ends with this notebook's kernel, and in a folder of its own.
-- Each step is a text like this one, and a cell below it.
--
-- Press **Ctrl-R** now: on a text it goes on to the next cell, on a cell it runs it and goes on. `k` goes back up, `?` shows all keys.
-- `q` leaves at any time; `firesteel tour` comes back to this place.

-- %% [markdown]
-- ## 1. Run a cell
-- Ctrl-R goes to the cell, and once more runs it. What its last line gives is shown below it.

-- %% 1 Run
answer = 6 * 7
"the answer is " .. answer

-- %% [markdown]
-- ## 2. Deploy, and watch
-- This cell changes a cluster, so it **asks first**: `y` allows it once. The table below it stays alive: three pods start, and count
-- for ten minutes while you read on.

-- %% 2 Deploy effects="cluster"
job = k8s.apply [[
apiVersion: batch/v1
kind: Job
metadata: {name: counter}
spec:
  parallelism: 3
  completions: 3
  completionMode: Indexed
  backoffLimit: 0
  template:
    metadata: {labels: {app: counter}}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: host
        command: [sh, -c, 'for i in $(seq 600); do echo "pod $JOB_COMPLETION_INDEX counts $i"; sleep 1; done']
]]
k8s.watch("pods")

-- %% [markdown]
-- ## 3. The desk
-- Type `:pods` and Enter: any kind of object, on the full screen, also while a cell runs. There `d` describes the row, `i` shows what is in
-- the pod, `t` its family as a tree, `/` filters, `?` has the rest; `q` closes it. The cell below does the same in the notebook: run it,
-- then `O` opens its table on the full screen.

-- %% 3 Objects
k8s.list("jobs")

-- %% [markdown]
-- ## 4. Logs
-- Run the cell for the last lines of all three pods. Then `:pods`, `*` marks them all, and `l` follows their logs as one, merged by time;
-- `&` filters lines. `q` twice comes back.

-- %% 4 Logs
print(job:logs { tail = 3 })

-- %% [markdown]
-- ## 5. Why?
-- A job that cannot work: its image is nowhere. `y` lets it be made; then the cell asks what is wrong with it, and gets a sentence,
-- the evidence for it, and the next step.

-- %% 5 Broken effects="cluster" timeout="1m"
broken = k8s.apply [[
apiVersion: batch/v1
kind: Job
metadata: {name: broken}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "nowhere:1", command: ["true"]}]
]]
firesteel.sleep "2s"
broken:why()

-- %% [markdown]
-- ## 6. Interrupt
-- The next cell would take an hour. Run it with **Ctrl-E** (which stays at the cell), look at it a while, then press **Ctrl-C**. The cell ends; the kernel,
-- its variables and the table of step 2 go on. (Its tag `skip` keeps it out when all cells run, by `R`.)

-- %% 6 An hour tags=["skip"]
for second = 1, 3600 do
  print("second " .. second)
  firesteel.sleep "1s"
end

-- %% [markdown]
-- ## 7. Resume
-- `steps.lua` is another notebook, in this folder. The cell runs it without a terminal, as a CI would. The first run fails at its last cell;
-- the second one goes on where that ended: what was done is verified, not repeated.

-- %% 7 A run that goes on language="bash"
-- rm -f data.txt ready
-- firesteel run steps.lua || echo "exit code $?: the last cell has failed"
-- echo; touch ready
-- firesteel run steps.lua --resume newest

-- %% [markdown]
-- ## 8. Two runs, side by side
-- Once more with another learning rate; `firesteel diff` says in what the runs differ. Then press `g` `h` (the runs of this notebook), `a` (all
-- of this folder) and `g` `g` (the first row): `c` compares that run with the next one, curves included. `q` twice comes back.

-- %% 8 Another run language="bash"
-- firesteel run steps.lua -p lr=0.3 | tail -n 1
-- firesteel diff || echo "exit code $?: they differ"

-- %% [markdown]
-- ## 9. Delete
-- What cells have made is in a ledger, and nothing is removed without a question: `y`, twice. Watch the table of step 2 meanwhile.

-- %% 9 Clean up effects="destructive"
for _, made in ipairs { job or false, broken or false } do
  if made then made:delete() end
end
k8s.list("jobs")

-- %% [markdown]
-- ## 10. Leave, and come back
-- Press `q`: the terminal is yours again, and the kernel stays, with its variables, what runs, and its sandbox. `firesteel tour` comes back here;
-- so does `firesteel attach`, from any terminal. Then run the cell.

-- %% 10 Still there
answer and "the answer is still " .. answer or "this kernel is a new one, and knows no answer: step 1 has it"

-- %% [markdown]
-- ## Where to go on
-- `:insert s1` puts the cells of a whole training job into a notebook of yours, ready to run; `:insert` lists what else there is. `firesteel new`
-- lists recipes, from MNIST to pipelines, and `firesteel` in any folder opens what is there. `:stop` ends this kernel and its sandbox.
