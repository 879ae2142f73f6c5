// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/lua_lines.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

// jupytext's rule for Lua: white space, comment marks with or without a space, one to three '%', a
// letter. The rule looks only at the text, so it also matches a comment like "-- %d items".
bool magic_line(const char *line, size_t n)
{
    const char *p = line, *end = line + n;
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end - p >= 2 && p[0] == '-' && p[1] == '-') {
        p += 2;
        if (p < end && *p == ' ')
            p++;
    }
    int percents = 0;
    while (p < end && *p == '%' && percents < 3)
        p++, percents++;
    return percents > 0 && p < end && isalpha((unsigned char)*p);
}

static void uncomment_line(const char *line, size_t n, buf *out)
{
    size_t indent = 0;
    while (indent < n && isspace((unsigned char)line[indent]))
        indent++;
    buf_add(out, line, indent);
    line += indent, n -= indent;
    size_t mark = n >= 3 && !strncmp(line, "-- ", 3)  ? 3
                  : n >= 2 && !strncmp(line, "--", 2) ? 2
                                                      : 0;
    buf_add(out, line + mark, n - mark);
}

char *magics_uncomment(const char *source)
{
    if (!strchr(source, '%')) // as in most cells
        return mem_strdup(source);
    buf out = {0};
    for (const char *line = source;;) {
        size_t n = strcspn(line, "\n");
        if (magic_line(line, n))
            uncomment_line(line, n, &out);
        else
            buf_add(&out, line, n);
        if (!line[n])
            break;
        buf_char(&out, '\n');
        line += n + 1;
    }
    return out.data ? buf_take(&out) : mem_strdup("");
}

void magics_comment(const char *source, bool lua, buf *out)
{
    lua_lines state = {0};
    for (const char *line = source;;) {
        size_t n = strcspn(line, "\n"), indent = 0;
        if (!state.inside && magic_line(line, n)) {
            indent = strspn(line, " \t");
            buf_add(out, line, indent);
            buf_str(out, "-- ");
        }
        buf_add(out, line + indent, n - indent);
        if (lua)
            lua_lines_feed(&state, line, n);
        if (!line[n])
            break;
        buf_char(out, '\n');
        line += n + 1;
    }
}
