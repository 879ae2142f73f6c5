// SPDX-License-Identifier: MIT
// The outputs below a cell, drawn once and kept until something changes. Of a long output only the
// end is drawn; the page (page.c) shows all of it.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/spool.h"
#include "script/journal/text.h"
#include "tui/bench/drawing.h"
#include "tui/part/canvas.h"
#include "tui/view/cell/cellview.h"

#include <string.h>

// The outputs of a cell, from this run or from an earlier one.
struct below {
    bench *bench;
    const char *spools;
    bool past;
};

enum { STREAM_ROWS = 24, TABLE_ROWS = 30, ROWS_MAX = 400, WORKS = 6, TAIL_BYTES = 16 << 10 };

// The start of the last whole lines of a text that are worth drawing.
static size_t tail_start(const char *bytes, size_t n, bool from_line)
{
    size_t start = n > TAIL_BYTES ? n - TAIL_BYTES : 0;
    const char *newline = n ? memchr(bytes + start, '\n', n - start) : NULL;
    if (start == 0 && from_line)
        return 0;
    return newline && newline + 1 < bytes + n ? (size_t)(newline + 1 - bytes) : start;
}

static uint64_t count_lines(const char *at, size_t n)
{
    uint64_t lines = 0;
    for (const char *end = at + n; n && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        lines++;
    return lines;
}

// Draws lines of a stream, with the style that earlier lines have left.
static void draw_lines(struct canvas *c, const char *bytes, size_t n, const char *earlier,
    size_t earlier_n, style base, uint64_t before)
{
    AUTO_BUF shown = {0};
    ansi_select(&shown, ansi_after((style){0}, earlier, earlier_n));
    buf_add(&shown, bytes, n);
    canvas_ansi(c, shown.data, shown.len, base, STREAM_ROWS, before);
}

// earlier_lines: lines of the stream from before it was spooled.
static void draw_spooled(const struct below *b, struct canvas *c, const char *name, uint64_t from,
    uint64_t to, style base, uint64_t earlier_lines)
{
    err e = {0};
    uint64_t near = to > from && to - from > TAIL_BYTES ? to - TAIL_BYTES : from;
    spool *s = spool_open(b->spools ? b->spools : "", name, &e);
    AUTO_BUF bytes = {0};
    if (s && spool_read(s, near, to, &bytes, &e) == 0) {
        size_t start = tail_start(bytes.data, bytes.len, near == from);
        uint64_t before = near == from && start == 0
                              ? 0
                              : spool_line_at(s, near + start) - spool_line_at(s, from);
        uint64_t at = near + start;
        AUTO_BUF earlier = {0};
        spool_read(s, at - ansi_reach(at - from), at, &earlier, NULL);
        draw_lines(c, buf_cstr(&bytes) + start, bytes.len - start, buf_cstr(&earlier), earlier.len,
            base, before + earlier_lines);
    } else {
        canvas_line(c, LOOK_ERROR, "%s", e.text);
    }
    spool_close(s);
}

// Does a text continue in a spool that alone fills the room? Then the spool has the stream's end.
static bool goes_on(const struct run_cell *run, size_t k)
{
    const struct output *o = &run->outputs[k], *next = o + 1;
    return k + 1 < run->n_outputs && o->kind == OUTPUT_STREAM && !o->spool &&
           next->kind == OUTPUT_STREAM && next->spool && str_eq(o->name, next->name) &&
           str_eq(o->branch, next->branch) && next->to - next->from > TAIL_BYTES;
}

static void draw_stream(
    const struct below *b, struct canvas *c, const struct run_cell *run, size_t k)
{
    const struct output *o = &run->outputs[k];
    style base = str_eq(o->name, "stderr") ? LOOK_WARN : (style){0};
    if (goes_on(run, k))
        return;
    if (o->spool) {
        uint64_t lines = k > 0 && goes_on(run, k - 1) ? count_lines(o[-1].text, o[-1].text_n) : 0;
        draw_spooled(b, c, o->spool, o->from, o->to, base, lines);
        return;
    }
    size_t start = tail_start(o->text, o->text_n, true);
    size_t reach = ansi_reach(start);
    draw_lines(c, o->text + start, o->text_n - start, o->text + start - reach, reach, base,
        count_lines(o->text, start));
}

static void draw_log(const struct below *b, struct canvas *c, const cJSON *log, bool live)
{
    const char *title = json_str_or(log, "title", "log"), *dot = live ? " ●" : "";
    if (json_bool_or(log, "folded", false)) {
        canvas_line(c, LOOK_DIM, "%s: %lld lines; O shows them%s", title,
            (long long)json_int_or(log, "lines", 0), dot);
        return;
    }
    canvas_line(c, LOOK_BOLD, "%s%s", title, dot);
    draw_spooled(b, c, json_str_or(log, "spool", ""), (uint64_t)json_int_or(log, "from", 0),
        (uint64_t)json_int_or(log, "to", 0), (style){0}, 0);
    if (json_str(log, "note"))
        canvas_line(c, LOOK_WARN, "%s", json_str(log, "note"));
}

static void draw_display(const struct below *b, struct canvas *c, const struct output *o)
{
    const cJSON *log = json_get(o->data, "application/vnd.firesteel.log+json");
    if (json_str(log, "spool"))
        draw_log(b, c, log, o->live && !b->past);
    else
        canvas_bundle(c, o->data, o->live && !b->past, TABLE_ROWS);
}

// Of another language it may have colours and several lines.
static void draw_frame(struct canvas *c, const char *frame)
{
    if (strpbrk(frame, "\x1b\n"))
        canvas_ansi(c, frame, strlen(frame), (style){0}, 0, 0);
    else
        canvas_line(c, LOOK_DIM, "  %s", frame);
}

static void draw_error(struct canvas *c, const struct output *o)
{
    int64_t line = json_int_or(o->data, "line", 0);
    AUTO_BUF words = {0};
    buf_fmt(&words, "✗ %s", o->name);
    if (line)
        buf_fmt(&words, " in line %lld", (long long)line);
    canvas_line(c, LOOK_ERROR, "%s", buf_cstr(&words));
    if (!str_eq(o->text, o->name)) // of an interrupt there is no more to say
        canvas_ansi(c, o->text, o->text_n, (style){.fg = COLOR_INDEX(1)}, 0, 0);
    const cJSON *frame, *trace = json_get(o->data, "traceback");
    if (cJSON_GetArraySize(trace) > 1)
        cJSON_ArrayForEach(frame, trace)
        {
            draw_frame(c, cJSON_IsString(frame) ? frame->valuestring : "");
        }
}

static void draw_output(
    const struct below *b, struct canvas *c, const struct run_cell *run, size_t k)
{
    const struct output *o = &run->outputs[k];
    const char *branch = output_branch(run, k);
    if (branch)
        canvas_line(c, LOOK_BOLD, "%s %s", bench_ascii(b->bench) ? "--" : "──",
            *branch ? branch : "the cell");
    switch (o->kind) {
    case OUTPUT_STREAM:
        draw_stream(b, c, run, k);
        break;
    case OUTPUT_DISPLAY:
        draw_display(b, c, o);
        break;
    case OUTPUT_ERROR:
        draw_error(c, o);
        break;
    }
}

// Draws the outputs from number `from` on, as long as there is room.
static void draw_from(
    const struct below *b, struct canvas *c, const struct run_cell *run, size_t from)
{
    c->y = 0;
    if (from > 0)
        canvas_line(
            c, LOOK_DIM, "⋮ %zu more output%s above; O shows all", from, from == 1 ? "" : "s");
    for (size_t k = from; k < run->n_outputs && c->y < ROWS_MAX; k++)
        draw_output(b, c, run, k);
}

// The first output from which all others fit; if even the last one does not fit, the last one.
static size_t first_with_room(const struct below *b, struct canvas *c, const struct run_cell *run)
{
    int rows = 1;
    size_t k = run->n_outputs;
    while (k > 0 && rows < ROWS_MAX) {
        c->y = 0;
        draw_output(b, c, run, --k);
        rows += c->y;
    }
    return rows > ROWS_MAX && k + 1 < run->n_outputs ? k + 1 : k;
}

static void draw_all(const struct below *b, struct canvas *c, const struct run_cell *run)
{
    draw_from(b, c, run, 0);
    if (c->y < ROWS_MAX || run->n_outputs < 2)
        return;
    size_t from = first_with_room(b, c, run);
    grid_clear(c->grid);
    draw_from(b, c, run, from);
}

// Long work that the cell does now stands below what it has left.
static void draw_works(struct canvas *c, const cJSON *works)
{
    int n = cJSON_GetArraySize(works), drawn = 0;
    const cJSON *event;
    c->y = c->y < ROWS_MAX - WORKS - 1 ? c->y : ROWS_MAX - WORKS - 1;
    cJSON_ArrayForEach(event, works)
    {
        if (drawn++ < WORKS)
            canvas_work(c, event);
    }
    if (n > WORKS)
        canvas_line(c, LOOK_DIM, "… and %d more", n - WORKS);
}

// Draws into a large grid, and cuts the drawing out of it; the grid is blank in between.
static void draw_slot(const struct below *b, struct drawing *d, const struct run_cell *run,
    const cJSON *works, int width)
{
    grid *scratch = bench_scratch(b->bench, width, ROWS_MAX);
    struct canvas c = {.grid = scratch,
        .w = width,
        .ascii = bench_ascii(b->bench),
        .dashes = bench_mono(b->bench),
        .album = bench_album(b->bench),
        .now = bench_now(b->bench)};
    if (run && run->n_outputs)
        draw_all(b, &c, run);
    int outputs = c.y < ROWS_MAX ? c.y : ROWS_MAX;
    if (works)
        draw_works(&c, works);
    d->ages = c.aged && !b->past;
    d->rows = c.y < ROWS_MAX ? c.y : ROWS_MAX;
    rect used = {0, 0, width, d->rows};
    if (d->rows)
        d->output = grid_new(width, d->rows);
    for (int y = 0; y < d->rows; y++)
        grid_blit(d->output, used, 0, y, scratch, y);
    if (b->past && d->rows)
        grid_restyle(d->output, (rect){0, 0, width, outputs}, LOOK_DIM);
    grid_fill(scratch, used, ' ', (style){0});
}

static bool is_drawn(const bench *b, struct slot *s, int width)
{
    const struct drawing *d = slot_drawing(s);
    return d->drawn_version == slot_version(s) && d->drawn_width == width &&
           d->drawn_pictures == album_version(bench_album(b));
}

const grid *output_grid(bench *b, size_t i, int width)
{
    struct slot *s = slot_at(b, i);
    struct drawing *d = slot_drawing(s);
    struct slot_past past;
    const struct run_cell *run = slot_outputs(b, i, &past);
    bool same = is_drawn(b, s, width);
    if (same && (d->output || !d->rows))
        return d->output;
    d->drawn_version = slot_version(s);
    d->drawn_width = width;
    d->drawn_pictures = album_version(bench_album(b));
    d->ages = false;
    d->rows = 0;
    grid_free(STEAL(d->output));
    const cJSON *works = slot_works(s);
    if (((run && run->n_outputs) || works) && width > 0)
        draw_slot(&(struct below){b, past.run ? past.spools : bench_spool_dir(b), past.run != NULL},
            d, run, works, width);
    return d->output;
}

int output_rows(bench *b, size_t i, int width)
{
    struct slot *s = slot_at(b, i);
    const struct drawing *d = slot_drawing(s);
    if (!is_drawn(b, s, width))
        output_grid(b, i, width);
    return d->rows;
}
