-- the same in Spark's barrier stage, by a SparkApplication, as horovod.spark.run

-- %% Ranks in Spark effects="cluster" timeout="20m"
base = not k8s.version().sandbox and "apache/spark:3.5.7" or nil -- the sandbox brings its own
spark_image = image.build { from = base, tag = "firesteel/spark-worker:latest" }:push()
function where()
  hvd.init()
  return ("rank %d of %d"):format(hvd.rank(), hvd.size())
end
result = hvd.run(where, { np = 2, on = k8s.sparkapp { image = spark_image, executors = 2, network_policy = base ~= nil }, start_timeout = "5m" })
result:ranks()
