// SPDX-License-Identifier: MIT
// The values of a Secret, decoded, for the person who asks on their own screen. They go to that
// workbench alone: no journal, no display, no report has them.
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "script/api/bindings.h"
#include "script/api/desk/desk.h"

#include <string.h>

static bool is_text(const buf *bytes)
{
    AUTO_BUF clean = {0};
    utf8_clean(&clean, bytes->data, bytes->len);
    return clean.len == bytes->len && memcmp(clean.data, bytes->data, clean.len) == 0;
}

// "key: value"; a value of several lines stands below its key.
static void add_value(const cJSON *entry, buf *out)
{
    AUTO_BUF bytes = {0};
    const char *text = cJSON_IsString(entry) ? entry->valuestring : "";
    if (base64_decode(&bytes, text, strlen(text), NULL) != 0) {
        buf_fmt(out, "%s: (not base64)\n", entry->string);
    } else if (bytes.len && !is_text(&bytes)) {
        buf_fmt(out, "%s: %zu bytes, which are no text; in base64 %s\n", entry->string, bytes.len,
            text);
    } else if (memchr(buf_cstr(&bytes), '\n', bytes.len)) {
        buf_fmt(out, "%s: |\n", entry->string);
        for (const char *line = bytes.data, *end = line + bytes.len; line < end;) {
            const char *newline = memchr(line, '\n', (size_t)(end - line));
            size_t n = (size_t)((newline ? newline : end) - line);
            buf_fmt(out, "  %.*s\n", (int)n, line);
            line += n + 1;
        }
    } else {
        buf_fmt(out, "%s: %s\n", entry->string, buf_cstr(&bytes));
    }
}

static int decode(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    AUTO_BUF text = {0};
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    if (!str_eq(t.resource->kind, "Secret") || *t.resource->group)
        return err_set(e, ERR_USAGE, "%s have nothing to decode: secrets have", t.resource->plural);
    if (!call_is_action(c))
        return err_set(e, ERR_REFUSED, "the values of a Secret are only shown to a person");
    AUTO_JSON *object = k8s_object(c, &t, e);
    if (!object)
        return -1;
    AUTO_FREE const cJSON **entries = json_sorted(json_get(object, "data"));
    for (const cJSON **entry = entries; *entry; entry++)
        add_value(*entry, &text);
    *result = cJSON_CreateObject();
    AUTO_FREE char *title = str_fmt("values of secret %s", t.name);
    json_set_str(*result, "title", title);
    json_set_str(*result, "shown", text.len ? text.data : "it has no values\n");
    explicit_bzero(text.data, text.len);
    return 0;
}

static void about_decode(call *c, const cJSON *args, struct about *about)
{
    k8s_about_call(c, args, "show the values of", "", about);
}

const struct binding desk_secret_bindings[] = {
    {.name = "k8s.decode", .effect = EFFECT_PURE, .start = decode, .describe = about_decode},
    {0},
};
