// SPDX-License-Identifier: MIT
// Manifests of Kubernetes by the schemas of their kinds, each finding at its place in the text. The
// form of YAML itself is checked elsewhere, before any cell runs.
#include "base/json/yamlmarks.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/schema/kindschema.h"
#include "script/api/language/language.h"

#include <string.h>

struct manifest {
    const struct language_text *of;
    const char *text; // masked
    const yaml_marks *marks;
    const cJSON *document;
    cJSON *found;
};

// The nearest value with a place, from the document down to this one; an alias has none.
static const cJSON *find_marked(const struct manifest *m, const cJSON *in, const cJSON *at)
{
    const cJSON *one;
    if (in == at)
        return in;
    cJSON_ArrayForEach(one, in)
    {
        const cJSON *found =
            one == at || cJSON_IsObject(one) || cJSON_IsArray(one) ? find_marked(m, one, at) : NULL;
        if (found)
            return yaml_mark_of(m->marks, found) ? found : in;
    }
    return NULL;
}

static struct language_place place_of(const struct manifest *m, const cJSON *at, bool key)
{
    const cJSON *value = yaml_mark_of(m->marks, at) ? at : find_marked(m, m->document, at);
    const struct yaml_mark *mark = yaml_mark_of(m->marks, value ? value : m->document);
    struct language_place p = {0};
    if (!mark)
        return p;
    bool scalar = !cJSON_IsObject(value) && !cJSON_IsArray(value);
    if (mark->has_key && (key || !scalar)) {
        p.line = mark->key_line;
        p.from = language_bytes(m->text, p.line, mark->key_column);
        p.to = p.from + (value && value->string ? strlen(value->string) : 1);
        return p;
    }
    p.line = mark->line;
    p.from = language_bytes(m->text, p.line, mark->column);
    p.to = scalar && mark->end_line == mark->line
               ? language_bytes(m->text, p.line, mark->end_column)
               : language_bytes(m->text, p.line, 4096);
    return p;
}

static void tell(void *arg, const cJSON *at, bool key, const char *text)
{
    const struct manifest *m = arg;
    const struct language_finding f = {place_of(m, at, key), LANGUAGE_ERROR, "kubernetes"};
    language_add(m->found, m->of, &f, "%s", text);
}

// Files that look like manifests, and are for other programs than a server.
static bool is_for_servers(const char *api_version, const char *kind)
{
    return !strstr(api_version, "config") && !str_starts(api_version, "kind.x-k8s.io/") &&
           !str_starts(api_version, "kubeadm.") && !str_eq(kind, "Config");
}

static void check_name(struct manifest *m, const cJSON *object, bool partial)
{
    const cJSON *meta = json_get(object, "metadata");
    bool named = json_get(meta, "name") || json_get(meta, "generateName");
    const char *kind = json_str_or(object, "kind", "");
    bool is_question = str_ends(kind, "Review");
    if (partial || named || is_question || str_eq(kind, "List"))
        return;
    if (!meta || cJSON_IsNull(meta) || cJSON_IsObject(meta))
        tell(m, meta ? meta : object, meta != NULL,
            "metadata has neither name nor generateName, and one of them must be there");
}

static void check_object(struct manifest *m, const struct language_world *w, const cJSON *object,
    bool partial, int depth)
{
    const cJSON *api = json_get(object, "apiVersion"), *kind = json_get(object, "kind"), *item;
    bool absent = false;
    if (!cJSON_IsString(kind) || language_is_masked(kind->valuestring))
        return;
    if (!cJSON_IsString(api)) {
        if (!api && !partial && json_get(object, "metadata") && json_get(object, "spec"))
            tell(m, object, false, "apiVersion is missing");
        return;
    }
    if (language_is_masked(api->valuestring) ||
        !is_for_servers(api->valuestring, kind->valuestring))
        return;
    if (str_eq(kind->valuestring, "List") && depth == 0) {
        cJSON_ArrayForEach(item, json_get(object, "items"))
        {
            check_object(m, w, item, partial, depth + 1);
        }
        return;
    }
    const cJSON *picked =
        w->kind ? w->kind(w->arg, api->valuestring, kind->valuestring, &absent) : NULL;
    const struct kindschema_ask ask = {language_is_masked, partial, tell, m};
    if (picked) {
        kindschema_check(picked, object, &ask);
        check_name(m, object, partial);
    } else if (absent) {
        const struct language_finding f = {
            place_of(m, kind, false), LANGUAGE_WARNING, "kubernetes"};
        language_add(m->found, m->of, &f, "the cluster has no kind %s in %s", kind->valuestring,
            api->valuestring);
    }
}

void language_manifest(const struct language_text *t, const struct language_world *w, cJSON *found)
{
    bool partial;
    yaml_marks *marks = yaml_marks_new();
    AUTO_FREE char *text = language_masked(t->text, t->fills, &partial);
    AUTO_JSON *documents = yaml_parse_marked(text, strlen(text), marks, NULL);
    const cJSON *one;
    cJSON_ArrayForEach(one, documents)
    {
        struct manifest m = {t, text, marks, one, found};
        check_object(&m, w, one, partial, 0);
    }
    yaml_marks_free(marks);
}
