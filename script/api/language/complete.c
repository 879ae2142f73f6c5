// SPDX-License-Identifier: MIT
// Fields and values for the cursor in a manifest, by the schema of its kind; what a field means.
#include "script/api/language/complete.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/schema/kindschema.h"
#include "script/api/language/place.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES = 200, SENTENCE = 160 };

struct completing {
    struct language_asking *asking;
    const struct manifest_place *place;
    const cJSON *picked;
    const char *typed;
    size_t n;
    cJSON *matches, *kinds, *details;
};

static bool is_there(char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (str_eq(*list, name))
            return true;
    return false;
}

// The first sentence of a description.
static char *first_sentence(const char *words)
{
    size_t n = strcspn(words, "\n");
    const char *dot = strstr(words, ". ");
    if (dot && (size_t)(dot - words) < n)
        n = (size_t)(dot - words) + 1;
    AUTO_FREE char *one = mem_strndup(words, n);
    return mem_strdup(str_short(one, SENTENCE).text);
}

static void add(struct completing *c, const char *match, const char *kind, const char *words)
{
    AUTO_FREE char *sentence = first_sentence(words);
    const cJSON *one;
    if (strncmp(match, c->typed, c->n) != 0)
        return;
    cJSON_ArrayForEach(one, c->matches)
    {
        if (str_eq(one->valuestring, match))
            return;
    }
    cJSON_AddItemToArray(c->matches, cJSON_CreateString(match));
    cJSON_AddItemToArray(c->kinds, cJSON_CreateString(kind));
    cJSON_AddItemToArray(c->details, cJSON_CreateString(sentence));
}

static void add_field(void *arg, const char *name, const cJSON *field, bool required)
{
    struct completing *c = arg;
    AUTO_FREE char *type = kindschema_type(c->picked, field);
    bool opens = str_starts(type, "[]") || str_starts(type, "map[") ||
                 (*type >= 'A' && *type <= 'Z' && !str_eq(type, "Quantity") &&
                     !str_eq(type, "IntOrString") && !str_eq(type, "Time"));
    AUTO_FREE char *match = str_fmt(opens ? "%s:" : "%s: ", name);
    AUTO_FREE char *kind = str_fmt("%s%s", type, required ? ", needed" : "");
    if (!is_there(c->place->siblings, name))
        add(c, match, kind, kindschema_words(c->picked, field));
}

// Fields whose values are names of objects.
static const struct {
    const char *end, *kind; // of the path, joined by '.'
} references[] = {{"serviceAccountName", "serviceaccounts"}, {"serviceAccount", "serviceaccounts"},
    {"configMapRef.name", "configmaps"}, {"configMapKeyRef.name", "configmaps"},
    {"configMap.name", "configmaps"}, {"secretName", "secrets"}, {"secretRef.name", "secrets"},
    {"secretKeyRef.name", "secrets"}, {"imagePullSecrets.[].name", "secrets"},
    {"claimName", "persistentvolumeclaims"}, {"priorityClassName", "priorityclasses"},
    {"storageClassName", "storageclasses"}, {"runtimeClassName", "runtimeclasses"},
    {"ingressClassName", "ingressclasses"}, {"metadata.namespace", "namespaces"}};

static void add_names(struct completing *c, const char *kind)
{
    client *cl = c->asking->client;
    const struct list_query query = {.limit = NAMES};
    const struct resource *r = cl ? client_resource(cl, &c->asking->patience, kind, NULL) : NULL;
    AUTO_JSON *page =
        r ? client_page(cl, &c->asking->patience, r,
                r->namespaced ? client_config(cl)->namespace_ : NULL, &query, NULL, NULL)
          : NULL;
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(page, "items"))
    {
        const char *name = json_path_str(item, "metadata.name");
        if (name)
            add(c, name, r->kind, "");
    }
}

static void add_references(struct completing *c)
{
    AUTO_BUF path = {0};
    for (char **p = c->place->path; *p; p++)
        buf_fmt(&path, "%s%s", path.len ? "." : "", *p);
    for (size_t i = 0; i < ARRAY_LEN(references); i++) {
        const char *whole = buf_cstr(&path), *end = references[i].end;
        size_t before = strlen(whole) - strlen(end);
        if (str_ends(whole, end) && (before == 0 || whole[before - 1] == '.')) {
            add_names(c, references[i].kind);
            return;
        }
    }
}

static void add_values(struct completing *c, const cJSON *schema)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, kindschema_values(c->picked, schema))
    {
        if (cJSON_IsString(one) && *one->valuestring)
            add(c, one->valuestring, "value", "");
    }
    AUTO_FREE char *type = schema ? kindschema_type(c->picked, schema) : NULL;
    if (str_eq(type, "boolean")) {
        add(c, "true", "value", "");
        add(c, "false", "value", "");
    }
    add_references(c);
}

// "apiVersion" and "kind", each by the other where that is written.
static bool add_kinds(struct completing *c)
{
    const struct manifest_place *p = c->place;
    bool top = p->path[0] && !p->path[1] && p->value;
    bool kind = top && str_eq(p->path[0], "kind"), api = top && str_eq(p->path[0], "apiVersion");
    if (!kind && !api)
        return false;
    AUTO_JSON *all = language_kinds_list(c->asking);
    const cJSON *one;
    cJSON_ArrayForEach(one, all)
    {
        const char *its_api = json_str_or(one, "apiVersion", "");
        const char *its_kind = json_str_or(one, "kind", "");
        if (kind && (!p->api_version || str_eq(p->api_version, its_api)))
            add(c, its_kind, its_api, "");
        else if (api && (!p->kind || str_eq(p->kind, its_kind)))
            add(c, its_api, p->kind ? its_kind : "", "");
    }
    return true;
}

static const cJSON *kind_of(struct language_asking *a, const struct manifest_place *p)
{
    bool absent;
    return p->api_version && p->kind ? language_kinds_find(a, p->api_version, p->kind, &absent)
                                     : NULL;
}

static void complete_place(struct completing *c)
{
    const struct manifest_place *p = c->place;
    if (add_kinds(c))
        return;
    c->picked = kind_of(c->asking, p);
    const cJSON *schema = c->picked ? kindschema_at(c->picked, (const char *const *)p->path) : NULL;
    if (p->value) {
        add_values(c, schema);
        return;
    }
    if (schema)
        kindschema_fields(c->picked, schema, add_field, c);
    static const char *const top[] = {"apiVersion", "kind", "metadata"};
    for (size_t i = 0; !p->path[0] && i < ARRAY_LEN(top); i++) {
        AUTO_FREE char *match = str_fmt(i == 2 ? "%s:" : "%s: ", top[i]);
        if (!is_there(p->siblings, top[i]))
            add(c, match, "needed", "");
    }
}

cJSON *language_complete(struct language_asking *a, const char *text, size_t cursor)
{
    struct manifest_place place;
    cJSON *reply = cJSON_CreateObject();
    bool is = manifest_place_at(text, cursor, &place);
    struct completing c = {.asking = a,
        .place = &place,
        .typed = text + place.from,
        .n = is ? cursor - place.from : 0,
        .matches = json_array_at(reply, "matches"),
        .kinds = json_array_at(reply, "kinds"),
        .details = json_array_at(reply, "details")};
    json_set_int(reply, "start", (int64_t)(is ? place.from : cursor));
    json_set_int(reply, "end", (int64_t)cursor);
    if (is)
        complete_place(&c);
    manifest_place_done(&place);
    return reply;
}

static void add_listed(void *arg, const char *name, const cJSON *field, bool required)
{
    struct completing *c = arg;
    AUTO_FREE char *type = kindschema_type(c->picked, field);
    AUTO_FREE char *line = str_fmt("%s <%s>%s", name, type, required ? " needed" : "");
    cJSON_AddItemToArray(c->matches, cJSON_CreateString(line));
}

static void describe(struct language_asking *a, const struct manifest_place *p, buf *out)
{
    enum { FIELDS = 60 };
    const cJSON *picked = kind_of(a, p), *one;
    const cJSON *schema = picked ? kindschema_at(picked, (const char *const *)p->path) : NULL;
    if (!schema)
        return;
    AUTO_FREE char *type = kindschema_type(picked, schema);
    AUTO_JSON *fields = cJSON_CreateArray();
    struct completing c = {.picked = picked, .matches = fields};
    buf_str(out, p->kind);
    for (char **step = p->path; *step; step++)
        buf_fmt(out, "%s%s", str_eq(*step, "[]") ? "" : ".", *step);
    buf_fmt(out, " <%s>\n", type);
    if (*kindschema_words(picked, schema))
        buf_fmt(out, "\n%s\n", kindschema_words(picked, schema));
    const cJSON *values = kindschema_values(picked, schema);
    buf_str(out, values && values->child ? "\nOne of:" : "");
    cJSON_ArrayForEach(one, values)
    {
        if (cJSON_IsString(one))
            buf_fmt(out, " %s", one->valuestring);
    }
    kindschema_fields(picked, schema, add_listed, &c);
    int n = 0;
    cJSON_ArrayForEach(one, fields)
    {
        if (n++ < FIELDS)
            buf_fmt(out, "%s%s", n == 1 ? "\nFields:\n  " : "\n  ", one->valuestring);
    }
}

cJSON *language_inspect(struct language_asking *a, const char *text, size_t cursor)
{
    struct manifest_place place;
    AUTO_BUF out = {0};
    size_t end = cursor; // the whole word counts, wherever the cursor is in it
    while (text[end] && !strchr(" \t\n:", text[end]))
        end++;
    if (manifest_place_at(text, end, &place) && !place.value) {
        AUTO_FREE char *key = mem_strndup(text + place.from, end - place.from);
        place.path = strv_add(place.path, key);
    }
    describe(a, &place, &out);
    manifest_place_done(&place);
    cJSON *reply = cJSON_CreateObject();
    json_set_bool(reply, "found", out.len > 0);
    json_set_str(json_object_at(reply, "data"), "text/plain", buf_cstr(&out));
    return reply;
}
