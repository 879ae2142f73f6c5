// SPDX-License-Identifier: MIT
// The pods of a SparkApplication, as spark-submit and the operator's webhook make them, and the
// commands that they run here. Pure: JSON from JSON.
#pragma once
#include "base/json/json.h"

#include <stdint.h>

// local:///opt/firesteel/spark.py starts the driver and executors of firesteel-worker, on a real
// cluster, too. Here they are started without Spark.
#define SPARK_LAUNCHER       "local:///opt/firesteel/spark.py"
#define SPARK_MODE           "firesteel/mode" // annotation of the pods; one of these:
#define SPARK_MODE_PROCESSES "processes"      // firesteel-worker as driver and executors
#define SPARK_MODE_SUBMIT    "spark-submit"   // spark-submit --master local[*] in the driver pod

struct spark_launch {          // the values of one submission
    const char *submission_id; // a uuid
    const char *app_selector;  // "spark-<32 hex>"
    const char *name_hash;     // 16 hex digits, in the executors' names
    const char *secret;        // name of a Secret with the key `secret`
    const char *worker;        // path of the worker in the pod
    const char *spark_submit;  // path of spark-submit in the pod
    uint16_t port;             // the driver listens here for executors
};

bool spark_is_launcher(const cJSON *app);
int64_t spark_executors(const cJSON *app); // instances, 1 if unset
char *spark_driver_name(const cJSON *app); // new
// New pods, to be created in the application's namespace. The application owns the driver pod,
// which owns the executors. Errors: ERR_INVALID for sizes that Spark would refuse.
cJSON *spark_driver_pod(const cJSON *app, const struct spark_launch *l, err *e);
cJSON *spark_executor_pod(
    const cJSON *app, const cJSON *driver, const struct spark_launch *l, int64_t id, err *e);
