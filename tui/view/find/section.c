// SPDX-License-Identifier: MIT
#include "tui/view/find/section.h"

#include "tui/bench/drawing.h"

#include <string.h>

// "## Words ##" as a heading; false: the line is none.
static bool heading_of(const char *words, size_t n, struct heading *out)
{
    size_t marks = 0;
    while (marks < n && words[marks] == '#')
        marks++;
    if (!marks || marks > 6 || (marks < n && words[marks] != ' ' && words[marks] != '\t'))
        return false;
    size_t from = marks;
    while (from < n && strchr(" \t", words[from]))
        from++;
    while (n > from && strchr(" \t#", words[n - 1]))
        n--;
    out->level = (int)marks;
    out->words = words + from;
    out->n = n - from;
    return true;
}

void section_headings(const text *t, bool (*fn)(void *arg, const struct heading *h), void *arg)
{
    char fence = 0; // the character of an open one
    for (size_t line = 0; line < text_lines(t); line++) {
        size_t n, blanks;
        const char *words = text_line(t, line, &n);
        blanks = strspn(words, " ");
        bool marks =
            strncmp(words + blanks, "```", 3) == 0 || strncmp(words + blanks, "~~~", 3) == 0;
        if (marks && (!fence || fence == words[blanks]))
            fence = fence ? 0 : words[blanks];
        struct heading h = {.line = line};
        if (!fence && blanks < 4 && heading_of(words + blanks, n - blanks, &h) && !fn(arg, &h))
            return;
    }
}

static bool take_level(void *level, const struct heading *h)
{
    *(int *)level = h->level;
    return false;
}

int section_level(bench *b, size_t i)
{
    struct slot *s = slot_at(b, i);
    struct drawing *d = slot_drawing(s);
    const text *t = edit_text(slot_edit(s));
    if (slot_cell(b, i)->kind != CELL_MARKDOWN)
        return 0;
    if (d->heading_text != text_revision(t) + 1) {
        d->heading = 0;
        section_headings(t, take_level, &d->heading);
        d->heading_text = text_revision(t) + 1; // 0: not looked for yet
    }
    return d->heading;
}

size_t section_begin(bench *b, size_t i)
{
    while (i < slot_count(b) && !section_level(b, i))
        i = i ? i - 1 : SIZE_MAX;
    return i < slot_count(b) ? i : SIZE_MAX;
}

size_t section_end(bench *b, size_t i)
{
    int level = section_level(b, i), other;
    size_t end = i + 1;
    while (end < slot_count(b) && (!(other = section_level(b, end)) || other > level))
        end++;
    return end;
}

bool section_is_folded(bench *b, size_t i)
{
    return slot_drawing(slot_at(b, i))->section_folded && section_level(b, i);
}

size_t section_hides(bench *b, size_t i)
{
    return section_is_folded(b, i) ? section_end(b, i) - i - 1 : 0;
}

bool section_hidden(bench *b, size_t i)
{
    return slot_drawing(slot_at(b, i))->hidden;
}

void section_settle(bench *b)
{
    int under = 0; // level of the folded heading above; 0: none
    for (size_t i = 0; i < slot_count(b); i++) {
        int level = section_level(b, i);
        if (level && level <= under)
            under = 0;
        slot_drawing(slot_at(b, i))->hidden = under > 0;
        if (!under && level && slot_drawing(slot_at(b, i))->section_folded)
            under = level;
    }
}

void section_fold(bench *b, size_t i, bool on)
{
    slot_drawing(slot_at(b, i))->section_folded = on;
    section_settle(b);
}

void section_reveal(bench *b, size_t i)
{
    while (i < slot_count(b) && section_hidden(b, i)) {
        size_t above = i;
        while (above && (section_hidden(b, above) || !section_is_folded(b, above)))
            above--;
        section_fold(b, above, false);
    }
}

size_t section_shown(bench *b, size_t i, bool down)
{
    size_t n = slot_count(b);
    if (n && i >= n) // below the last cell
        i = n - 1;
    size_t at = i;
    while (at < n && section_hidden(b, at))
        at = down ? at + 1 : at - 1; // wraps around
    if (at < n)
        return at;
    for (at = i; at < n && section_hidden(b, at);)
        at = down ? at - 1 : at + 1;
    return at < n ? at : 0;
}
