// SPDX-License-Identifier: MIT
#include "tui/part/table/rowtext.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>

// The closing quote of a field that begins with one at `from`; NULL: there is none, or other text
// stands behind it.
static const char *close_of(const char *from, const char *end, char separator)
{
    end = end - from > ROWTEXT_QUOTED ? from + ROWTEXT_QUOTED : end;
    for (const char *at = from + 1; (at = memchr(at, '"', (size_t)(end - at))); at += 2) {
        if (at + 1 == end || at[1] == separator || at[1] == '\n' || at[1] == '\r')
            return at;
        if (at[1] != '"' || at + 2 >= end)
            return NULL;
    }
    return NULL;
}

size_t rowtext_end(const char *text, size_t n, enum rowtext_kind kind, char separator)
{
    const char *end = text + n, *line = n ? memchr(text, '\n', n) : NULL;
    if (kind == ROWTEXT_LINE || !line || !memchr(text, '"', (size_t)(line - text)))
        return line ? (size_t)(line - text) + 1 : SIZE_MAX;
    for (const char *at = text; at < end;) {
        const char *closed = *at == '"' ? close_of(at, end, separator) : NULL;
        at = closed ? closed + 1 : at;
        while (at < end && *at != separator && *at != '\n')
            at++;
        if (at < end && *at == '\n')
            return (size_t)(at - text) + 1;
        at++;
    }
    return SIZE_MAX;
}

bool rowtext_field(const char *row, size_t n, size_t *at, char separator, buf *out)
{
    const char *end = row + n, *from = row + (*at < n ? *at : n), *stop = from;
    while (end > row && (end[-1] == '\n' || end[-1] == '\r')) // the line's end
        end--;
    if (from >= end) {
        *at = n + 1;
        return false;
    }
    const char *closed = *from == '"' ? close_of(from, end, separator) : NULL;
    if (closed) {
        for (const char *c = from + 1; c < closed; c += 1 + (*c == '"')) // two quotes are one
            buf_char(out, *c);
        stop = closed + 1;
    } else {
        const char *found = memchr(from, separator, (size_t)(end - from));
        stop = found ? found : end;
        buf_add(out, from, (size_t)(stop - from));
    }
    *at = (size_t)(stop - row) + 1;
    return stop < end;
}

char rowtext_separator(const char *text, size_t n)
{
    static const char candidates[] = ",;\t|";
    size_t counts[sizeof candidates - 1] = {0}, best = 0;
    bool quoted = false;
    for (size_t i = 0; i < n && (text[i] != '\n' || quoted); i++) {
        const char *found = text[i] && !quoted ? strchr(candidates, text[i]) : NULL;
        quoted = quoted != (text[i] == '"');
        if (found)
            counts[found - candidates]++;
    }
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        best = counts[i] > counts[best] ? i : best;
    return candidates[best];
}
