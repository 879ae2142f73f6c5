# SPDX-License-Identifier: MIT
# A program of Spark that does what goes wrong: skew, spill, failed tasks, a failed job, a failed query.
# inside.py PARTITIONS SECONDS: how many partitions are skewed, how long it waits at the end.
import os
import sys
import time

from pyspark import TaskContext
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("inside").getOrCreate()
sc = spark.sparkContext
n = int(sys.argv[1])


def slow(rows):
    rows = list(rows)
    time.sleep(0.02 * len(rows))
    yield len(rows)


# One key has nearly everything, so one task of the second stage gets it. Random bytes stay as many when Spark packs them.
pairs = sc.parallelize(range(600), 4).map(lambda i: (n - 1 if i % 3 else i % n, os.urandom(100)))
print("groups", pairs.partitionBy(n).mapPartitions(slow).count())

# A sort that may keep few rows in memory (spark.shuffle.spill.numElementsForceSpillThreshold).
big = spark.range(0, 200000, 1, 4).selectExpr("id", "id * 7919 % 100003 AS k", "repeat('x', 100) AS text")
big.repartition(4, "k").sortWithinPartitions("k").write.format("noop").mode("overwrite").save()

big.createOrReplaceTempView("big")
print("query", spark.sql("SELECT k % 7 AS seventh, count(*) AS n FROM big GROUP BY 1").count())


def once(i, rows):
    if i == 2 and TaskContext.get().attemptNumber() == 0:
        raise ValueError("the file part-2 is being written")
    return rows


print("again", sc.parallelize(range(8), 4).mapPartitionsWithIndex(once).count())


def bad(row):
    if row == 17:
        raise ValueError("bad record 17")
    return row


for action in (lambda: sc.parallelize(range(40), 4).map(bad).count(),
               lambda: spark.range(10).selectExpr("assert_true(id < 5)").collect()):
    try:
        action()
    except Exception as why:
        print("failed", type(why).__name__)
if len(sys.argv) > 2:
    time.sleep(float(sys.argv[2]))
spark.stop()
