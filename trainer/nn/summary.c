// SPDX-License-Identifier: MIT
// Keras's table of layers, shapes and parameters, with one more column: FLOPs.
//
//   FLOPs of a layer = 2 · the numbers of its kernel · how often a row uses each of them
//   Dense    2 · inputs · units
//   Conv2D   2 · window · channels/groups · filters · positions of the output
//   DepthwiseConv2D  2 · window · channels · depth_multiplier · positions of the output
//   SeparableConv2D  those of a DepthwiseConv2D and of a Conv2D behind it
//
// These are the multiplications and additions of matrix products, forward, for one row, as torch
// counts them (torch.utils.flop_counter); everything else is left out. A step of training takes
// about three times as many for each row.
//
// As Keras's, the table keeps to a terminal of 80 columns where it can: what is too long goes on
// below. After a first step the totals have what the optimizer holds, too: its state, the number of
// its step, and a learning rate that is no schedule.
#include "trainer/nn/internal.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 5, WIDTH = 76 };

// The next node of a layer behind `last`, NULL: the first one.
static const node *next_node(const model *m, size_t layer, const node *last)
{
    const graph *g = m->graph;
    for (size_t i = last ? (size_t)(last - g->node) + 1 : 0; g && i < g->n; i++)
        if (g->node[i].layer && g->node[i].number == layer && !g->node[i].echo)
            return &g->node[i];
    return NULL;
}

// "(None, 28, 28)"; "?" while nobody knows.
static void output_shape(const model *m, size_t layer, buf *out)
{
    const node *n = NULL, *next = NULL;
    while ((next = next_node(m, layer, next)))
        n = next;
    if (!n) {
        buf_str(out, "?");
        return;
    }
    buf_str(out, "(None");
    for (int d = 0; d < n->out.dims; d++)
        buf_fmt(out, ", %zu", n->out.size[d]);
    buf_char(out, ')');
}

struct counts {
    size_t trained, fixed, flops;
};

static struct counts counts_of(const model *m, size_t layer)
{
    struct counts c = {0};
    const node *n = NULL;
    bool again = m->layer[layer].shares; // its weights are counted where it is first called
    while ((n = next_node(m, layer, n)))
        for (size_t i = 0; i < n->parameters; i++) {
            const parameter *p = &m->graph->parameter[n->first + i];
            size_t numbers = p->rows * p->columns;
            *(p->frozen ? &c.fixed : &c.trained) += again ? 0 : numbers;
            if (p->as.panels || p->as.multiplied)
                c.flops += 2 * numbers * (shape_size(&n->out) / op_last(&n->out));
        }
    return c;
}

// "101,770"
static void grouped(size_t n, buf *out)
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%zu", n);
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0)
            buf_char(out, ',');
        buf_char(out, digits[i]);
    }
}

// A row's cells: name and type, shape, parameters, FLOPs, and in a graph what it takes.
static void cells_of(const model *m, size_t i, buf cell[COLUMNS])
{
    const layer_spec *l = &m->layer[i];
    struct counts c = counts_of(m, i);
    buf_fmt(&cell[0], "%s (%s)", l->name, layer_kind_name(l->kind));
    output_shape(m, i, &cell[1]);
    grouped(c.trained + c.fixed, &cell[2]);
    if (!model_is_built(m))
        buf_str(&cell[2], " (unbuilt)");
    grouped(c.flops, &cell[3]);
    for (size_t k = 0; k < l->froms; k++)
        buf_fmt(&cell[4], "%s%s", k ? ", " : "", m->layer[l->from[k]].name);
    if (!l->froms)
        buf_char(&cell[4], '-');
}

struct table {
    buf *cell; // [rows][COLUMNS], the first row has the titles
    size_t rows, columns, width[COLUMNS];
};

// A line between rows: its ends, its dash, and what crosses it.
static void line(const struct table *t, const char *const parts[4], buf *out)
{
    buf_str(out, parts[0]);
    for (size_t c = 0; c < t->columns; c++) {
        for (size_t i = 0; i < t->width[c] + 2; i++)
            buf_str(out, parts[1]);
        buf_str(out, c + 1 < t->columns ? parts[2] : parts[3]);
    }
    buf_char(out, '\n');
}

// How long the first word is: it ends before a space, or with an underscore.
static size_t word(const char *text)
{
    size_t n = strcspn(text, " _");
    return n + (text[n] == '_');
}

// How many characters of the text are in a line of this width, which every word fits into.
static size_t piece(const char *text, size_t width)
{
    size_t n = word(text);
    for (size_t more = n; text[more]; n = more) {
        more += text[more] == ' ';
        more += word(text + more);
        if (more > width)
            break;
    }
    return n;
}

static void row(const struct table *t, size_t r, const char *edge, buf *out)
{
    const char *rest[COLUMNS];
    bool more = true;
    for (size_t c = 0; c < t->columns; c++)
        rest[c] = buf_cstr(&t->cell[r * COLUMNS + c]);
    while (more) {
        more = false;
        for (size_t c = 0; c < t->columns; c++) {
            bool number = c == 2 || c == 3;
            size_t width = t->width[c], n = piece(rest[c], width);
            int gap = (int)(width - n);
            buf_fmt(out, "%s %*s%.*s%*s ", edge, number ? gap : 0, "", (int)n, rest[c],
                number ? 0 : gap, "");
            rest[c] += n;
            rest[c] += *rest[c] == ' ';
            more |= *rest[c] != 0;
        }
        buf_fmt(out, "%s\n", edge);
    }
}

static size_t longest_word(const struct table *t, size_t column)
{
    size_t longest = 0;
    for (size_t r = 0; r < t->rows; r++)
        for (const char *s = buf_cstr(&t->cell[r * COLUMNS + column]); *s; s += *s == ' ') {
            size_t n = word(s);
            longest = n > longest ? n : longest;
            s += n;
        }
    return longest;
}

// Makes a column narrower, but no narrower than its words, if the table is too wide.
static void narrow(struct table *t, size_t column)
{
    size_t all = 1, *width = &t->width[column], least = longest_word(t, column);
    for (size_t c = 0; c < t->columns; c++)
        all += t->width[c] + 3;
    if (all <= WIDTH || *width <= least)
        return;
    *width -= all - WIDTH < *width - least ? all - WIDTH : *width - least;
}

static void draw(struct table *t, buf *out)
{
    static const char *const top[] = {"┏", "━", "┳", "┓"}, *const under[] = {"┡", "━", "╇", "┩"},
                             *const between[] = {"├", "─", "┼", "┤"},
                             *const bottom[] = {"└", "─", "┴", "┘"};
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        size_t c = i % t->columns, here = t->cell[i / t->columns * COLUMNS + c].len;
        t->width[c] = here > t->width[c] ? here : t->width[c];
    }
    if (t->columns == COLUMNS)
        narrow(t, 4);
    narrow(t, 0);
    line(t, top, out);
    for (size_t r = 0; r < t->rows; r++) {
        row(t, r, r ? "│" : "┃", out);
        line(t, r + 1 == t->rows ? bottom : r ? between : under, out);
    }
}

// " Total params: 101,770 (397.54 KB)"
static void total(const char *what, size_t n, buf *out)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double size = (double)n * sizeof(float);
    size_t unit = 0;
    for (; size >= 1024 && unit + 1 < ARRAY_LEN(units); unit++)
        size /= 1024;
    buf_fmt(out, " %s: ", what);
    grouped(n, out);
    buf_fmt(out, " (%.2f %s)\n", size, units[unit]);
}

// What the optimizer holds after its first step.
static size_t optimizer_numbers(const model *m, size_t trained)
{
    bool scheduled = m->spec.optimizer.schedule.kind != SCHEDULE_NONE;
    return m->compiled && m->steps > 0 ? m->slots * trained + (scheduled ? 1 : 2) : 0;
}

void model_summary(const model *m, buf *out)
{
    static const char *const titles[] = {
        "Layer (type)", "Output Shape", "Param #", "FLOPs", "Connected to"};
    // As Keras, without the input of a row of layers.
    size_t first = !m->input_count && m->layer[0].kind == LAYER_INPUT;
    struct table t = {.rows = m->n - first + 1, .columns = m->input_count ? COLUMNS : COLUMNS - 1};
    struct counts all = {0};
    t.cell = mem_array(t.rows * COLUMNS, sizeof *t.cell);
    for (size_t c = 0; c < COLUMNS; c++)
        buf_str(&t.cell[c], titles[c]);
    for (size_t i = first; i < m->n; i++) {
        struct counts c = counts_of(m, i);
        cells_of(m, i, &t.cell[(i - first + 1) * COLUMNS]);
        all.trained += c.trained;
        all.fixed += c.fixed;
        all.flops += c.flops;
    }
    buf_fmt(out, "Model: \"%s\"\n", model_name(m));
    draw(&t, out);
    size_t state = optimizer_numbers(m, all.trained);
    total("Total params", all.trained + all.fixed + state, out);
    total("Trainable params", all.trained, out);
    total("Non-trainable params", all.fixed, out);
    if (state)
        total("Optimizer params", state, out);
    buf_str(out, " FLOPs of a row, forward: ");
    grouped(all.flops, out);
    buf_char(out, '\n');
    for (size_t i = 0; i < t.rows * COLUMNS; i++)
        buf_done(&t.cell[i]);
    free(t.cell);
}
