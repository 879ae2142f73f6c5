// SPDX-License-Identifier: MIT
// Texts as they are typed: a manifest by a schema that the input brings along before a line "%%",
// and a Dockerfile. Each finding is at a place that the text has.
#include "script/api/language/language.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/schema/kindschema.h"
#include "script/api/language/place.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const cJSON *find(void *arg, const char *api_version, const char *kind, bool *absent)
{
    *absent = !arg;
    return arg;
}

static void check_places(const cJSON *found, const char *text)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, found)
    {
        const char *line = text;
        for (int64_t i = json_int_or(one, "line", 0); i > 1; i--) {
            if (!*line)
                abort();
            line += strcspn(line, "\n");
            line += *line == '\n';
        }
        int64_t from = json_int_or(one, "from", -1), to = json_int_or(one, "to", -1);
        if (from < 0 || to < from || !*json_str_or(one, "text", ""))
            abort();
        if (!utf8_valid(json_str(one, "text"), strlen(json_str(one, "text"))))
            abort();
    }
}

static void check_text(const char *language, const char *text, cJSON *picked)
{
    AUTO_JSON *found = cJSON_CreateArray();
    const struct language_text t = {.cell = "c", .language = language, .text = text, .fills = true};
    const struct language_world w = {.kind = find, .arg = picked};
    if (str_eq(language, "yaml"))
        language_manifest(&t, &w, found);
    else
        language_dockerfile(&t, found);
    check_places(found, text);
}

// The cursor at some places of the text: what is typed begins before it.
static void check_cursor(const char *text)
{
    size_t n = strlen(text);
    for (size_t at = 0; at <= n; at += 1 + n / 16) {
        struct manifest_place p;
        if (manifest_place_at(text, at, &p) && (p.from > at || at - p.from > n || !p.path))
            abort();
        manifest_place_done(&p);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    bool partial;
    AUTO_BUF clean = {0};
    utf8_clean(&clean, (const char *)data, n);
    const char *all = buf_cstr(&clean), *end = strstr(all, "\n%%\n");
    const char *text = end ? end + 4 : all;
    AUTO_JSON *document = end ? json_parse(all, (size_t)(end - all), NULL) : NULL;
    AUTO_JSON *picked = kindschema_pick(document, "v1", "Thing");
    cJSON_Delete(kindschema_kinds(document));
    AUTO_FREE char *masked = language_masked(text, true, &partial);
    if (strlen(masked) != strlen(text))
        abort();
    check_text("yaml", text, picked);
    check_cursor(text);
    check_text("dockerfile", text, NULL);
    return 0;
}
