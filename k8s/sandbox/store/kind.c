// SPDX-License-Identifier: MIT
#include "k8s/sandbox/store/kind.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

#define NAMESPACED     KIND_NAMESPACED
#define HAS_STATUS     KIND_HAS_STATUS
#define HAS_LOG        KIND_HAS_LOG
#define HAS_GENERATION KIND_HAS_GENERATION
#define IS_CUSTOM      KIND_IS_CUSTOM
#define IS_REVIEW      KIND_IS_REVIEW
const struct kind kind_builtin[KIND_COUNT] = {
#define X(id, group, version, resource, singular, name, shorts, categories, flags)                 \
    [KIND_##id] = {group, version, resource, singular, name, shorts, categories, flags, NULL},
#include "k8s/sandbox/store/kind.def"
#undef X
};

// The kind of a CRD's version owns its strings through the copy of the CRD. A removed kind stays
// allocated, since snapshots still point to it, but it is found no more.
struct custom {
    struct kind kind;
    cJSON *crd;
    char *short_names, *categories;
    bool removed;
    struct custom *next;
};

struct kinds {
    struct custom *customs;
};

char *kind_api_version(const struct kind *k)
{
    return *k->group ? str_fmt("%s/%s", k->group, k->version) : mem_strdup(k->version);
}

char *kind_qualified(const struct kind *k)
{
    return *k->group ? str_fmt("%s.%s", k->resource, k->group) : mem_strdup(k->resource);
}

kinds *kinds_new(void)
{
    return mem_alloc(sizeof(kinds));
}

void kinds_free(kinds *ks)
{
    while (ks && ks->customs) {
        struct custom *c = ks->customs;
        ks->customs = c->next;
        cJSON_Delete(c->crd);
        free(c->short_names);
        free(c->categories);
        free(c);
    }
    free(ks);
}

const struct kind *kinds_at(const kinds *ks, size_t i)
{
    if (i < KIND_COUNT)
        return &kind_builtin[i];
    i -= KIND_COUNT;
    for (const struct custom *c = ks->customs; c; c = c->next)
        if (!c->removed && i-- == 0)
            return &c->kind;
    return NULL;
}

const struct kind *kinds_find(
    const kinds *ks, const char *group, const char *version, const char *resource)
{
    const struct kind *k;
    for (size_t i = 0; (k = kinds_at(ks, i)); i++)
        if (str_eq(k->group, group) && str_eq(k->version, version) && str_eq(k->resource, resource))
            return k;
    return NULL;
}

static char *join(const cJSON *strings)
{
    buf b = {0};
    const cJSON *s;
    cJSON_ArrayForEach(s, strings)
        buf_fmt(&b, "%s%s", b.len ? "," : "", cJSON_IsString(s) ? s->valuestring : "");
    return b.data ? buf_take(&b) : mem_strdup("");
}

static void add_version(kinds *ks, const cJSON *source, const cJSON *version)
{
    struct custom *c = mem_alloc(sizeof *c);
    c->crd = cJSON_Duplicate(source, true);
    const cJSON *spec = json_get(c->crd, "spec"), *names = json_get(spec, "names"), *v;
    const char *wanted = json_str_or(version, "name", "");
    cJSON_ArrayForEach(
        v, json_get(spec, "versions")) if (str_eq(json_str(v, "name"), wanted)) break;
    c->short_names = join(json_get(names, "shortNames"));
    c->categories = join(json_get(names, "categories"));
    bool namespaced = str_eq(json_str(spec, "scope"), "Namespaced");
    bool status = json_path(v, "subresources.status") != NULL;
    c->kind = (struct kind){
        .group = json_str_or(spec, "group", ""),
        .version = json_str_or(v, "name", ""),
        .resource = json_str_or(names, "plural", ""),
        .singular = json_str_or(names, "singular", ""),
        .kind = json_str_or(names, "kind", ""),
        .short_names = c->short_names,
        .categories = c->categories,
        .flags = (namespaced ? KIND_NAMESPACED : 0) | (status ? KIND_HAS_STATUS : 0) |
                 KIND_HAS_GENERATION | KIND_IS_CUSTOM,
        .columns = json_get(v, "additionalPrinterColumns"),
    };
    // It goes to the end, so that discovery lists CRDs in their order of arrival.
    struct custom **end = &ks->customs;
    while (*end)
        end = &(*end)->next;
    *end = c;
}

// A kind that is still served keeps its record, and so its pointer; only its contents are new.
static bool replace_version(kinds *ks, const cJSON *crd, const cJSON *version)
{
    const char *group = json_path_str(crd, "spec.group");
    const char *plural = json_path_str(crd, "spec.names.plural");
    for (struct custom *c = ks->customs; c; c = c->next)
        if (str_eq(c->kind.group, group) && str_eq(c->kind.resource, plural) &&
            str_eq(c->kind.version, json_str(version, "name"))) {
            struct custom *next = c->next;
            kinds fresh = {0};
            add_version(&fresh, crd, version);
            struct custom old = *c;
            *c = *fresh.customs;
            c->next = next;
            *fresh.customs = old;
            fresh.customs->next = NULL;
            cJSON_Delete(fresh.customs->crd);
            free(fresh.customs->short_names);
            free(fresh.customs->categories);
            free(fresh.customs);
            return true;
        }
    return false;
}

int kinds_add_crd(kinds *ks, const cJSON *crd, err *e)
{
    const char *group = json_path_str(crd, "spec.group");
    const char *plural = json_path_str(crd, "spec.names.plural");
    const cJSON *versions = json_path(crd, "spec.versions"), *v;
    if (!group || !plural || !json_path_str(crd, "spec.names.kind") || !cJSON_IsArray(versions))
        return err_set(e, ERR_INVALID, "spec: group, names.plural, names.kind, versions: required");
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (str_eq(kind_builtin[i].group, group) && str_eq(kind_builtin[i].resource, plural))
            return 0; // a built-in kind with its controller is used instead
    cJSON_ArrayForEach(v, versions) if (json_bool_or(v, "served", false) &&
                                        !replace_version(ks, crd, v)) add_version(ks, crd, v);
    return 0;
}

void kinds_remove_crd(kinds *ks, const cJSON *crd)
{
    for (struct custom *c = ks->customs; c; c = c->next)
        if (str_eq(c->kind.group, json_path_str(crd, "spec.group")) &&
            str_eq(c->kind.resource, json_path_str(crd, "spec.names.plural")))
            c->removed = true;
}
