// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "script/api/language/language.h"

#include <stdarg.h>
#include <stdlib.h>

enum { MOST = 1000 }; // findings

void language_add(cJSON *found, const struct language_text *t, const struct language_finding *f,
    const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    if (cJSON_GetArraySize(found) >= MOST)
        return;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    cJSON *one = cJSON_CreateObject();
    json_set_str(one, "cell", t->cell);
    json_set_int(one, "line", (int64_t)f->at.line + 1 + t->skipped);
    json_set_int(one, "from", (int64_t)f->at.from);
    json_set_int(one, "to", (int64_t)f->at.to);
    json_set_str(one, "severity", f->severity == LANGUAGE_ERROR ? "error" : "warning");
    json_set_str(one, "text", str_short(buf_cstr(&text), 400).text);
    json_set_str(one, "source", f->source);
    cJSON_AddItemToArray(found, one);
}

void language_check(
    const struct language_text *texts, size_t n, const struct language_world *w, cJSON *found)
{
    for (size_t i = 0; i < n; i++) {
        const struct language_text *t = &texts[i];
        if (str_eq(t->language, "yaml"))
            language_manifest(t, w, found);
        else if (str_eq(t->language, "dockerfile"))
            language_dockerfile(t, found);
        else if (str_eq(t->language, "bash"))
            language_bash(t, w, found);
    }
    language_python(texts, n, w, found);
}

void language_check_all(const cJSON *list, const struct language_world *w, cJSON *found)
{
    size_t n = 0;
    const cJSON *one;
    struct language_text *texts = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *texts);
    cJSON_ArrayForEach(one, list)
    {
        texts[n++] = (struct language_text){.cell = json_str_or(one, "cell", ""),
            .language = json_str_or(one, "language", ""),
            .text = json_str_or(one, "text", ""),
            .skipped = (int)json_int_or(one, "skipped", 0),
            .fills = json_bool_or(one, "fills", false),
            .magics = json_bool_or(one, "magics", false)};
    }
    language_check(texts, n, w, found);
    free(texts);
}
