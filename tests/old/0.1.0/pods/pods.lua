-- %% [markdown]
-- # A function on ranks that are pods
-- By plain Jobs: a driver and two executors; then elastic, where one of two ranks is lost.

-- %% The image effects="cluster"
img = image.build { tag = "old/ranks:1" }:push()

-- %% Run effects="cluster,destructive" timeout="5m"
result = hvd.run(function(factor)
  hvd.init()
  print(("rank %d of %d"):format(hvd.rank(), hvd.size()))
  return 42 * factor + hvd.rank()
end, { args = { 10 }, np = 2, on = k8s.jobs { image = img.ref, executors = 2, cpu = "100m" }, start_timeout = "4m" })
print(table.concat(result:ranks(), " "))

-- %% A Job effects="cluster" timeout="3m"
job = k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = "count" }, spec = { backoffLimit = 0, template = { spec = {
  restartPolicy = "Never", containers = { { name = "main", image = img.ref, command = { "/opt/firesteel/firesteel-worker", "--version" }, imagePullPolicy = "IfNotPresent" } } } } } }
k8s.watch(job)
expect(job):reaches("Complete", "2m")
print(k8s.logs(job))
