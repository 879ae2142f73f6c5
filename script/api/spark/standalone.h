// SPDX-License-Identifier: MIT
// Spark's own cluster on this machine, for the time of a run: a master and workers of spark-class,
// which listen on the loopback interface alone and talk only to who has the cluster's secret. The
// kernel owns them; they end with it.
#pragma once
#include "script/kernel/effects/binding.h"

// Is the master one that this run has started? Then its settings are added to an application's, and
// `env` (of the cell, may be NULL) is for its executors. -1: it has ended, and why.
int standalone_settings(call *c, const char *master, const cJSON *env, cJSON *conf, err *e);
// Can an application that was begun there go on? -1: the cluster was stopped, its master or all of
// its workers have died. From any thread of a call.
int standalone_check(call *c, const char *master, err *e);
