// SPDX-License-Identifier: MIT
// The executors of a SparkApplication: made when its driver runs, followed, and removed after it,
// as Spark does. They belong to the driver pod, which belongs to the application.
#pragma once
#include "k8s/sandbox/store/event.h"
#include "k8s/sandbox/store/store.h"

#define SPARK_EVENT(s, app, type, ...)                                                             \
    event_record(s, (struct event_source){"spark-application-controller", NULL},                   \
        KIND(SPARKAPPLICATIONS), app, NULL, type, __VA_ARGS__)

// Makes the executors from what the driver's pod says. If there are some already, it does nothing:
// executors are never replaced, since an MPI job cannot use a late one.
int sparkexec_create(store *s, const cJSON *app, const cJSON *driver, err *e);
// Updates app.status.executorState, and records events. An executor that is gone keeps the end that
// was seen; otherwise it is UNKNOWN, or FAILED when the application is over. driver NULL: it is
// gone.
void sparkexec_note(store *s, cJSON *app, const cJSON *driver, bool over);
bool sparkexec_ended(store *s, const cJSON *driver);
// Removes them, unless spec.executor.deleteOnTermination is false.
int sparkexec_remove(store *s, const cJSON *app, const cJSON *driver, err *e);
// Deletes a pod with its grace; a pod that is gone or being deleted is no error.
int sparkexec_delete_pod(store *s, const snapshot *pod, err *e);
