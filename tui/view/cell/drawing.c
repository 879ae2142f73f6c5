// SPDX-License-Identifier: MIT
#include "tui/bench/drawing.h"

#include "tui/edit/text.h"
#include "tui/syntax/markdown_layout.h"

#include <stdlib.h>

void drawing_init(struct drawing *d)
{
    *d = (struct drawing){.syntax = syntax_cache_new()};
}

void drawing_done(struct drawing *d)
{
    syntax_cache_free(d->syntax);
    markdown_free(d->rendered);
    free(d->wraps);
    grid_free(d->output);
    text_free(d->told);
}
