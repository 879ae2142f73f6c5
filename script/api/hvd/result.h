// SPDX-License-Identifier: MIT
// What a packed function's ranks returned, from the events in which a worker tells it
// (script/worker/job/function.c). A plain value; hvd_result_done frees.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "script/kernel/effects/binding.h"

#include <stdbool.h>

struct hvd_result {
    buf packed;
    int64_t next; // how many parts have come
    bool whole;
    err damage; // why it cannot be read
};
// Takes an event "result"; others are passed over.
void hvd_result_event(struct hvd_result *r, const cJSON *event);
// 0: it is whole; -1 with the reason.
int hvd_result_check(const struct hvd_result *r, err *e);
char *hvd_result_text(const struct hvd_result *r); // as base64; new
void hvd_result_done(struct hvd_result *r);
// A binding's verify: function and arguments are those of the record, so what it returned then is
// its result. Its output is shown again.
int hvd_result_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e);
