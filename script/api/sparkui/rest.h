// SPDX-License-Identifier: MIT
// What is asked of a driver's REST API (http://DRIVER:4040/api/v1), one request after another, and
// what its answers say. No request is made here: whoever holds a spark_rest sends what `next`
// names, and hands over the answer. The caller owns the state.
//
// A round has the active stages three times, jobs, executors and queries once. What a stage has
// left is asked for once, when it has ended; a failed task's reason, when there is a new one.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "script/api/sparkui/state.h"

#define SPARK_ASKS(X)                                                                              \
    X(APPS) X(LIST) X(SETTLE) X(ACTIVE) X(STAGE) X(FAILED) X(RUNNING) X(JOBS) X(EXECUTORS) X(SQL)
enum spark_ask {
#define X(name) SPARK_ASK_##name,
    SPARK_ASKS(X)
#undef X
};

struct spark_rest {
    struct spark_state *state;
    int64_t now_ms; // wall, set by the holder before `take`: how long tasks have run; 0: not known
    enum spark_ask asked;   // by the last request
    int64_t stage, attempt; // which it was about
    unsigned step, since_list;
    bool has[SPARK_ASK_SQL + 1]; // answered at least once
    bool list_again, no_sql;
    int64_t ran_stage; // the stage whose running tasks were asked for in this round; -1: none
};
void spark_rest_init(struct spark_rest *r, struct spark_state *state);
// Appends the path of the next request, behind …/api/v1, with its query.
void spark_rest_next(struct spark_rest *r, buf *path);
// The answer to the last request. Answers of another form than Spark's change nothing.
void spark_rest_take(struct spark_rest *r, const cJSON *answer);
// The last request was refused with this status (404: a stage that the driver has forgotten, or no
// SQL in this application).
void spark_rest_refused(struct spark_rest *r, int status);
// Was everything asked for at least once, and is nothing of a stage that has ended missing?
bool spark_rest_is_whole(const struct spark_rest *r);
