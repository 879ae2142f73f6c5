// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "k8s/sandbox/registry/registry_private.h"

#include <string.h>

// Answers one page of at most n sorted names after `last`, with a link to the next page.
static void answer_page(registry_exchange *x, struct registry_response *r, const char *key,
    char *const *names, const char *path)
{
    const char *last = registry_query(x, "last"), *n_text = registry_query(x, "n");
    int64_t n = INT64_MAX, taken = 0;
    if (n_text && (!str_to_int(n_text, &n) || n < 0)) {
        registry_fail(x, 400, "PAGINATION_NUMBER_INVALID", "n is not a number");
        return;
    }
    AUTO_JSON *json = cJSON_CreateObject();
    if (x->name)
        json_set_str(json, "name", x->name);
    cJSON *list = json_array_at(json, key);
    for (size_t i = 0; names[i]; i++) {
        if (last && strcmp(names[i], last) <= 0)
            continue;
        if (taken++ == n) {
            if (i > 0 && n > 0)
                registry_add_header(r, "Link", "<%s?n=%lld&last=%s>; rel=\"next\"", path,
                    (long long)n, names[i - 1]);
            break;
        }
        cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
    }
    registry_answer_json(r, 200, json);
}

static void get_base(registry_exchange *x, struct registry_response *r)
{
    AUTO_JSON *json = cJSON_CreateObject();
    registry_answer_json(r, 200, json);
}

// Names of all repositories, or the tags of `only`.
static char **list_names(registry_exchange *x, const char *only, err *e)
{
    struct image_tag *tags;
    size_t n;
    if (image_store_tags(x->r->store, &tags, &n, e))
        return NULL;
    char **names = mem_alloc(sizeof *names);
    for (size_t i = 0; i < n; i++) {
        char *colon = strrchr(tags[i].ref, ':');
        *colon = '\0';
        size_t have = strv_len(names);
        if (only && str_eq(tags[i].ref, only))
            names = strv_add(names, colon + 1);
        if (!only && (have == 0 || !str_eq(names[have - 1], tags[i].ref)))
            names = strv_add(names, tags[i].ref);
    }
    image_tags_free(tags, n);
    return names;
}

static void get_catalog(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    char **names = list_names(x, NULL, &e);
    if (!names) {
        registry_fail_by(x, &e, "UNKNOWN", "UNKNOWN");
        return;
    }
    answer_page(x, r, "repositories", names, "/v2/_catalog");
    strv_free(names);
}

static void get_tags(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    char **names = list_names(x, x->name, &e);
    if (!names) {
        registry_fail_by(x, &e, "UNKNOWN", "UNKNOWN");
    } else if (!names[0]) {
        registry_fail(x, 404, "NAME_UNKNOWN", "there is no repository %s", x->name);
    } else {
        AUTO_FREE char *path = str_fmt("/v2/%s/tags/list", x->name);
        answer_page(x, r, "tags", names, path);
    }
    strv_free(names);
}

const struct op registry_list_ops[] = {
    {"GET", RES_BASE, NULL, get_base},
    {"GET", RES_CATALOG, NULL, get_catalog},
    {"GET", RES_TAGS, NULL, get_tags},
    {0},
};
