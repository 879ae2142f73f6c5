// SPDX-License-Identifier: MIT
#include "script/report/page/page.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/origin.h"

#include <string.h>

// A list or a table of the record as words: "lua 5.4, cjson 1.7.15".
static void words(const cJSON *value, buf *out)
{
    const cJSON *v;
    if (cJSON_IsString(value)) {
        buf_str(out, value->valuestring);
    } else if (cJSON_IsBool(value)) {
        buf_str(out, cJSON_IsTrue(value) ? "yes" : "no");
    } else if (cJSON_IsArray(value) || cJSON_IsObject(value)) {
        cJSON_ArrayForEach(v, value)
        {
            buf_fmt(out, "%s%s%s", v == value->child ? "" : ", ",
                v->string && cJSON_IsObject(value) ? v->string : "",
                cJSON_IsObject(value) ? " " : "");
            words(v, out);
        }
    } else {
        json_print(out, value);
    }
}

static void tell(cJSON *record, const char *name, const cJSON *value)
{
    AUTO_BUF text = {0};
    if (!value || cJSON_IsNull(value))
        return;
    words(value, &text);
    if (text.len)
        json_set_str(record, name, buf_cstr(&text));
}

static void tell_times(cJSON *record, const fold *f)
{
    AUTO_BUF when = {0}, took = {0};
    clock_rfc3339(&when, fold_started(f), CLOCK_SECONDS);
    duration_format(&took, fold_duration(f));
    buf_str(&took, fold_state(f) == RUN_KILLED ? " or more" : "");
    json_set_str(record, "started", buf_cstr(&when));
    json_set_str(record, "took", buf_cstr(&took));
}

// All other fields of the record that are meant for people, including future ones.
static void tell_rest(cJSON *record, const cJSON *first)
{
    static const char *const other[] = {"type", "seq", "wall", "mono", "format", "run", "path",
        "notebook", "cells", "parameters", "given", "salt", "pid", "headless", "unsaved", "command",
        "allow", "seed", "git", "machine", "environment", "versions", "from", "sandbox"};
    const cJSON *v;
    cJSON_ArrayForEach(v, first)
    {
        bool known = json_get(record, v->string) || (cJSON_IsBool(v) && !cJSON_IsTrue(v));
        for (size_t i = 0; i < ARRAY_LEN(other) && !known; i++)
            known = str_eq(v->string, other[i]);
        if (!known)
            tell(record, v->string, v);
    }
}

static void tell_origin(cJSON *record, const fold *f)
{
    AUTO_JSON *lines = origin_lines(f);
    const cJSON *name, *line;
    cJSON_ArrayForEach(name, lines)
    {
        AUTO_BUF text = {0};
        cJSON_ArrayForEach(line, name)
            buf_fmt(&text, "%s%s", text.len ? ", " : "", line->valuestring);
        json_set_str(record, name->string, buf_cstr(&text));
    }
}

cJSON *page_record(const fold *f)
{
    cJSON *record = cJSON_CreateObject();
    const cJSON *first = fold_first(f), *last = fold_last_start(f), *cluster = fold_cluster(f);
    json_set_str(record, "run", fold_run(f));
    tell_times(record, f);
    tell(record, "notebook", json_get(first, "path"));
    tell(record, "host", json_get(last, "host"));
    tell(record, "user", json_get(first, "user"));
    tell(record, "cluster", json_get(cluster, "context"));
    if (json_bool_or(cluster, "sandbox", false))
        json_set_str(record, "cluster", "a private sandbox");
    tell(record, "namespace", json_get(cluster, "namespace"));
    tell(record, "server", json_get(cluster, "server"));
    tell_origin(record, f);
    tell_rest(record, first);
    return record;
}

// A heading without the marks of Markdown.
static char *plain(const char *heading)
{
    buf text = {0};
    size_t n = strcspn(heading, "\n");
    for (size_t i = 0; i < n; i++)
        if (!strchr("*`", heading[i]))
            buf_char(&text, heading[i]);
    char *trimmed = str_trim(buf_cstr(&text), text.len);
    buf_done(&text);
    return trimmed;
}

char *page_title(const fold *f)
{
    const notebook *nb = fold_notebook(f);
    for (size_t i = 0; i < notebook_count(nb); i++) {
        const cell *c = notebook_cell(nb, i);
        if (c->kind == CELL_MARKDOWN && str_starts(c->source, "# "))
            return plain(c->source + 2);
        if (c->kind == CELL_CODE)
            break;
    }
    return path_basename(json_str_or(fold_first(f), "path", "notebook"));
}

bool page_is_begun(const struct run_cell *c)
{
    // A cell that was cancelled in the queue took no time.
    return c->state == STATE_RUNNING ||
           (c->state == STATE_CANCELLED && c->mono_end > c->mono_start);
}

const char *page_begun(const fold *f)
{
    enum run_state state = fold_state(f);
    return state == RUN_RUNNING || state == RUN_KILLED ? run_state_name(state) : "interrupted";
}

char *page_count(const fold *f)
{
    size_t ok = 0, failed = 0, begun = 0, all = 0;
    const notebook *nb = fold_notebook(f);
    for (size_t i = 0; i < notebook_count(nb); i++) {
        const struct run_cell *c = fold_cell_by_id(f, notebook_cell(nb, i)->id, NULL);
        if (!notebook_counts(nb, i))
            continue;
        all++;
        ok += c && c->state == STATE_OK;
        failed += c && c->state == STATE_FAILED;
        begun += c && page_is_begun(c);
    }
    size_t rest = all - ok - failed - begun;
    buf text = {0};
    buf_fmt(&text, "%zu of %zu cell%s passed", ok, all, all == 1 ? "" : "s");
    if (failed)
        buf_fmt(&text, ", %zu failed", failed);
    if (begun)
        buf_fmt(&text, ", %zu %s", begun, page_begun(f));
    if (rest)
        buf_fmt(&text, ", %zu %s", rest, fold_state(f) == RUN_RUNNING ? "to come" : "not run");
    return buf_take(&text);
}

const char *page_cell_state(const fold *f, size_t i)
{
    const struct run_cell *c = fold_cell_by_id(f, notebook_cell(fold_notebook(f), i)->id, NULL);
    bool goes_on = fold_state(f) == RUN_RUNNING;
    if (c && c->state == STATE_RUNNING && !goes_on)
        return run_state_name(RUN_KILLED);
    if (c && page_left_out(f, c->id)) // it may have run before
        return "not run";
    return c && (c->started || goes_on) ? cell_state_name(c->state) : "not run";
}

const char *page_left_out(const fold *f, const char *id)
{
    const struct run_cell *c = fold_cell_by_id(f, id, NULL);
    size_t i;
    bool reached = c && (c->started || (json_bool_or(fold_first(f), "headless", false) &&
                                           fold_state(f) != RUN_RUNNING));
    if (!reached || c->state != STATE_IDLE || !notebook_find(fold_notebook(f), id, &i))
        return NULL;
    return notebook_cell(fold_notebook(f), i)->options.when;
}

const char *page_reason(const fold *f)
{
    return fold_error(f)                  ? fold_error(f)->text
           : fold_message(f)              ? fold_message(f)
           : fold_state(f) == RUN_KILLED  ? "the run was killed: its journal has no end"
           : fold_state(f) == RUN_RUNNING ? "the run goes on"
                                          : NULL;
}
