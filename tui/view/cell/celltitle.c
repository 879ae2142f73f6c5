// SPDX-License-Identifier: MIT
// The title line of a cell: on the left its state and name, on the right its kind and the result of
// its run.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/questions.h"
#include "tui/view/cell/cellview.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static bool is_live(const struct run_cell *r)
{
    for (size_t i = 0; i < r->n_outputs; i++)
        if (r->outputs[i].live)
            return true;
    return false;
}

// [?]: it waits for an answer; [*] bright: it runs; dim: it waits for its turn.
static style state_text(bench *b, size_t i, char *out, size_t size)
{
    const struct run_cell *r = slot_run(b, i);
    bool runs = r && r->state == STATE_RUNNING,
         asks = runs && question_of_cell(b, slot_id(slot_at(b, i)));
    if (runs || (r && r->state == STATE_QUEUED)) {
        snprintf(out, size, asks ? "[?]" : "[*]");
        return runs ? style_over(LOOK_WARN, LOOK_BOLD) : LOOK_DIM;
    }
    if (r && is_live(r)) {
        snprintf(out, size, "[●]");
        return LOOK_ACCENT;
    }
    struct slot_past past;
    const struct run_cell *was = slot_outputs(b, i, &past);
    if (was && past.run) {
        AUTO_FREE char *count = was->count > 0 ? str_fmt("%ld", was->count) : mem_strdup(" ");
        snprintf(out, size, "[%s%s]", count, slot_stale(b, i) ? "~" : "");
        return LOOK_DIM;
    }
    if (!r || r->count == 0) {
        snprintf(out, size, "[ ]");
        return LOOK_DIM;
    }
    snprintf(out, size, "[%ld%s]", r->count, slot_stale(b, i) ? "~" : "");
    return r->state == STATE_FAILED ? LOOK_ERROR : LOOK_GOOD;
}

static void add_elapsed(const struct run_cell *r, int64_t now, buf *out)
{
    int64_t seconds = (now - r->started) / CLOCK_SEC;
    if (seconds < 1)
        buf_str(out, "0s");
    else
        duration_format(out, seconds * CLOCK_SEC);
    buf_str(out, "  ");
}

// "14:03, run 7f3a, 2 days ago"; where there is little room only how long ago.
static void add_when(const struct run_cell *r, const char *run, int room, buf *out)
{
    enum { HASH = 4, WITH_RUN = 34, WITH_TIME = 22 };
    room -= (int)out->len;
    size_t n = strlen(run);
    time_t at = (time_t)((r->ended ? r->ended : r->started) / CLOCK_SEC);
    struct tm tm;
    char when[16];
    strftime(when, sizeof when, "%H:%M", localtime_r(&at, &tm));
    if (room >= WITH_TIME)
        buf_fmt(out, "%s, ", when);
    if (room >= WITH_RUN && str_eq(run, FROM_FILE))
        buf_str(out, "from the file, ");
    else if (room >= WITH_RUN)
        buf_fmt(out, "run %s, ", n > HASH ? run + n - HASH : run);
    duration_ago(out, clock_wall() - (int64_t)at * CLOCK_SEC);
    buf_str(out, "  ");
}

// What the cell is: file, language, effects, tags.
static void add_kind(const cell *c, buf *out)
{
    const char *file = c->options.file ? c->options.file : c->options.template_;
    if (c->problem)
        buf_fmt(out, "%s  ", c->problem);
    if (c->kind == CELL_RAW)
        buf_str(out, "raw  ");
    if (file)
        buf_fmt(out, "%s  ", file);
    else if (c->options.language)
        buf_fmt(out, "%s  ", c->options.language);
    if (c->options.template_)
        buf_str(out, "template  ");
    for (char **e = c->options.effects; e && *e; e++)
        buf_fmt(out, "%s  ", *e);
    for (char **t = c->options.tags; t && *t; t++)
        if (c->title || !str_eq(*t, "parameters")) // this tag is the title of one without
            buf_fmt(out, "#%s  ", *t);
}

// The result of the run. past: the earlier run that it is of; stale: why it does not hold any more.
static style add_result(
    const struct run_cell *r, int64_t now, const char *past, const char *stale, int room, buf *out)
{
    enum { AGE = 16 }; // "10 months ago": why it does not hold is worth more
    if (past && r) {
        if (r->state == STATE_FAILED || r->state == STATE_CANCELLED)
            buf_fmt(out, "%s  ", cell_state_name(r->state));
        if (stale)
            buf_fmt(out, "%s  ", stale);
        if (!stale || room - (int)out->len >= AGE)
            add_when(r, past, room, out);
        return LOOK_DIM;
    }
    if (!r)
        return LOOK_DIM;
    if (r->state == STATE_QUEUED || r->state == STATE_FAILED || r->state == STATE_CANCELLED)
        buf_fmt(out, "%s  ", cell_state_name(r->state));
    if (stale)
        buf_fmt(out, "%s  ", stale);
    if (r->state == STATE_RUNNING) {
        add_elapsed(r, now, out);
    } else if (r->ended && r->mono_end > r->mono_start) {
        duration_format(out, r->mono_end - r->mono_start);
        buf_str(out, "  ");
    }
    return r->state == STATE_FAILED ? LOOK_ERROR : LOOK_DIM;
}

// The text on the right, in so many columns at most: what the cell is makes room for the result.
// Returns its width.
static int put_right(bench *b, grid *g, rect area, size_t i, int y, int most)
{
    enum { GAP = 2 };
    int half = most < area.w / 2 ? most : area.w / 2; // an earlier run takes no more
    AUTO_BUF kind = {0}, result = {0};
    struct slot_past past;
    const struct run_cell *shown = slot_outputs(b, i, &past),
                          *r = past.run ? shown : slot_run(b, i);
    if (slot_letter(b, i))
        buf_fmt(&kind, "'%c  ", slot_letter(b, i));
    if (slot_head(b, i) != HEAD_SAME)
        buf_fmt(&kind, "%s  ", head_mark(b, slot_head(b, i)));
    add_kind(slot_cell(b, i), &kind);
    style look =
        add_result(r, bench_now(b), past.run, slot_stale(b, i), half - (int)kind.len, &result);
    int wants = text_width(buf_cstr(&kind), kind.len, 0),
        wide = text_width(buf_cstr(&result), result.len, 0);
    wide = wide < most ? wide : most;
    int left = wants < most - wide ? wants : most - wide, end = area.x + area.w;
    grid_put_short(g, area, end - wide - left, y, left < wants ? left - GAP : left, buf_cstr(&kind),
        kind.len, look);
    grid_put_short(g, area, end - wide, y, wide, buf_cstr(&result), result.len, look);
    return left + wide;
}

const char *head_mark(const bench *b, enum head_state s)
{
    return s == HEAD_SAME ? "" : s == HEAD_NEW ? "+" : bench_ascii(b) ? "!" : "≠";
}

void celltitle_draw(bench *b, grid *g, rect area, size_t i, int y, const struct cell_look *look)
{
    enum { LINE = 4 }; // between title and text, with its blanks
    const cell *c = slot_cell(b, i);
    char state[32];
    style has = state_text(b, i, state, sizeof state);
    const char *title = c->title ? c->title : cell_has_tag(c, "parameters") ? "Parameters" : "";
    int x = area.x + 1;
    x += grid_put(g, area, x, y, state, strlen(state), has) + 1;
    int room = area.x + area.w - x, most = room - text_width(title, strlen(title), 0) - LINE;
    int wide = put_right(b, g, area, i, y, most > room / 2 ? most : room / 2);
    int w = grid_put_short(g, area, x, y, room - wide - 1, title, strlen(title), LOOK_BOLD);
    bool here = look->found && look->found->part == PART_TITLE;
    cellsource_mark_hits(
        b, g, (rect){x, y, w, 1}, x, y, title, strlen(title), here ? look->found : NULL);
    x += w + (w > 0);
    style line = look->selected ? LOOK_ACCENT : LOOK_DIM;
    grid_hline(g, area, x, y, area.x + area.w - wide - x - (wide > 0), line);
}
