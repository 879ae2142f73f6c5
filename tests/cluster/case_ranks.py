# SPDX-License-Identifier: MIT
"""hvd.run of a cell whose ranks are pods: by plain Jobs, what it leaves, and how it fails."""
import os
import re

import tap
from place import REGISTRY, Place

RECIPES = os.path.join(tap.SOURCE, "recipes")


def test_the_magic_number_by_jobs(t):
    place = Place(t)
    done = place.run(os.path.join(RECIPES, "14-hvd-run.lua"), "--cwd", place.dir, "--registry", REGISTRY, "-p", "on=jobs",
                     "-p", "tag=ranks/magic:1", allow="cluster")
    assert done.code == 0 and "Running 2 processes by plain Jobs..." in done.out and "420 421" in done.out, done
    assert "[1,1]<stdout>:Hello from rank 1 of 2, which is 0 of 1 on its host" in done.out, done
    assert "left over" not in done.out, done
    place.nothing_left()


FAILS = """\
-- %% Fails
ok, why = pcall(hvd.run, function()
  hvd.init()
  if hvd.rank() == 1 then error "no more disk" end
  hvd.barrier()
end, {{ on = k8s.jobs {{ image = "{image}", executors = 2, cpu = "100m" }} }})
print(ok, why)
-- %% No image
ok, why = pcall(hvd.run, function() end, {{ np = 1, start_timeout = "6s",
  on = k8s.jobs {{ image = "localhost/none:1", cpu = "100m", pull_policy = "Never" }} }})
print(ok, why)
-- %% Too many
print(pcall(hvd.run, function() end, {{ np = 9, on = k8s.jobs {{ image = "{image}", executors = 2, cores = 4 }} }}))
"""


def test_how_jobs_fail(t):
    place = Place(t)
    done = place.run(FAILS.format(image=place.build("ranks/fails:1")))
    assert done.code == 0, done
    assert "hvd.run: rank 1 failed: Fails:3: no more disk" in done.out, done
    assert "Timed out waiting for the driver to start, after 6 s" in done.out and "localhost/none:1" in done.out, done
    assert "Requested more processes (9) than there are available slots (8)" in done.out, done
    place.nothing_left()


def test_mnist_by_jobs(t):
    place = Place(t)
    done = place.run(os.path.join(RECIPES, "12-mnist-jobs.lua"), "--cwd", place.dir, "--registry", REGISTRY, "-p", "tag=ranks/mnist:1",
                     "-p", "cpu=100m", "-p", "epochs=1", allow="cluster")
    assert done.code == 0 and "create -> COMPLETED: " in done.out, done
    assert "Model prediction for index 100: 6" in done.out, done
    print("#", next(line.strip() for line in done.out.splitlines() if "COMPLETED" in line))


RESUMED = """\
-- %% First
print(hvd.run(function() return os.getenv "HOSTNAME" end, {{ np = 1, on = k8s.jobs {{ image = "{image}", cpu = "100m" }} }})[1])
-- %% Second
if not io.open "go" then error "not yet" end
"""


def test_a_job_that_is_done_is_not_done_again(t):
    place = Place(t)
    first = place.run(RESUMED.format(image=place.build("ranks/resumed:1")))
    assert first.code == 1 and "left over" not in first.out, first
    with open(f"{place.dir}/go", "w", encoding="utf-8"):
        pass
    again = tap.sh(tap.FIRESTEEL, "run", "--resume", "last", "notebook.lua", "--allow", "cluster", cwd=place.dir, env=place.env)
    assert again.code == 0, again
    host = re.search(r"hvd-[0-9a-f]{8}-driver-0", first.out).group()
    assert host in again.out, (first, again)
