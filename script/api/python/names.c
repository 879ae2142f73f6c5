// SPDX-License-Identifier: MIT
#include "script/api/python/names.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/api/python/asked.h"

#include <stdlib.h>
#include <string.h>

static bool is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80; // a character goes on
}

// Jupyter counts characters, we count bytes.
static int64_t characters(const char *text, size_t bytes)
{
    int64_t n = 0;
    for (size_t i = 0; i < bytes && text[i]; i++)
        n += !is_inside(text[i]);
    return n;
}

static size_t bytes_of(const char *text, int64_t characters)
{
    size_t i = 0;
    for (; text[i] && characters > 0; characters--)
        for (i++; is_inside(text[i]);)
            i++;
    return i;
}

// The names that begin as what is typed.
static cJSON *completed(const cJSON *reply, const char *source, size_t cursor)
{
    cJSON *told = cJSON_CreateObject(), *names = json_array_at(told, "matches"),
          *kinds = json_array_at(told, "kinds");
    size_t from = json_get(reply, "cursor_start")
                      ? bytes_of(source, json_int_or(reply, "cursor_start", 0))
                      : cursor;
    from = from < cursor ? from : cursor;
    const cJSON *match, *type = json_path(reply, "metadata._jupyter_types_experimental");
    type = type ? type->child : NULL;
    cJSON_ArrayForEach(match, json_get(reply, "matches"))
    {
        const char *name = cJSON_GetStringValue(match);
        if (name && strncmp(name, source + from, cursor - from) == 0) {
            cJSON_AddItemToArray(names, cJSON_CreateString(name));
            cJSON_AddItemToArray(kinds, cJSON_CreateString(json_str_or(type, "type", "value")));
        }
        type = type ? type->next : NULL;
    }
    json_set_int(told, "start", (int64_t)from);
    json_set_int(told, "end", (int64_t)cursor);
    return told;
}

// The text without colours.
static cJSON *inspected(const cJSON *reply)
{
    cJSON *told = cJSON_CreateObject();
    const char *text = json_str(json_get(reply, "data"), "text/plain");
    bool found = json_bool_or(reply, "found", false) && text;
    json_set_bool(told, "found", found);
    if (!found)
        return told;
    AUTO_BUF plain = {0};
    for (const char *at = text; *at;) {
        size_t n = *at == '\033' && at[1] == '[' ? 2 + strspn(at + 2, "0123456789;") : 0;
        if (n && at[n] == 'm')
            at += n + 1;
        else
            buf_char(&plain, *at++);
    }
    json_set_str(json_object_at(told, "data"), "text/plain", buf_cstr(&plain));
    return told;
}

int jupyter_names(call *c, const cJSON *args, cJSON **result, err *e)
{
    CLEANUP(spec_done) struct spec spec = {0};
    const char *source = json_str_or(args, "source", "");
    size_t n = strlen(source), cursor = (size_t)json_int_or(args, "cursor", 0);
    bool inspects = str_eq(json_str(args, "what"), "inspect");
    if (jupyter_spec_of(c, args, &spec, e) < 0)
        return -1;
    cursor = cursor < n ? cursor : n;
    cJSON *content = cJSON_CreateObject();
    json_set_str(content, "code", source);
    json_set_int(content, "cursor_pos", characters(source, cursor));
    if (inspects)
        json_set_int(content, "detail_level", 0);
    struct asked a = {.hub = jupyter_hub(c),
        .path = spec.path,
        .type = inspects ? "inspect_request" : "complete_request",
        .content = content};
    if (asked_ask(c, &a, e) < 0)
        return -1;
    *result = inspects ? inspected(a.reply) : completed(a.reply, source, cursor);
    cJSON_Delete(a.reply);
    return 0;
}
