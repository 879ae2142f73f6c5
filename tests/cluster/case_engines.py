# SPDX-License-Identifier: MIT
"""hvd.run of a cell by operators: an MPIJob and a SparkApplication; the NetworkPolicy; a pod that is lost and replaced."""
import os
import re
import threading

import tap
from place import BY_OPERATORS, REGISTRY, SPARK, Place, with_spark


MAGIC = """
function magic(n)
  hvd.init()
  print("Hello from rank " .. hvd.rank())
  return n * 10 + hvd.rank() + hvd.allreduce(0, hvd.Sum)
end
"""


def test_the_magic_number_by_an_mpijob(t):
    """The operator's launcher is the driver; there is no ssh in the image. Only pods of the job may reach its pods."""
    place = Place(t)
    image = place.build("engines/magic:1")
    done = place.run(f"""
-- %% Magic{MAGIC}
on = k8s.mpijob {{ image = "{image}", executors = 2, cpu = "100m" }}
started = os.time()
r = hvd.run(magic, {{ args = {{ 42 }}, on = on }})
print("numbers", r[1], r[2], "seconds", os.time() - started)
-- %% Fails
print(pcall(hvd.run, function()
  hvd.init()
  if hvd.rank() == 1 then error "no more disk" end
  hvd.barrier()
end, {{ np = 2, on = on }}))
""")
    assert done.code == 0 and "Running 2 processes by an MPIJob..." in done.out and "numbers\t420\t421" in done.out, done
    assert "[1,1]<stdout>:Hello from rank 1" in done.out and "no more disk" in done.out, done
    print("#", next(line.strip() for line in done.out.splitlines() if "numbers" in line))
    place.nothing_left("firesteel/hvd", kinds=BY_OPERATORS)


def test_the_magic_number_by_a_sparkapplication(t):
    place = with_spark(Place(t, SPARK))
    image = place.build("engines/spark:1", "apache/spark:3.5.7")
    done = place.run(f"""
-- %% Magic{MAGIC}
on = k8s.sparkapp {{ image = "{image}", executors = 2, cpu = "100m", memory = "600m" }}
r = hvd.run(magic, {{ args = {{ 42 }}, on = on }})
print("numbers", r[1], r[2])
-- %% Ends early
started = os.time()
print(pcall(hvd.run, function()
  hvd.init()
  if hvd.rank() == 1 then os.execute "kill -9 $PPID" end
  hvd.barrier()
end, {{ np = 2, on = on }}))
print("ended after", os.time() - started)
""", timeout=400)
    assert done.code == 0 and "Running 2 processes by a SparkApplication..." in done.out and "numbers\t420\t421" in done.out, done
    assert "rank 1 was ended by signal 9 (Killed)" in done.out, done
    assert " INFO " not in done.out and tap.sh("grep", "-rl", "TaskSchedulerImpl", f"{place.dir}/.firesteel").out, done  # Spark's information is in a log of its own
    seconds = int(re.search(r"ended after\s+(\d+)", done.out).group(1))
    print("# the job whose rank is killed ended after", seconds, "s")
    assert seconds < 90 * tap.PATIENCE, done  # two JVMs start and end; MPI's and Spark's own limits are minutes
    place.nothing_left("firesteel/hvd", kinds=BY_OPERATORS)


def test_mnist_by_an_mpijob(t):
    place = Place(t)
    done = place.run(os.path.join(tap.SOURCE, "recipes", "13-mnist-mpijob.lua"), "--cwd", place.dir, "--registry", REGISTRY,
                     "-p", "tag=engines/mnist:1", "-p", "cpu=100m", "-p", "epochs=1", allow="cluster")
    assert done.code == 0 and "Model prediction for index 100: 6" in done.out, done
    place.nothing_left("firesteel/hvd", kinds=BY_OPERATORS)


def test_training_that_survives_by_jobs(t):
    place = Place(t)
    done = place.run(os.path.join(tap.SOURCE, "recipes", "23-elastic.lua"), "--cwd", place.dir, "--registry", REGISTRY, "-p", "on=jobs",
                     "-p", "tag=engines/elastic:1", "-p", "cpu=100m", "-p", "epochs=60")
    assert done.code == 0 and "newcomers join" in done.out, done
    sizes = re.search(r"ranks by epoch: ([\d ]+)", done.out).group(1)
    assert re.fullmatch("3( 3)* 2( 2)*( 3)+", sizes.strip()) and len(sizes.split()) == 60, sizes
    place.nothing_left("firesteel/hvd", kinds=BY_OPERATORS)


SURVIVES = """
-- %% Survive timeout="3m"
function train()
  hvd.init()
  local state = hvd.elastic.State {{ step = 0, sizes = {{}} }}
  return hvd.elastic.run(function(state)
    local until_then = os.time() + 100
    while os.time() < until_then and not (#state.sizes > 2 and hvd.size() == 2) do
      if state.sizes[#state.sizes] ~= hvd.size() then state.sizes[#state.sizes + 1] = hvd.size() end
      local later = os.clock() + 0.01
      while os.clock() < later do end
      state.step = state.step + 1
      state:commit()
      if hvd.rank() == 0 and state.step == 10 then print "ten commits" end
    end
    return table.concat(state.sizes, " ")
  end)(state)
end
r = hvd.run(train, {{ np = 2, min_np = 1, on = k8s.jobs {{ image = "{image}", executors = 2, cpu = "100m" }} }})
print("sizes", r[1])
"""


def test_a_pod_of_elastic_jobs_is_lost_and_replaced(t):
    """The executor Job makes another pod, which joins at a commit. Before the first commit the driver would only wait for that pod."""
    place = Place(t)
    image = place.build("engines/magic:1")

    def commits():
        """the ranks commit"""
        return "ten commits" in place.kubectl("logs", "-l", "firesteel/hvd-role=driver", code=None).out

    def lose_one():
        tap.eventually(commits, 60, every=0.5)
        place.kubectl("delete", "pod", "-l", "firesteel/hvd-role=executor,batch.kubernetes.io/job-completion-index=1",
                      "--grace-period=0", "--force")
    loser = threading.Thread(target=lose_one)
    loser.start()
    done = place.run(SURVIVES.format(image=image))
    loser.join()
    assert done.code == 0 and "sizes\t2 1 2" in done.out, done
    assert "was lost: its connection has ended" in done.out and "newcomers join" in done.out, done
    place.nothing_left("firesteel/hvd", kinds=BY_OPERATORS)


PATCHED = """
-- %% Plain
on = {{ image = "{image}", executors = 2, cpu = "100m" }}
function who()
  hvd.init()
  for line in io.lines "/proc/self/status" do
    local id = line:match "^Uid:%s+(%d+)"
    if id then return id end
  end
end
r = hvd.run(who, {{ on = k8s.jobs(on) }})
print("users", r[1], r[2])
-- %% Patched
on.template = {{
  metadata = {{ annotations = {{ team = "vision" }}, labels = {{ ["firesteel/hvd-role"] = "mine" }} }},
  spec = {{
    terminationGracePeriodSeconds = 3, priorityClassName = "system-cluster-critical", securityContext = {{ runAsUser = 1234 }},
    containers = {{ {{ env = {{ {{ name = "TEAM", value = "vision" }} }}, volumeMounts = {{ {{ name = "scratch", mountPath = "/scratch" }} }} }} }},
    volumes = {{ {{ name = "scratch", emptyDir = {{}} }} }},
  }},
}}
r = hvd.run(function()
  io.open("/scratch/" .. who(), "w"):close()
  return os.getenv "TEAM" .. who()
end, {{ on = k8s.jobs(on) }})
print("teams", r[1], r[2])
"""


def test_pods_fit_a_restricted_namespace(t):
    """Nobody has to say what the level asks for; and a template may say more, but not take the job's own labels."""
    place = Place(t)
    place.kubectl("label", "namespace", place.namespace, "pod-security.kubernetes.io/enforce=restricted", "--overwrite")
    image = place.build("engines/magic:1")
    done = place.run(PATCHED.format(image=image))
    assert done.code == 0 and "users\t1000\t1000" in done.out and "teams\tvision1234\tvision1234" in done.out, done
    place.nothing_left("firesteel/hvd", kinds=BY_OPERATORS)
