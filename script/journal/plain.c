// SPDX-License-Identifier: MIT
#include "script/journal/plain.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/html_plain.h"

#include <string.h>

static void what_it_is(const cJSON *item, buf *out)
{
    buf_str(out, item->string);
    if (!cJSON_IsString(item))
        return;
    bool coded = str_starts(item->string, "image/") && !str_ends(item->string, "+xml");
    size_t bytes = strlen(item->valuestring);
    bytes = coded ? bytes / 4 * 3 : bytes;
    if (bytes < 1024)
        buf_fmt(out, ", %zu bytes", bytes);
    else if (bytes < 1024 * 1024)
        buf_fmt(out, ", %.1f KB", (double)bytes / 1024);
    else
        buf_fmt(out, ", %.1f MB", (double)bytes / (1024 * 1024));
}

static bool is_drawn(const cJSON *data)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, data)
    {
        if (str_starts(item->string, "application/vnd.firesteel.") ||
            str_eq(item->string, "text/markdown"))
            return true;
    }
    return false;
}

void plain_stand_in(const cJSON *data, buf *out)
{
    const char *html = json_str(data, "text/html");
    const cJSON *json = json_get(data, "application/json"), *item;
    if (is_drawn(data))
        return;
    AUTO_BUF text = {0};
    if (html)
        html_plain(html, &text);
    cJSON_ArrayForEach(item, data)
    {
        if (!text.len && item != json_get(data, "text/html") && cJSON_IsString(item) &&
            str_starts(item->string, "text/"))
            buf_str(&text, item->valuestring);
    }
    if (!text.len && json)
        json_print_pretty(&text, json, 2);
    if (!text.len && data->child)
        what_it_is(data->child, &text);
    buf_add(out, buf_cstr(&text), text.len);
}
