// SPDX-License-Identifier: MIT
#include "k8s/client/describe/describestate.h"

#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/events.h"
#include "k8s/client/state/sick.h"
#include "k8s/client/state/state.h"

#include <string.h>

static void line(buf *out, const char *heading, const char *text)
{
    if (text && *text)
        buf_fmt(out, "%-14s%s\n", heading, text);
}

static cJSON *new_table(const char *const *columns, size_t n)
{
    cJSON *table = cJSON_CreateObject();
    json_set(table, "columns", cJSON_CreateStringArray(columns, (int)n));
    json_set_str(table, "order", TABLETEXT_SICK);
    json_array_at(table, "rows");
    return table;
}

static void add_row(cJSON *table, int sick, const char *const *texts, size_t n)
{
    cJSON *row = cJSON_CreateObject(), *cells = json_array_at(row, "cells");
    json_set_int(row, "sick", sick);
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *one = mem_strndup(texts[i], strcspn(texts[i], "\r\n"));
        cJSON_AddItemToArray(cells, cJSON_CreateString(one));
    }
    cJSON_AddItemToArray(json_array_at(table, "rows"), row);
}

static void print_table(buf *out, const char *heading, const cJSON *table)
{
    AUTO_BUF text = {0};
    if (!json_get(table, "rows")->child)
        return;
    tabletext_print(table, 0, &text);
    buf_fmt(out, "%s\n", heading);
    for (const char *at = buf_cstr(&text), *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        buf_fmt(out, "  %.*s\n", (int)(end - at), at);
    }
}

// "exit 137 OOMKilled, 5m ago", "signal 9"; of a container that waits its reason.
static void end_text(const cJSON *ended, int64_t now, buf *out)
{
    int64_t at;
    if (!ended)
        return;
    container_end(ended, out);
    if (clock_parse_rfc3339(json_str_or(ended, "finishedAt", ""), &at, NULL) == 0) {
        buf_str(out, ", ");
        duration_age(out, now > at ? now - at : 0);
        buf_str(out, " ago");
    }
}

static void state_text(const cJSON *status, int64_t now, buf *out)
{
    const cJSON *waiting = json_path(status, "state.waiting");
    const cJSON *running = json_path(status, "state.running");
    int64_t at;
    if (waiting) {
        buf_fmt(out, "waiting: %s", json_str_or(waiting, "reason", "?"));
    } else if (running) {
        buf_str(out, "running");
        if (clock_parse_rfc3339(json_str_or(running, "startedAt", ""), &at, NULL) == 0) {
            buf_str(out, " for ");
            duration_age(out, now > at ? now - at : 0);
        }
    } else {
        end_text(json_path(status, "state.terminated"), now, out);
    }
}

static void add_container(cJSON *table, const cJSON *status, bool init, int64_t now)
{
    AUTO_BUF state = {0}, last = {0}, restarts = {0};
    state_text(status, now, &state);
    end_text(json_path(status, "lastState.terminated"), now, &last);
    buf_fmt(&restarts, "%lld", (long long)json_int_or(status, "restartCount", 0));
    bool ready = json_bool_or(status, "ready", false);
    bool done = json_int_or(json_path(status, "state.terminated"), "exitCode", 1) == 0;
    AUTO_FREE char *name = str_fmt("%s%s", json_str_or(status, "name", ""), init ? " (init)" : "");
    add_row(table, !ready && !done,
        (const char *const[]){
            name, buf_cstr(&state), ready ? "yes" : "no", buf_cstr(&restarts), buf_cstr(&last)},
        5);
}

static void containers(buf *out, const cJSON *pod, int64_t now)
{
    AUTO_JSON *table =
        new_table((const char *const[]){"NAME", "STATE", "READY", "RESTARTS", "LAST END"}, 5);
    const cJSON *s;
    cJSON_ArrayForEach(s, json_path(pod, "status.initContainerStatuses"))
    {
        add_container(table, s, true, now);
    }
    cJSON_ArrayForEach(s, json_path(pod, "status.containerStatuses"))
    {
        add_container(table, s, false, now);
    }
    print_table(out, "Containers:", table);
}

// Of most conditions True is good; of these it is bad. Of some neither says anything.
static bool is_wrong(const cJSON *condition)
{
    static const char *const bad[] = {"Failed", "FailureTarget", "MemoryPressure", "DiskPressure",
        "PIDPressure", "NetworkUnavailable", "ReplicaFailure", "Degraded", "Stalled",
        "DisruptionTarget"};
    static const char *const neither[] = {"Complete", "Suspended", "SuccessCriteriaMet",
        "Succeeded", "Running", "Created", "Restarting"};
    const char *type = json_str_or(condition, "type", "");
    bool is_true = str_eq(json_str(condition, "status"), "True");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (str_eq(type, bad[i]))
            return is_true;
    for (size_t i = 0; i < ARRAY_LEN(neither); i++)
        if (str_eq(type, neither[i]))
            return false;
    return !is_true;
}

// Those that are wrong, with what kubectl leaves out: since when, and why.
static void conditions(buf *out, const cJSON *object, int64_t now)
{
    AUTO_JSON *table =
        new_table((const char *const[]){"TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"}, 5);
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(object, "status.conditions"))
    {
        int64_t at;
        AUTO_BUF since = {0};
        if (!is_wrong(c))
            continue;
        if (clock_parse_rfc3339(json_str_or(c, "lastTransitionTime", ""), &at, NULL) == 0)
            duration_age(&since, now > at ? now - at : 0);
        add_row(table, 1,
            (const char *const[]){json_str_or(c, "type", ""), json_str_or(c, "status", ""),
                buf_cstr(&since), json_str_or(c, "reason", ""), json_str_or(c, "message", "")},
            5);
    }
    print_table(out, "Not as it should be:", table);
}

static void last_warning(buf *out, const cJSON *events, int64_t now)
{
    const cJSON *e, *last = NULL;
    cJSON_ArrayForEach(e, events)
    {
        if (str_eq(json_str(e, "type"), "Warning"))
            last = e;
    }
    if (!last)
        return;
    const char *message = json_str_or(last, "message", "");
    int64_t at = event_time(last);
    buf_fmt(out, "%-14s%s", "Last warning:", json_str_or(last, "reason", ""));
    if (at) {
        buf_str(out, ", ");
        duration_age(out, now > at ? now - at : 0);
        buf_str(out, " ago");
    }
    buf_fmt(out, ": %.*s\n", (int)strcspn(message, "\r\n"), message);
}

void describe_state(buf *out, const cJSON *object, const cJSON *events, int64_t now)
{
    AUTO_BUF why = {0};
    object_sick(object, now, &why);
    line(out, "Status:", state_of(object).text);
    line(out, "Why:", buf_cstr(&why));
    last_warning(out, events, now);
    if (str_eq(json_str(object, "kind"), "Pod"))
        containers(out, object, now);
    conditions(out, object, now);
}
