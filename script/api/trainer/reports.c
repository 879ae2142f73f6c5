// SPDX-License-Identifier: MIT
#include "script/api/trainer/reports.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/str.h"

#include <string.h>

enum { LINE_MAX = 1 << 20 };

static void note_version(call *c, const cJSON *event)
{
    cJSON *version = cJSON_Duplicate(event, true);
    cJSON_DeleteItemFromObjectCaseSensitive(version, "event");
    call_recorded(c, "version", "worker", version);
}

// the display is as the training is now
static void reports_show(struct reports *r)
{
    cJSON *data = training_bundle(r->training);
    if (r->display)
        display_replace(r->display, data);
    else
        r->display = call_display(r->call, data, true);
}

static void note_read(const struct reports *r, const cJSON *event)
{
    const char *path = json_str(event, "path"), *digest = json_str(event, "sha256");
    int64_t changed = json_int_or(event, "mtime", 0);
    if (!path || changed >= r->began)
        return;
    cJSON *input = cJSON_CreateObject();
    json_set_int(input, "size", json_int_or(event, "size", 0));
    if (digest) {
        json_set_str(input, "sha256", digest);
    } else {
        AUTO_BUF date = {0};
        clock_rfc3339(&date, changed, CLOCK_SECONDS);
        json_set_str(input, "mtime", buf_cstr(&date));
    }
    call_recorded(r->call, "input", path, input);
}

void reports_event(struct reports *r, const cJSON *event)
{
    if (str_eq(json_str(event, "event"), "worker"))
        note_version(r->call, event);
    if (str_eq(json_str(event, "event"), "read"))
        note_read(r, event);
    if (training_event(r->training, event))
        reports_show(r);
    else if (r->other)
        r->other(r->arg, event);
}

void reports_bytes(void *reports, const char *bytes, size_t n)
{
    struct reports *r = reports;
    buf_add(&r->line, bytes, n);
    for (char *newline; r->line.len && (newline = memchr(r->line.data, '\n', r->line.len));) {
        size_t length = (size_t)(newline - r->line.data);
        AUTO_JSON *event = json_parse(r->line.data, length, NULL);
        if (cJSON_IsObject(event))
            reports_event(r, event);
        buf_consume(&r->line, length + 1);
    }
    if (r->line.len > LINE_MAX) // no worker of ours writes such lines
        buf_clear(&r->line);
}

enum training_said reports_line(struct reports *r, const char *line, size_t n)
{
    double now = (double)clock_mono() / (double)CLOCK_SEC;
    enum training_said said = training_read_script(r->training, line, n, now);
    if (said != SAID_NOTHING && training_is_told(r->training))
        reports_show(r);
    return said;
}

void reports_close(struct reports *r)
{
    if (r->display)
        display_close(STEAL(r->display), training_bundle(r->training));
}

void reports_done(struct reports *r)
{
    buf_done(&r->line);
    training_free(STEAL(r->training));
}

char **reports_environment(call *c, int64_t np, const cJSON *extra)
{
    char **env = strv_dup(call_env(c));
    AUTO_FREE char *ranks = str_fmt("%lld", (long long)np);
    env = env_set(env, "FIRESTEEL_EVENTS", "3");
    env = env_set(env, "FIRESTEEL_NP", ranks);
    for (const cJSON *v = extra ? extra->child : NULL; v; v = v->next)
        if (cJSON_IsString(v))
            env = env_set(env, v->string, v->valuestring);
    return env;
}

char *reports_last_words(const char *output)
{
    static const char name[] = "firesteel-worker: ";
    const char *said = NULL;
    for (const char *at = output; (at = strstr(at, name)); at += sizeof name - 1)
        said = at + sizeof name - 1;
    return said && *said ? mem_strndup(said, strcspn(said, "\n")) : NULL;
}
