# the same in Spark's barrier stage, by a SparkApplication, as horovod.spark.run
# lua: spark
