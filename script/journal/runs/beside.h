// SPDX-License-Identifier: MIT
// Several runs beside one another: which parameters differ, what each metric came to, and which run
// is the best by it. Plain functions over rows (runs_row, runs_child_row); the caller owns all
// JSON.
#pragma once
#include "base/json/json.h"

// Which values of a metric are the best ones.
enum metric_best { METRIC_UNKNOWN, METRIC_LEAST, METRIC_GREATEST };
// By the words of its name: loss, error, perplexity, … the least; accuracy, auc, f1, … the
// greatest.
enum metric_best metric_best_of(const char *name);

// What a person has said of a metric counts more than its name. {0} ends a list of them.
struct metric_told {
    const char *name;
    enum metric_best best;
};

// {params: [names that differ], same: {name: value}, metrics: [{name, best: "min" | "max"}],
//  runs: [{run, state, started, seconds, params: {name: value},
//          metrics: {name: {last, step, best, last_wins, best_wins}}}]}, new.
// best: of all values of the metric; it is missing where nobody knows which are. The metric that
// orders trials is known by their "by" and "mode". told: NULL: nothing.
cJSON *runs_beside(cJSON *const *rows, size_t n, const struct metric_told *told);
// The same as rows of a table, with the names in the first: the run, the parameters that differ, of
// each metric the last value and (where it has several) the best one, with '*' behind those that
// win. [[text, …], …], new.
cJSON *runs_beside_table(const cJSON *beside);
