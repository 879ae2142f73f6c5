// SPDX-License-Identifier: MIT
// Outputs of programs: whatever the bytes and however they are cut, no control byte gets
// through, and the lines are the same.
#include "base/text/ansi.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"
#include "tui/grid/grid.h"

#include <stdlib.h>

static void check_text(const char *s, size_t n)
{
    if (!utf8_valid(s, n))
        abort();
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7F)
            abort();
}

static void lines(const char *bytes, size_t n, size_t limit, size_t chunk, buf *out)
{
    ansi_text *t = ansi_text_new(limit);
    grid *g = grid_new(20, 1);
    for (size_t i = 0; i < n; i += chunk)
        ansi_text_feed(t, bytes + i, n - i < chunk ? n - i : chunk);
    for (size_t i = 0; i < ansi_text_lines(t); i++) {
        struct ansi_line l = ansi_text_line(t, i);
        check_text(l.text, l.n);
        size_t at = 0;
        for (size_t s = 0; s < l.spans_n; at = l.spans[s++].to)
            if (l.spans[s].from != at || l.spans[s].to <= at)
                abort();
        if (at != l.n)
            abort();
        grid_put(g, (rect){3, 0, 10, 1}, 1, 0, l.text, l.n, (style){0});
        buf_add(out, l.text, l.n);
        buf_char(out, '\n');
    }
    grid_free(g);
    ansi_text_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *bytes = (const char *)data;
    AUTO_BUF whole = {0}, pieces = {0}, all = {0};
    lines(bytes, n, 20, n ? n : 1, &whole);
    lines(bytes, n, 20, 1, &pieces);
    lines(bytes, n, 0, 3, &all);
    if (!str_eq(buf_cstr(&whole), buf_cstr(&pieces)))
        abort();
    if (!str_ends(buf_cstr(&all), buf_cstr(&whole))) // the newest are the same ones
        abort();
    return 0;
}
