// SPDX-License-Identifier: MIT
// Small formats from outside: quantities, sizes, times, durations, the stamps and marked lines of
// logs. A printed value reads back as the same.
#include "base/clock.h"
#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/events.h"
#include "k8s/client/logs/logs.h"
#include "script/api/trainer/training.h"
#include "tests/fuzz/fuzz.h"
#include "tui/part/table/tablevalue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void read_time(const char *text)
{
    int64_t wall, again;
    AUTO_BUF printed = {0};
    err e;
    if (clock_parse_rfc3339(text, &wall, &e) != 0)
        return;
    clock_rfc3339(&printed, wall, CLOCK_NANOS);
    if (clock_parse_rfc3339(buf_cstr(&printed), &again, &e) != 0 || again != wall)
        abort();
}

static void read_numbers(const char *text)
{
    int64_t n;
    double worth;
    AUTO_BUF shown = {0};
    err e;
    quantity_parse(text, &n, &e);
    quantity_parse_jvm(text, &n, &e);
    if (duration_parse(text, &n, &e) == 0) {
        duration_format(&shown, n);
        duration_age(&shown, n);
    }
    if (tablevalue_worth(text, &worth) && isnan(worth))
        abort();
    tablevalue_look(text);
}

static void read_line(const char *line, size_t n)
{
    int64_t stamp;
    size_t from;
    if (log_stamp(line, n, &stamp, &from) ? from > n : from != 0)
        abort();
    training *t = training_new();
    AUTO_JSON *event = training_line(line, n);
    if (event && training_event(t, event))
        cJSON_Delete(training_bundle(t));
    training_free(t);
}

// What a script prints while it trains, line by line.
static void read_script(const char *text)
{
    training *t = training_new();
    double now = 0;
    for (const char *at = text; *at; now++) {
        size_t length = strcspn(at, "\n");
        training_read_script(t, at, length, now);
        at += length + (at[length] != '\0');
    }
    cJSON_Delete(training_bundle(t));
    training_free(t);
}

static void read_event(const char *text)
{
    static const char *const keys[] = {"lastTimestamp", "eventTime", "firstTimestamp"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        AUTO_JSON *event = cJSON_CreateObject();
        json_set_str(event, keys[i], text);
        event_time(event);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_FREE char *text = mem_strndup((const char *)data, n);
    read_time(text);
    read_numbers(text);
    read_line((const char *)data, n);
    read_script(text);
    read_event(text);
    return 0;
}
