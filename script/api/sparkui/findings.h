// SPDX-License-Identifier: MIT
// What is wrong inside an application of Spark, in sentences: skew, spill, failed tasks with their
// cause, garbage collection, executors that were lost. From plain records; nothing is owned.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "script/api/sparkui/state.h"

// From where on something is a finding. A person sets each (spark.ui, spark.inside, spark.submit).
#define SPARK_LIMITS(X)                                                                            \
    X(skew, 5, "a task that took so many times the median")                                        \
    X(skew_seconds, 5, "and at least so many seconds")                                             \
    X(spill, 1073741824, "bytes that executors spilled to disk")                                   \
    X(gc, 0.2, "the part of the tasks' time that garbage collection took")                         \
    X(gc_seconds, 10, "and at least so many seconds")                                              \
    X(failed_tasks, 1, "tasks of a stage that failed")
struct spark_limits {
#define X(name, otherwise, words) double name;
    SPARK_LIMITS(X)
#undef X
};
// The limits of {"skew": 5, …}; those that it has not are the usual ones.
struct spark_limits spark_limits_of(const cJSON *given);

// [{"what": "stage 3: one task of 200 took 14 times the median …", "next": "…", "kind": "skew",
// "stage": 3}, …], the worst first; new.
cJSON *spark_findings(const struct spark_state *s, const struct spark_limits *limits);
// Appends the bytes as people read them: "3.2 GiB".
void spark_bytes(buf *out, int64_t bytes);
