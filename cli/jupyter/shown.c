// SPDX-License-Identifier: MIT
#include "cli/jupyter/shown.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/spool.h"
#include "script/journal/text.h"
#include "script/report/export.h"

#include <string.h>

enum {
    PRINTED_MOST = 8 << 20, // bytes that a cell may print here; the journal has more
    RANGE_MOST = 1 << 20,   // of a spool, in one message
};

struct shown {
    peer *peer;
    const fold *fold;
    const char *run, *spool_dir;
    cJSON *works;   // {display_id: true}: long work that is shown
    cJSON *parents; // {cell: header of the request that ran it last}
    char *cell;     // that runs; NULL: none
    char *branch;   // of it, which has printed last; NULL: the cell itself
    char *result;   // the last result's text; NULL: none
    int64_t count;
    size_t printed;
    bool cut; // it has printed more than is shown
};

shown *shown_new(peer *p, const fold *f, const char *run, const char *spool_dir)
{
    shown *s = mem_alloc(sizeof *s);
    *s = (shown){.peer = p,
        .fold = f,
        .run = run,
        .spool_dir = spool_dir,
        .parents = cJSON_CreateObject(),
        .works = cJSON_CreateObject()};
    return s;
}

void shown_free(shown *s)
{
    if (!s)
        return;
    cJSON_Delete(s->parents);
    cJSON_Delete(s->works);
    free(s->cell);
    free(s->branch);
    free(s->result);
    free(s);
}

void shown_begin(shown *s, const char *id, const cJSON *header, int64_t count)
{
    free(s->cell);
    free(STEAL(s->branch));
    free(STEAL(s->result));
    s->cell = mem_strdup(id);
    s->count = count;
    s->printed = 0;
    s->cut = false;
    cJSON_DeleteItemFromObjectCaseSensitive(s->parents, id);
    if (header)
        json_set(s->parents, id, cJSON_Duplicate(header, true));
}

char *shown_end(shown *s)
{
    free(STEAL(s->cell));
    return STEAL(s->result);
}

static void show_text(shown *s, const cJSON *parent, const char *name, const char *text)
{
    cJSON *content = cJSON_CreateObject();
    json_set_str(content, "name", name);
    json_set_str(content, "text", text);
    peer_show(s->peer, parent, "stream", content);
}

void shown_warn(shown *s, const char *text)
{
    AUTO_FREE char *line = str_fmt("%s\n", text);
    const cJSON *parent = s->cell ? json_get(s->parents, s->cell) : NULL;
    if (parent)
        show_text(s, parent, "stderr", line);
}

// What a cell prints without end stays in the journal.
static bool passes(shown *s, const cJSON *parent, size_t n)
{
    s->printed += n;
    if (s->printed <= PRINTED_MOST)
        return true;
    if (!s->cut) {
        AUTO_FREE char *text =
            str_fmt("[the cell prints more than %d MiB; `firesteel show %s` has all of it]\n",
                PRINTED_MOST >> 20, s->run);
        show_text(s, parent, "stderr", text);
    }
    s->cut = true;
    return false;
}

// A range of a spool begins and ends between characters.
static void show_spooled(shown *s, const cJSON *parent, const cJSON *event)
{
    err e = {0};
    uint64_t from = (uint64_t)json_int_or(event, "from", 0),
             to = (uint64_t)json_int_or(event, "to", 0);
    spool *sp = spool_open(s->spool_dir, json_str_or(event, "spool", ""), &e);
    while (sp && from < to && passes(s, parent, 0)) {
        AUTO_BUF bytes = {0}, text = {0};
        uint64_t end = to - from > RANGE_MOST ? from + RANGE_MOST : to;
        if (spool_read(sp, from, end, &bytes, &e) < 0 || !bytes.len)
            break;
        if (end < to)
            bytes.len -= utf8_partial(bytes.data, bytes.len);
        from += bytes.len;
        utf8_clean(&text, buf_cstr(&bytes), bytes.len);
        if (passes(s, parent, bytes.len))
            show_text(s, parent, json_str_or(event, "name", "stdout"), buf_cstr(&text));
    }
    spool_close(sp);
    if (e.code)
        show_text(s, parent, "stderr", e.text);
}

// Outputs of a branch of the cell have a heading, as in a report.
static void head(shown *s, const cJSON *parent, const char *branch)
{
    if (str_eq(branch, s->branch))
        return;
    AUTO_BUF text = {0};
    output_branch_heading(branch ? branch : "", &text);
    show_text(s, parent, "stdout", buf_cstr(&text));
    free(s->branch);
    s->branch = mem_strdup(branch);
}

static void show_stream(shown *s, const cJSON *parent, const cJSON *event)
{
    const char *text = json_str(event, "text");
    head(s, parent, json_str(event, "branch"));
    if (!text)
        show_spooled(s, parent, event);
    else if (passes(s, parent, strlen(text)))
        show_text(s, parent, json_str_or(event, "name", "stdout"), text);
}

static cJSON *display_content(const shown *s, const struct output *o)
{
    cJSON *content = cJSON_CreateObject();
    AUTO_FREE char *id = str_fmt("%s-%lld", s->run, (long long)o->id);
    cJSON *metadata;
    json_set(content, "data", export_bundle(o, &metadata));
    json_set(content, "metadata", metadata);
    json_set_str(json_object_at(content, "transient"), "display_id", id);
    return content;
}

static void show_display(shown *s, const cJSON *parent, const struct output *o)
{
    cJSON *content = display_content(s, o);
    head(s, parent, o->branch);
    if (!o->result) {
        peer_show(s->peer, parent, "display_data", content);
        return;
    }
    free(s->result);
    s->result = mem_strdup(json_str(json_get(content, "data"), "text/plain"));
    if (!o->live)
        cJSON_DeleteItemFromObjectCaseSensitive(content, "transient");
    json_set_int(content, "execution_count", s->count);
    peer_show(s->peer, parent, "execute_result", content);
}

static void show_cleared(shown *s, const cJSON *parent)
{
    cJSON *content = cJSON_CreateObject();
    json_set_bool(content, "wait", false);
    peer_show(s->peer, parent, "clear_output", content);
}

// Long work is no output of the run. Here it has a line of its own, which in the end says what was
// done.
static void show_work(shown *s, const cJSON *parent, const cJSON *event)
{
    AUTO_FREE char *id = str_fmt("%s-work-%lld", s->run, (long long)json_int_or(event, "id", 0));
    AUTO_FREE char *text =
        str_fmt("%s: %s", json_str_or(event, "what", ""), json_str_or(event, "text", ""));
    bool known = json_get(s->works, id);
    cJSON *content = cJSON_CreateObject();
    json_set_str(json_object_at(content, "data"), "text/plain", text);
    json_object_at(content, "metadata");
    json_set_str(json_object_at(content, "transient"), "display_id", id);
    peer_show(s->peer, parent, known ? "update_display_data" : "display_data", content);
    if (json_bool_or(event, "ended", false))
        cJSON_DeleteItemFromObjectCaseSensitive(s->works, id);
    else if (!known)
        json_set_bool(s->works, id, true);
}

void shown_event(shown *s, message_type type, const cJSON *event)
{
    bool shows = type == MESSAGE_display || type == MESSAGE_update;
    int64_t number = shows ? json_int_or(event, "id", 0) : 0;
    const struct output *o = shows ? fold_display(s->fold, number) : NULL;
    const struct run_cell *of = o ? fold_display_cell(s->fold, number) : NULL;
    const char *id = of ? of->id : json_str(event, "cell");
    const cJSON *parent = id ? json_get(s->parents, id) : NULL;
    if (!parent || (shows && !o))
        return;
    if (type == MESSAGE_stream)
        show_stream(s, parent, event);
    else if (type == MESSAGE_display)
        show_display(s, parent, o);
    else if (type == MESSAGE_update)
        peer_show(s->peer, parent, "update_display_data", display_content(s, o));
    else if (type == MESSAGE_progress)
        show_work(s, parent, event);
    else if (type == MESSAGE_cleared && str_eq(id, s->cell))
        show_cleared(s, parent);
}
