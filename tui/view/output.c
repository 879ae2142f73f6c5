// SPDX-License-Identifier: MIT
// What a cell has left below it, drawn once and kept until something happens to it. Only the end
// of much output is drawn here; the page (page.c) shows all of it.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/spool.h"
#include "tui/view/canvas.h"
#include "tui/view/view.h"

#include <string.h>

enum { STREAM_ROWS = 24, TABLE_ROWS = 30, ROWS_MAX = 400, TAIL_BYTES = 16 << 10 };

static void draw_spooled(bench *b, struct canvas *c, const struct output *o, style base)
{
    err e = {0};
    uint64_t from = o->to - o->from > TAIL_BYTES ? o->to - TAIL_BYTES : o->from;
    spool *s = b->spool_dir ? spool_open(b->spool_dir, o->spool, &e) : NULL;
    AUTO_BUF bytes = {0};
    if (s && spool_read(s, from, o->to, &bytes, &e) == 0) {
        const char *start = buf_cstr(&bytes), *newline = strchr(start, '\n');
        size_t skip = from > o->from && newline ? (size_t)(newline + 1 - start) : 0;
        AUTO_FREE char *more =
            from > o->from ? str_fmt("%llu KiB and ", (unsigned long long)((from - o->from) >> 10))
                           : NULL;
        canvas_ansi(c, start + skip, bytes.len - skip, base, STREAM_ROWS, more);
    } else {
        canvas_line(c, LOOK_ERROR, "%s", e.text);
    }
    spool_close(s);
}

static void draw_stream(bench *b, struct canvas *c, const struct output *o)
{
    style base = str_eq(o->name, "stderr") ? LOOK_WARN : (style){0};
    if (o->spool) {
        draw_spooled(b, c, o, base);
        return;
    }
    canvas_ansi(c, o->text, o->text_n, base, STREAM_ROWS, NULL);
}

static void draw_error(struct canvas *c, const struct output *o)
{
    int64_t line = json_int_or(o->data, "line", 0);
    AUTO_BUF words = {0};
    buf_fmt(&words, "✗ %s", o->name);
    if (line)
        buf_fmt(&words, " in line %lld", (long long)line);
    canvas_line(c, LOOK_ERROR, "%s", buf_cstr(&words));
    canvas_ansi(c, o->text, o->text_n, (style){.fg = COLOR_INDEX(1)}, 0, NULL);
    const cJSON *frame, *trace = json_get(o->data, "traceback");
    if (cJSON_GetArraySize(trace) > 1)
        cJSON_ArrayForEach(frame, trace)
        {
            canvas_line(c, LOOK_DIM, "  %s", cJSON_IsString(frame) ? frame->valuestring : "");
        }
}

static void draw_output(bench *b, struct canvas *c, const struct output *o)
{
    switch (o->kind) {
    case OUTPUT_STREAM:
        draw_stream(b, c, o);
        break;
    case OUTPUT_DISPLAY:
        canvas_bundle(c, o->data, o->live, TABLE_ROWS);
        break;
    case OUTPUT_ERROR:
        draw_error(c, o);
        break;
    }
}

const grid *output_grid(bench *b, size_t i, int width)
{
    struct slot *s = b->slots[i];
    const struct run_cell *run = slot_run(b, i);
    if (s->drawn_version == s->version && s->drawn_width == width)
        return s->output;
    s->drawn_version = s->version;
    s->ages = false;
    s->drawn_width = width;
    grid_free(STEAL(s->output));
    if (!run || run->n_outputs == 0 || width < 1)
        return NULL;
    if (!b->scratch)
        b->scratch = grid_new(width, ROWS_MAX);
    grid_resize(b->scratch, width, ROWS_MAX);
    struct canvas c = {.grid = b->scratch, .w = width, .ascii = b->ascii, .now = clock_wall()};
    for (size_t k = 0; k < run->n_outputs && c.y < ROWS_MAX; k++)
        draw_output(b, &c, &run->outputs[k]);
    s->ages = c.aged;
    int rows = c.y < ROWS_MAX ? c.y : ROWS_MAX;
    if (rows == 0)
        return NULL;
    s->output = grid_new(width, rows);
    for (int y = 0; y < rows; y++)
        grid_blit(s->output, (rect){0, 0, width, rows}, 0, y, b->scratch, y);
    return s->output;
}
