// SPDX-License-Identifier: MIT
// A spark_state as tables of displays (doc/displays.md), and as JSON for cells. Results are new.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "script/api/sparkui/findings.h"

#define SPARK_TABLES(X)                                                                            \
    X(STAGES, "stages")                                                                            \
    X(FINDINGS, "findings") X(EXECUTORS, "executors") X(JOBS, "jobs") X(QUERIES, "queries")
enum spark_table {
#define X(name, text) SPARK_TABLE_##name,
    SPARK_TABLES(X)
#undef X
        SPARK_TABLE_COUNT
};
extern const char *const spark_table_names[];

// The table; of stages the findings stand in its note. The active ones come first, then the
// youngest. now_ms: wall ms. All but the stages are folded: below the cell stands one line of them.
cJSON *spark_table_of(
    const struct spark_state *s, enum spark_table which, const cJSON *findings, int64_t now_ms);
// The MIME bundle of that table.
cJSON *spark_bundle(const struct spark_state *s, enum spark_table which, const cJSON *findings,
    const char *note, int64_t now_ms);
// {"app", "name", "version", "state", "seconds", "stages": […], "jobs": […], "executors": […],
// "queries": […], "findings": […]}: records with numbers (bytes, seconds).
cJSON *spark_json(const struct spark_state *s, const cJSON *findings, int64_t now_ms);
