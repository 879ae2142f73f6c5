-- the same by an MPIJob of the MPI operator, without ssh
-- after: image

-- %% Ranks by an MPIJob effects="cluster" timeout="15m"
function where()
  hvd.init()
  return ("rank %d of %d"):format(hvd.rank(), hvd.size())
end
engine = not k8s.version().sandbox and k8s.mpijob { image = worker, executors = 2, cpu = "100m" } or nil -- the sandbox has no operator: here
result = hvd.run(where, { np = 2, on = engine, start_timeout = "5m" })
result:ranks()
