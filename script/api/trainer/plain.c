// SPDX-License-Identifier: MIT
#include "script/api/trainer/plain.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_MAX = 4096, TAG_MAX = 64 };

// "\x1b[32m" and the like are left out, and what a return or backspaces have rewritten.
static void shown(const char *line, size_t n, buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (line[i] == '\033' && i + 1 < n && line[i + 1] == '[') {
            for (i += 2; i < n && (unsigned char)line[i] < 0x40;)
                i++;
        } else if (line[i] == '\r' || line[i] == '\b') {
            if (i + 1 < n) // a return at the end belongs to the line's end
                buf_clear(out);
        } else if (line[i]) {
            buf_char(out, line[i]);
        }
    }
}

// Passes over "POD | " and "[1,0]<stdout>:" (before which Horovod may have put the time). NULL: the
// line is of another rank than 0.
static const char *after_tags(const char *line)
{
    const char *bar = strstr(line, " | ");
    if (bar && bar - line < 4 * TAG_MAX && !memchr(line, ' ', (size_t)(bar - line)))
        line = bar + 3;
    const char *mark = strstr(line, "]<std");
    if (mark && mark - line < TAG_MAX && strchr(mark, ':')) {
        const char *rank = mark;
        while (rank > line && rank[-1] >= '0' && rank[-1] <= '9')
            rank--;
        if (strtol(rank, NULL, 10) != 0)
            return NULL;
        line = strchr(mark, ':') + 1;
    }
    return line + strspn(line, " ");
}

const char *plain_line(const char *line, size_t n, buf *out)
{
    if (n > LINE_MAX)
        return NULL;
    shown(line, n, out);
    return after_tags(buf_cstr(out));
}

bool plain_pair(const char **at, int64_t *a, int64_t *b)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *a = strtoll(*at, &end, 10);
    if (*end != '/')
        return false;
    const char *second = end + 1;
    *b = 0;
    if (str_starts(second, "Unknown"))
        end = (char *)second + strlen("Unknown");
    else if (*second >= '0' && *second <= '9')
        *b = strtoll(second, &end, 10);
    else
        return false;
    *at = end;
    return true;
}
