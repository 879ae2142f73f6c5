-- a function on ranks that are pods of plain Jobs: no operator, no Spark
-- after: image

-- %% Ranks by Jobs effects="cluster" timeout="15m"
function where()
  hvd.init()
  return ("rank %d of %d"):format(hvd.rank(), hvd.size())
end
engine = not k8s.version().sandbox and k8s.jobs { image = worker, executors = 2, cpu = "100m" } or nil -- its pods have no network in the sandbox: here
result = hvd.run(where, { np = 2, on = engine, start_timeout = "5m" })
result:ranks()
