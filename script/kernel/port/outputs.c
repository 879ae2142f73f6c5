// SPDX-License-Identifier: MIT
#include "script/kernel/port/outputs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/spool.h"
#include "script/protocol/message.h"

#include <string.h>

enum {
    INLINE_MAX = 60 << 10,  // the most text of a stream in events; the rest is spooled,
    LINE_REST = 4 << 10,    // except the rest of a line: a spool has whole lines
    CAPTURE_MAX = 16 << 20, // for a captured cell
    REFERENCE_MS = 100,     // the shortest time between two references
};

// One stream of one cell, or of a branch of it: bytes → mask → (captured | text events | spool).
struct sink {
    char *cell, *branch, name[8]; // branch NULL: none
    bool captured, failed;
    mask_stream mask;
    buf carry;    // the start of a UTF-8 sequence; of a branch: of a line
    size_t shown; // bytes in events so far
    bool in_line; // the text in events ends within a line
    spool *spool;
    uint64_t spooled, referred; // bytes in the spool; how many of them events refer to
    struct sink *next;
};

struct outputs {
    loop *loop;
    mask *mask;
    const struct outputs_ops *ops;
    void *arg;
    journal *journal;
    uint64_t next_spool;
    struct sink *sinks;
    buf capture;     // of the running cell, both streams in order
    size_t left_out; // bytes cut after the end of the capture
    loop_timer *timer;
    bool timing;
};

static void on_timer(void *arg)
{
    outputs_settle(arg);
}

outputs *outputs_new(loop *l, mask *m, const struct outputs_ops *ops, void *arg)
{
    outputs *o = mem_alloc(sizeof *o);
    *o = (outputs){.loop = l, .mask = m, .ops = ops, .arg = arg};
    o->timer = loop_timer_new(l, on_timer, o);
    return o;
}

static void sink_free(outputs *o, struct sink *s)
{
    mask_stream_done(&s->mask);
    buf_done(&s->carry);
    if (s->spool)
        spool_end(s->spool, journal_syncer(o->journal));
    free(s->cell);
    free(s->branch);
    free(s);
}

void outputs_free(outputs *o)
{
    while (o->sinks) {
        struct sink *s = o->sinks;
        o->sinks = s->next;
        sink_free(o, s);
    }
    loop_timer_free(o->timer);
    buf_done(&o->capture);
    free(o);
}

void outputs_place(outputs *o, journal *j, uint64_t first)
{
    o->journal = j;
    o->next_spool = first;
}

static cJSON *stream_event(const struct sink *s)
{
    cJSON *event = message_new(MESSAGE_stream);
    json_set_str(event, "cell", s->cell);
    json_set_str(event, "name", s->name);
    json_set_str(event, "branch", s->branch);
    return event;
}

// How many bytes of carry must wait: the start of a UTF-8 sequence; in a branch, the start of a
// line, because other branches print, too.
static size_t to_keep(const struct sink *s)
{
    const char *end = s->carry.len ? memrchr(s->carry.data, '\n', s->carry.len) : NULL;
    size_t line = s->carry.len - (end ? (size_t)(end + 1 - s->carry.data) : 0);
    return s->branch && line < LINE_REST ? line : utf8_partial(s->carry.data, s->carry.len);
}

// Emits the complete sequences in carry as text; with `all`, an incomplete one as U+FFFD.
static void emit_text(outputs *o, struct sink *s, bool all)
{
    size_t keep = all ? 0 : to_keep(s);
    size_t n = s->carry.len - keep;
    if (n == 0)
        return;
    AUTO_BUF text = {0};
    utf8_clean(&text, s->carry.data, n);
    s->in_line = s->carry.data[n - 1] != '\n';
    buf_consume(&s->carry, n);
    s->shown += n;
    cJSON *event = stream_event(s);
    json_set_str(event, "text", buf_cstr(&text));
    o->ops->emit(o->arg, event);
}

static void tell_spooled(outputs *o, struct sink *s)
{
    if (s->referred == s->spooled)
        return;
    cJSON *event = stream_event(s);
    json_set_str(event, "spool", spool_name(s->spool));
    json_set_int(event, "from", (int64_t)s->referred);
    json_set_int(event, "to", (int64_t)s->spooled);
    s->referred = s->spooled;
    o->ops->emit(o->arg, event);
}

// Says once why the rest of a stream is missing, also in the stream itself.
static void fail(outputs *o, struct sink *s, const err *e)
{
    s->failed = true;
    tell_spooled(o, s);
    buf_fmt(&s->carry, "\n[firesteel: the rest of this output is lost: %s]\n", e->text);
    emit_text(o, s, true);
    o->ops->lost(o->arg, e);
}

static void spool_bytes(outputs *o, struct sink *s, const char *bytes, size_t n)
{
    err e = {0};
    if (s->failed)
        return;
    if (!s->spool) {
        AUTO_FREE char *name = str_fmt("out-%llu-%s", (unsigned long long)o->next_spool++, s->name);
        s->spool = spool_create(journal_spool_dir(o->journal), name, &e);
        if (!s->spool) {
            fail(o, s, &e);
            return;
        }
        s->spooled = s->referred = spool_size(s->spool);
        size_t rest = s->carry.len;
        if (rest > 0 && spool_append(s->spool, s->carry.data, rest, clock_wall(), &e) == 0)
            s->spooled += rest;
        buf_clear(&s->carry);
    }
    if (spool_append(s->spool, bytes, n, clock_wall(), &e) < 0) {
        fail(o, s, &e);
        return;
    }
    s->spooled += n;
    if (!o->timing) {
        o->timing = true;
        loop_timer_start(o->timer, REFERENCE_MS, 0);
    }
}

// The length of the rest of a line whose start was in an event.
static size_t line_rest(const struct sink *s, const char *bytes, size_t n)
{
    const char *end = s->in_line ? memchr(bytes, '\n', n < LINE_REST ? n : LINE_REST) : NULL;
    return end ? (size_t)(end + 1 - bytes) : 0;
}

static void deliver(outputs *o, struct sink *s, const char *bytes, size_t n)
{
    if (s->captured) {
        size_t room = o->capture.len < CAPTURE_MAX ? CAPTURE_MAX - o->capture.len : 0;
        buf_add(&o->capture, bytes, n < room ? n : room);
        o->left_out += n < room ? 0 : n - room;
    } else if (s->spool || s->failed) {
        spool_bytes(o, s, bytes, n);
    } else if (s->shown + s->carry.len + n > INLINE_MAX) {
        size_t rest = line_rest(s, bytes, n);
        buf_add(&s->carry, bytes, rest);
        emit_text(o, s, rest > 0);
        if (n > rest)
            spool_bytes(o, s, bytes + rest, n - rest);
    } else {
        buf_add(&s->carry, bytes, n);
        emit_text(o, s, false);
    }
}

// Searches from the newest: branches end, and their sinks with them.
static struct sink *sink_of(outputs *o, const char *cell, const char *branch, const char *name)
{
    for (struct sink *s = o->sinks; s; s = s->next)
        if (str_eq(s->branch, branch) && str_eq(s->cell, cell) && str_eq(s->name, name))
            return s;
    bool captured = branch && sink_of(o, cell, NULL, name)->captured;
    struct sink *s = mem_alloc(sizeof *s);
    s->cell = mem_strdup(cell);
    s->branch = mem_strdup(branch);
    s->captured = captured;
    __builtin_strncpy(s->name, name, sizeof s->name - 1);
    mask_stream_init(&s->mask, o->mask);
    s->next = o->sinks;
    return o->sinks = s;
}

static void finish_sink(outputs *o, struct sink *s)
{
    AUTO_BUF rest = {0};
    mask_stream_flush(&s->mask, &rest);
    if (rest.len > 0)
        deliver(o, s, rest.data, rest.len);
    emit_text(o, s, true);
    if (s->spool)
        tell_spooled(o, s);
}

void outputs_begin(outputs *o, const char *cell, bool captured)
{
    outputs_end(o, cell, NULL);
    buf_clear(&o->capture);
    o->left_out = 0;
    sink_of(o, cell, NULL, "stdout")->captured = captured;
    sink_of(o, cell, NULL, "stderr")->captured = captured;
}

void outputs_text(
    outputs *o, const char *cell, const char *branch, const char *name, const char *bytes, size_t n)
{
    struct sink *s = sink_of(o, cell, branch, name);
    AUTO_BUF masked = {0};
    mask_stream_feed(&s->mask, bytes, n, &masked);
    if (masked.len > 0)
        deliver(o, s, masked.data, masked.len);
}

void outputs_settle(outputs *o)
{
    o->timing = false;
    loop_timer_stop(o->timer);
    for (struct sink *s = o->sinks; s; s = s->next)
        if (s->spool)
            tell_spooled(o, s);
}

static void tell_left_out(outputs *o, const char *cell)
{
    AUTO_FREE char *text =
        str_fmt("The capture holds the first %d MiB; %zu bytes after them are left out.\n",
            CAPTURE_MAX >> 20, o->left_out);
    outputs_text(o, cell, NULL, "stderr", text, strlen(text));
}

// branch NULL: all of the cell's.
static void end_sinks(outputs *o, const char *cell, const char *branch)
{
    for (struct sink **at = &o->sinks; *at;) {
        struct sink *s = *at;
        if (!str_eq(s->cell, cell) || (branch && !str_eq(s->branch, branch))) {
            at = &s->next;
            continue;
        }
        finish_sink(o, s);
        *at = s->next;
        sink_free(o, s);
    }
}

void outputs_end_branch(outputs *o, const char *cell, const char *branch)
{
    end_sinks(o, cell, branch);
}

void outputs_end(outputs *o, const char *cell, buf *captured)
{
    end_sinks(o, cell, NULL);
    if (captured)
        buf_add(captured, o->capture.data, o->capture.len);
    if (captured && o->left_out)
        tell_left_out(o, cell);
    buf_clear(&o->capture);
}
