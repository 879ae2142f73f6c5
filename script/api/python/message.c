// SPDX-License-Identifier: MIT
#include "script/api/python/message.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/api/python/asked.h"
#include "script/api/python/cell.h"

#include <stdlib.h>
#include <string.h>

#define NO_STDIN "StdinNotImplementedError" // IPython's, when a question cannot be asked

enum { LATE_MOST = 1 << 16 }; // bytes that are kept of what is printed between two cells

// Displays.

static void shown_free(struct shown *one)
{
    struct shown **at = &one->session->shown;
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    display_close(one->display, NULL);
    free(one->name);
    free(one);
}

void message_drop(struct session *s)
{
    while (s->shown)
        shown_free(s->shown);
}

static void on_shown_end(void *arg)
{
    shown_free(arg);
}

static void show_named(struct run *r, const char *name, cJSON *data)
{
    struct shown *one = mem_alloc(sizeof *one);
    *one = (struct shown){.name = mem_strdup(name),
        .display = call_display(r->call, data, true),
        .session = r->session,
        .next = r->session->shown};
    r->session->shown = one;
    display_on_end(one->display, on_shown_end, NULL, one);
    display_on_drain(one->display, on_shown_end, one, false);
}

static cJSON *bundle_of(const cJSON *content)
{
    return call_bundle(json_get(content, "data"), json_get(content, "metadata"));
}

static void take_display(struct run *r, cJSON *content)
{
    const char *name = json_path_str(content, "transient.display_id");
    cJSON *data = bundle_of(content);
    if (name)
        show_named(r, name, data);
    else
        call_display(r->call, data, false);
}

static void take_update(struct session *s, cJSON *content)
{
    const char *name = json_path_str(content, "transient.display_id");
    for (struct shown *one = s->shown; one; one = one->next)
        if (str_eq(one->name, name))
            display_replace(one->display, bundle_of(content));
}

// What the kernel says of a cell.

static void take_stream(struct run *r, cJSON *content)
{
    const char *text = json_str_or(content, "text", "");
    bool bad = str_eq(json_str(content, "name"), "stderr");
    call_output(r->call, bad ? "stderr" : "stdout", text, strlen(text));
}

static void take_result(struct run *r, cJSON *content)
{
    call_result(r->call, bundle_of(content));
}

// What cannot be asked: ipykernel's words are about frontends, and its last two frames its own.
static void explain_no_stdin(cJSON *error)
{
    cJSON *trace = json_array_at(error, "traceback");
    json_set_str(error, "message",
        "nobody can be asked in a headless run: make it a variable, or run the notebook in the "
        "workbench");
    for (int i = 0, n = cJSON_GetArraySize(trace); i < 2 && n > 2; i++)
        cJSON_DeleteItemFromArray(trace, --n);
}

static void take_error(struct run *r, cJSON *content)
{
    const char *name = json_str_or(content, "ename", "");
    const cJSON *trace = json_get(content, "traceback");
    cJSON_Delete(r->error);
    r->error = cJSON_CreateObject();
    json_set_str(r->error, "name", *name ? name : "error");
    json_set_str(r->error, "message", json_str_or(content, "evalue", ""));
    json_set(r->error, "traceback",
        cJSON_IsArray(trace) ? cJSON_Duplicate(trace, true) : cJSON_CreateArray());
    if (str_eq(name, NO_STDIN) && call_is_headless(r->call))
        explain_no_stdin(r->error);
}

static void take_status(struct run *r, cJSON *content)
{
    r->idle = r->idle || str_eq(json_str(content, "execution_state"), "idle");
    run_wake_if_over(r);
}

static void take_clear(struct run *r, cJSON *content)
{
    r->session->clears = json_bool_or(content, "wait", false);
    if (!r->session->clears)
        call_clear(r->call);
}

// IPython's pager: `name?`
static void take_pages(struct run *r, const cJSON *payload)
{
    const cJSON *part;
    cJSON_ArrayForEach(part, payload)
    {
        const char *text = str_eq(json_str(part, "source"), "page")
                               ? json_str(json_get(part, "data"), "text/plain")
                               : NULL;
        if (!text)
            continue;
        call_output(r->call, "stdout", text, strlen(text));
        call_output(r->call, "stdout", "\n", 1);
    }
}

static void take_reply(struct run *r, cJSON *content)
{
    const char *status = json_str_or(content, "status", "ok");
    take_pages(r, json_get(content, "payload"));
    cJSON *value = (cJSON *)json_path(content, "user_expressions.value");
    if (!str_eq(status, "ok") && !r->error)
        take_error(r, content); // it said nothing on iopub
    else if (value && r->expression && !str_eq(json_str(value, "status"), "ok"))
        take_error(r, value);
    else if (value)
        r->value = cJSON_Duplicate(json_get(json_get(value, "data"), "application/json"), true);
    r->replied = true;
    run_wake_if_over(r);
}

static void take_question(struct run *r, cJSON *content)
{
    free(r->question);
    r->question = mem_strdup(json_str_or(content, "prompt", ""));
    r->secret = json_bool_or(content, "password", false);
    run_wake(r);
}

static const struct {
    const char *channel, *type;
    void (*take)(struct run *r, cJSON *content);
    bool output; // clear_output may wait for it
} messages[] = {
    {"iopub", "stream", take_stream, true},
    {"iopub", "display_data", take_display, true},
    {"iopub", "execute_result", take_result, true},
    {"iopub", "error", take_error, true},
    {"iopub", "status", take_status},
    {"iopub", "clear_output", take_clear},
    {"shell", "execute_reply", take_reply},
    {"stdin", "input_request", take_question},
};

static void take_of_run(struct run *r, const char *channel, const char *type, cJSON *content)
{
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        if (!str_eq(messages[i].type, type) || !str_eq(messages[i].channel, channel))
            continue;
        if (messages[i].output && r->session->clears)
            call_clear(r->call);
        r->session->clears = r->session->clears && !messages[i].output;
        messages[i].take(r, content);
        return;
    }
}

// Of no cell that runs: of a thread that an earlier one has left.
static void take_late(struct session *s, const char *type, cJSON *content)
{
    const char *text = json_str_or(content, "text", "");
    bool is_stream = str_eq(type, "stream");
    if (!is_stream && !str_eq(type, "display_data"))
        return;
    if (s->run && *s->run->id)
        (is_stream ? take_stream : take_display)(s->run, content);
    else if (is_stream && s->late.len < LATE_MOST)
        buf_str(&s->late, str_short(text, STR_SHORT).text);
}

void message_take(struct session *s, const cJSON *line)
{
    const char *type = json_str_or(line, "type", ""), *parent = json_str_or(line, "parent", "");
    cJSON *content = (cJSON *)json_get(line, "content");
    if (asked_take(s, line))
        return;
    if (str_eq(type, "update_display_data"))
        take_update(s, content);
    else if (s->run && *s->run->id && str_eq(s->run->id, parent))
        take_of_run(s->run, json_str_or(line, "channel", ""), type, content);
    else
        take_late(s, type, content);
}
