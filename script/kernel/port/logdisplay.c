// SPDX-License-Identifier: MIT
#include "script/kernel/port/logdisplay.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/spool.h"

#include <string.h>

enum { LAST_LINES = 20, LAST_BYTES = 4 << 10 };

struct log_display {
    char *title, *note;
    const journal *journal;
    spool *spool;
    mask_stream mask;
    uint64_t from, spooled, lines; // a killed run may have left bytes before `from`
    buf last;                      // at least its last LAST_BYTES
    uint64_t most;                 // the most bytes that the spool may have; 0: any number
    uint64_t left_out;             // bytes left out since then
    bool failed, ended, folded;
};

log_display *log_display_new(
    const journal *j, int64_t number, const char *title, bool folded, mask *m, err *e)
{
    AUTO_FREE char *name = str_fmt("log-%lld", (long long)number);
    spool *s = spool_create(journal_spool_dir(j), name, e);
    if (!s)
        return NULL;
    log_display *l = mem_alloc(sizeof *l);
    *l = (log_display){.title = mem_strdup(title), .journal = j, .spool = s, .folded = folded};
    l->from = l->spooled = spool_size(s);
    mask_stream_init(&l->mask, m);
    return l;
}

static void log_display_done(log_display *l)
{
    mask_stream_done(&l->mask);
    buf_done(&l->last);
    free(l->title);
    free(l->note);
    free(l);
}

void log_display_free(log_display *l)
{
    if (!l)
        return;
    spool_end(l->spool, journal_syncer(l->journal));
    log_display_done(l);
}

void log_display_discard(log_display *l)
{
    if (!l)
        return;
    spool_discard(l->spool);
    log_display_done(l);
}

static void keep_last(log_display *l, const buf *more)
{
    size_t skip = more->len > LAST_BYTES ? more->len - LAST_BYTES : 0;
    buf_add(&l->last, more->data + skip, more->len - skip);
    if (l->last.len > 2 * LAST_BYTES)
        buf_consume(&l->last, l->last.len - LAST_BYTES);
}

static void deliver(log_display *l, const buf *masked)
{
    err e = {0};
    if (!masked->len || l->failed)
        return;
    if (l->left_out || (l->most && l->spooled + masked->len > l->most)) {
        l->left_out += masked->len;
        return;
    }
    if (spool_append(l->spool, masked->data, masked->len, clock_wall(), &e) < 0) {
        AUTO_FREE char *note = str_fmt("the rest of this log is lost: %s", e.text);
        log_display_note(l, note);
        l->failed = true;
        return;
    }
    l->spooled += masked->len;
    for (size_t i = 0; i < masked->len; i++)
        l->lines += masked->data[i] == '\n';
    keep_last(l, masked);
}

void log_display_add(log_display *l, const char *bytes, size_t n)
{
    AUTO_BUF masked = {0};
    mask_stream_feed(&l->mask, bytes, n, &masked);
    deliver(l, &masked);
}

static void say_left_out(log_display *l)
{
    AUTO_BUF line = {0};
    uint64_t bytes = l->left_out;
    if (!bytes)
        return;
    l->left_out = 0;
    buf_fmt(
        &line, "… %.1f MB of this log were not kept: nobody was there …\n", (double)bytes / 1e6);
    deliver(l, &line);
}

void log_display_limit(log_display *l, uint64_t more)
{
    l->most = 0;
    say_left_out(l);
    l->most = more ? l->spooled + more : 0;
}

void log_display_note(log_display *l, const char *note)
{
    free(l->note);
    l->note = mem_strdup(note);
}

void log_display_end(log_display *l)
{
    AUTO_BUF masked = {0};
    mask_stream_flush(&l->mask, &masked);
    deliver(l, &masked);
    log_display_limit(l, 0);
    l->ended = true;
}

// Where the last whole lines begin that are few enough to show.
static const char *last_lines(const log_display *l)
{
    const char *start = l->last.data, *at = start + l->last.len;
    size_t lines = 0;
    while (at > start && (at[-1] != '\n' || lines++ < LAST_LINES))
        at--;
    if (at == start &&
        l->spooled - l->from > l->last.len) { // the first line is only the end of a longer one
        const char *newline = memchr(at, '\n', l->last.len);
        at = newline ? newline + 1 : at;
    }
    return at;
}

char *log_display_file(const log_display *l)
{
    return str_fmt("%s/%s", journal_spool_dir(l->journal), spool_name(l->spool));
}

cJSON *log_display_bundle(const log_display *l)
{
    AUTO_BUF raw = {0}, text = {0};
    buf_fmt(&raw, "%s: %llu lines", l->title, (unsigned long long)l->lines);
    buf_fmt(&raw, l->note ? " (%s)\n" : "\n", l->note);
    if (l->ended && l->last.len && !l->folded) {
        const char *from = last_lines(l);
        buf_add(&raw, from, (size_t)(l->last.data + l->last.len - from));
    }
    utf8_clean(&text, raw.data, raw.len);
    cJSON *data = cJSON_CreateObject();
    json_set_str(data, "text/plain", buf_cstr(&text));
    cJSON *log = json_object_at(data, "application/vnd.firesteel.log+json");
    json_set_str(log, "title", l->title);
    json_set_str(log, "spool", spool_name(l->spool));
    json_set_int(log, "from", (int64_t)l->from);
    json_set_int(log, "to", (int64_t)l->spooled);
    json_set_str(log, "note", l->note);
    if (l->folded) {
        json_set_bool(log, "folded", true);
        json_set_int(log, "lines", (int64_t)l->lines);
    }
    return data;
}
