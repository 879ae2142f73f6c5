// SPDX-License-Identifier: MIT
// The controller of ScheduledSparkApplications: makes a SparkApplication whenever one is due, and
// keeps status and history as the Spark operator does (v2.4,
// internal/controller/scheduledsparkapplication/controller.go). Only on the loop's thread.
#pragma once
#include "k8s/sandbox/api/sandbox.h"

typedef struct sparkschedules sparkschedules;
sparkschedules *sparkschedules_open(sandbox *s);
void sparkschedules_close(sparkschedules *s); // NULL is fine
