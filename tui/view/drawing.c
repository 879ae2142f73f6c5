// SPDX-License-Identifier: MIT
#include "tui/view/drawing.h"

#include "base/mem.h"
#include "tui/syntax/markdown_layout.h"

struct drawing *drawing_new(void)
{
    struct drawing *d = mem_alloc(sizeof *d);
    d->syntax = syntax_cache_new();
    return d;
}

void drawing_free(struct drawing *d)
{
    if (!d)
        return;
    syntax_cache_free(d->syntax);
    markdown_free(d->rendered);
    grid_free(d->output);
    free(d);
}
