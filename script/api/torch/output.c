// SPDX-License-Identifier: MIT
#include "script/api/torch/output.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

static void say(struct torch_output *o, const char *stream, const char *text, size_t n)
{
    call_output(o->reports.call, stream, text, n);
    kept_add(&o->shown, text, n);
}

// Of the ranks of an attempt the one that failed first has the cause; the others lost their peer.
static void on_event(void *arg, const cJSON *event)
{
    struct torch_output *o = arg;
    if (!str_eq(json_str(event, "event"), "failed"))
        return;
    const cJSON *when = json_get(event, "at");
    double at = cJSON_IsNumber(when) ? when->valuedouble : 0;
    const char *why = json_str_or(event, "why", "has failed");
    int attempt = (int)json_int_or(event, "attempt", 0) + 1;
    AUTO_FREE char *failed =
        str_fmt("rank %lld %s", (long long)json_int_or(event, "rank", 0), str_short(why, 600).text);
    if (attempt > o->attempts && json_bool_or(event, "again", false)) {
        AUTO_FREE char *line = str_fmt("%s: all ranks are started again\n", failed);
        say(o, "stderr", line, strlen(line));
    }
    o->lost |= !json_bool_or(event, "again", false);
    if (attempt > o->attempts || (attempt == o->attempts && at < o->at)) {
        free(o->failed);
        o->failed = STEAL(failed);
        o->at = at;
        o->attempts = attempt;
    }
}

void torch_output_open(struct torch_output *o, call *c)
{
    o->reports =
        (struct reports){.call = c, .training = training_new(), .other = on_event, .arg = o};
    o->shown.most = KEPT_DATA;
}

void torch_output_line(struct torch_output *o, const char *stream, const char *line, size_t n)
{
    AUTO_BUF text = {0};
    AUTO_JSON *event = training_line(line, n);
    if (event) {
        reports_event(&o->reports, event);
        return;
    }
    if (reports_line(&o->reports, line, n) == SAID_PASSING)
        return;
    buf_add(&text, line, n);
    buf_char(&text, '\n');
    say(o, stream, text.data, text.len);
}

void torch_output_bytes(struct torch_output *o, int fd, const char *bytes, size_t n)
{
    buf *rest = &o->rest[fd];
    const char *stream = fd == 2 ? "stderr" : "stdout";
    buf_add(rest, bytes, n);
    for (char *newline; rest->len && (newline = memchr(rest->data, '\n', rest->len));) {
        size_t length = (size_t)(newline - rest->data);
        torch_output_line(o, stream, rest->data, length);
        buf_consume(rest, length + 1);
    }
}

void torch_output_close(struct torch_output *o, cJSON *result)
{
    AUTO_BUF output = {0};
    for (int fd = 1; fd <= 2; fd++) {
        if (o->rest[fd].len)
            torch_output_line(o, fd == 2 ? "stderr" : "stdout", o->rest[fd].data, o->rest[fd].len);
        buf_done(&o->rest[fd]);
    }
    reports_close(&o->reports);
    uint64_t left_out = kept_take(&o->shown, &output);
    if (result) {
        call_said(result, "output", buf_cstr(&output), left_out);
        json_set(result, "metrics", cJSON_Duplicate(training_metrics(o->reports.training), true));
        json_set(result, "history", cJSON_Duplicate(training_history(o->reports.training), true));
        json_set_int(result, "restarts", o->attempts);
    }
    reports_done(&o->reports);
    free(STEAL(o->failed));
}
