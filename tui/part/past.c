// SPDX-License-Identifier: MIT
#include "tui/part/past.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/part/line.h"

#include <string.h>

void past_done(struct past *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->texts[i]);
    free(p->draft);
    *p = (struct past){0};
}

static void drop(struct past *p, size_t i)
{
    free(p->texts[i]);
    memmove(&p->texts[i], &p->texts[i + 1], (--p->n - i) * sizeof *p->texts);
}

void past_add(struct past *p, const char *words)
{
    if (!*words)
        return;
    for (size_t i = p->n; i > 0; i--)
        if (str_eq(p->texts[i - 1], words))
            drop(p, i - 1);
    if (p->n == PAST_MOST)
        drop(p, 0);
    p->texts[p->n++] = mem_strdup(words);
    past_begin(p);
}

void past_begin(struct past *p)
{
    free(STEAL(p->draft));
    p->at = p->n;
}

void past_turn(struct past *p, line *l, bool older)
{
    if (older ? p->at == 0 : p->at == p->n)
        return;
    if (p->at == p->n) {
        free(p->draft);
        p->draft = mem_strdup(line_text(l));
    }
    p->at = older ? p->at - 1 : p->at + 1;
    line_set(l, p->at < p->n ? p->texts[p->at] : p->draft);
}
