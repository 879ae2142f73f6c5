// SPDX-License-Identifier: MIT
// Highlighting any bytes in every language: spans are in order and within their line.
#include "tui/syntax/syntax.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void highlight(syntax_language language, const char *s, const char *end)
{
    syntax_state state = 0;
    while (s < end) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((newline ? newline : end) - s), count, at = 0;
        struct span spans[SYNTAX_SPANS];
        state = syntax_line(language, state, s, n, spans, &count);
        for (size_t i = 0; i < count; at = spans[i++].to)
            if (spans[i].from < at || spans[i].to <= spans[i].from || spans[i].to > n)
                abort();
        s += n + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *s = (const char *)data;
    for (int i = 0; i < SYNTAX_LANGUAGE_COUNT; i++)
        highlight((syntax_language)i, s, s + n);
    return 0;
}
