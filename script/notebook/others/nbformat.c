// SPDX-License-Identifier: MIT
#include "script/notebook/others/nbformat.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// How long the end of a line is that begins here, as Python's str.splitlines has it; 0: none does.
static size_t line_end(const char *s)
{
    static const char *const ends[] = {"\r\n", "\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e",
        "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (str_starts(s, ends[i]))
            return strlen(ends[i]);
    return 0;
}

cJSON *nbformat_lines(const char *text, size_t n)
{
    cJSON *lines = cJSON_CreateArray();
    for (size_t from = 0, at = 0; from < n; from = at) {
        size_t end = 0;
        while (at < n && !(end = line_end(text + at)))
            at += 1 + strcspn(text + at + 1, "\n\r\v\f\x1c\x1d\x1e\xc2\xe2");
        at += end;
        AUTO_FREE char *line = mem_strndup(text + from, at - from);
        cJSON_AddItemToArray(lines, cJSON_CreateString(line));
    }
    return lines;
}

char *nbformat_joined(const cJSON *value)
{
    buf text = {0};
    const cJSON *part;
    if (cJSON_IsString(value))
        return mem_strdup(value->valuestring);
    if (!cJSON_IsArray(value))
        return NULL;
    cJSON_ArrayForEach(part, value)
    {
        if (!cJSON_IsString(part)) {
            buf_done(&text);
            return NULL;
        }
        buf_str(&text, part->valuestring);
    }
    return text.data ? buf_take(&text) : mem_strdup("");
}
