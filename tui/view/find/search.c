// SPDX-License-Identifier: MIT
#include "tui/view/find/search.h"

#include "base/mem.h"
#include "script/journal/text.h"
#include "tui/bench/drawing.h"

#include <string.h>

enum { OUTPUT_MOST = 256 << 10 }; // bytes of one output; of a longer one the ends

int place_compare(const struct place *a, const struct place *b)
{
    if (a->cell != b->cell)
        return a->cell < b->cell ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

// What stands below a cell as lines, in the text that its drawing keeps. A text cell hides its old
// output.
static const text *output_of(bench *b, size_t i)
{
    struct slot *s = slot_at(b, i);
    struct drawing *d = slot_drawing(s);
    struct slot_past past;
    const struct run_cell *run = slot_outputs(b, i, &past);
    if (!run || !run->n_outputs || slot_cell(b, i)->kind != CELL_CODE)
        return NULL;
    if (d->told && d->told_version == slot_version(s))
        return d->told;
    AUTO_BUF words = {0};
    const char *spools = past.run ? past.spools : bench_spool_dir(b);
    for (size_t k = 0; k < run->n_outputs; k++) {
        output_heading(run, k, &words);
        output_text(&run->outputs[k], spools, OUTPUT_MOST, &words, NULL);
    }
    if (!d->told)
        d->told = text_new();
    text_set(d->told, buf_cstr(&words), words.len);
    d->told_version = slot_version(s);
    return d->told;
}

size_t search_output_lines(bench *b, size_t i)
{
    const text *t = i < slot_count(b) ? output_of(b, i) : NULL;
    return t ? text_lines(t) : 0;
}

const char *search_output_line(bench *b, size_t i, size_t line, size_t *n)
{
    const text *t = i < slot_count(b) ? output_of(b, i) : NULL;
    *n = 0;
    return t ? text_line(t, line, n) : "";
}

void search_forget(bench *b)
{
    for (size_t i = 0; i < slot_count(b); i++) {
        struct drawing *d = slot_drawing(slot_at(b, i));
        text_free(STEAL(d->told));
    }
}

static void find_in_line(const struct pattern *what, struct place place, const char *words,
    size_t n, struct place_list *out)
{
    size_t length;
    const char *hit;
    for (size_t next = 0;
         out->n < SEARCH_MOST && (hit = pattern_find(what, words, n, next, &length));) {
        place.from = (size_t)(hit - words);
        place.to = place.from + length;
        next = place.to + !length;
        if (!length)
            continue;                     // nothing that could be marked
        if ((out->n & (out->n + 1)) == 0) // it grows at 0, 1, 3, 7, …
            out->list = mem_resize(out->list, 2 * out->n + 1, sizeof *out->list);
        out->list[out->n++] = place;
    }
}

static void find_in_text(
    const struct pattern *what, struct place place, const text *t, struct place_list *out)
{
    for (place.line = 0; t && place.line < text_lines(t); place.line++) {
        size_t n;
        const char *words = text_line(t, place.line, &n);
        find_in_line(what, place, words, n, out);
    }
}

void search_find(bench *b, const struct pattern *what, bool sources, struct place_list *out)
{
    *out = (struct place_list){0};
    for (size_t i = 0; !pattern_is_empty(what) && i < slot_count(b); i++) {
        const char *title = slot_cell(b, i)->title;
        bool titled = title && slot_cell(b, i)->kind != CELL_MARKDOWN; // which shows none
        if (titled && !sources)
            find_in_line(what, (struct place){i, PART_TITLE, 0, 0, 0}, title, strlen(title), out);
        find_in_text(what, (struct place){i, PART_SOURCE, 0, 0, 0},
            edit_text(slot_edit(slot_at(b, i))), out);
        if (!sources)
            find_in_text(what, (struct place){i, PART_OUTPUT, 0, 0, 0}, output_of(b, i), out);
    }
}
