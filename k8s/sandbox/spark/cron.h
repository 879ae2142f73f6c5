// SPDX-License-Identifier: MIT
// A schedule as cron's five fields, a word ("@daily") or "@every 90s" say it, and when it is due
// next. A plain value; grammar and errors are those of robfig/cron v3 (ParseStandard), which the
// Spark operator uses.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct cron {
    int64_t every;    // ns; 0: by the fields
    uint64_t due[5];  // of minute, hour, day, month, weekday: bit n is set when it is due at n
    bool any_day;     // the field of days is a star: weekdays alone decide
    bool any_weekday; // days alone decide; with neither star a day that fits one field is due
    bool local;       // by this machine's time zone, else UTC
};
// zone: "", "Local" or "UTC"; others are ERR_INVALID, since libc knows one zone at a time. A
// schedule that begins with its own ("CRON_TZ=UTC …" or "TZ=UTC …") goes by that.
int cron_parse(struct cron *c, const char *schedule, const char *zone, err *e);
// The first time after `after` (both wall ns, whole seconds); 0: none within five years.
int64_t cron_next(const struct cron *c, int64_t after);
