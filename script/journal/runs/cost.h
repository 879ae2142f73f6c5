// SPDX-License-Identifier: MIT
// What the pods of a run asked for and used: sums and sentences. A pod is as script/api/k8s/meter.c
// records it:
//   {name, namespace, role, since, until (Unix seconds; none: it still ran at the end of the run),
//    cpu (thousandths), memory (bytes): its requests, limits: {cpu, memory}, devices: {"a/gpu": n},
//    peak: {cpu, memory} (none: never measured)}
// All of it are plain functions. `now` (Unix seconds) is the end of pods that have none.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

// The sums, new; NULL: there are no pods. {pod_count, cpu_hours and memory_hours (GiB): what was
// requested, for as long as each pod had its node, and where nothing was requested its peak;
// gpu_hours, if there were GPUs; asked_cpu, asked_memory, peak_cpu, peak_memory (CPUs, bytes): at
// the time when most was asked for; pod_use: the sentence}. What is 0 or not known is missing.
cJSON *cost_of(const cJSON *pods, double now);
// A line for each role: "  2 executors: each asked for 1 CPU and 2 GiB, used 0.4 and 600 MiB: half
// would do", and one with the hours.
void cost_print(const cJSON *pods, double now, buf *out);
// "1.5 GiB", "600 MiB".
void cost_memory(double bytes, buf *out);
