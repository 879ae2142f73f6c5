// SPDX-License-Identifier: MIT
// Any bytes as Markdown, at several widths: spans cover each row exactly, and the cost stays
// linear.
#include "tests/fuzz/fuzz.h"
#include "tui/syntax/markdown_layout.h"

#include <stdlib.h>

static void look_at(const markdown *m)
{
    for (size_t i = 0; i < markdown_lines(m); i++) {
        struct ansi_line line = markdown_line(m, i);
        size_t at = 0;
        for (size_t k = 0; k < line.spans_n; at = line.spans[k++].to)
            if (line.spans[k].from != at || line.spans[k].to <= at)
                abort();
        if (at != line.n || (i && markdown_source(m, i) < markdown_source(m, i - 1)))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const int widths[] = {1, 12, 40, 200};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        markdown *m = markdown_new((const char *)data, n, widths[i], i % 2);
        look_at(m);
        markdown_free(m);
    }
    return 0;
}
