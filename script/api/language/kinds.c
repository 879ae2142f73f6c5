// SPDX-License-Identifier: MIT
#include "script/api/language/kinds.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/schema/kindschema.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 24 };
static const int64_t fresh = 60 * CLOCK_SEC; // how long the index of a server is believed
static const int64_t rest = 30 * CLOCK_SEC;  // after the server did not answer

struct kept {
    char *api_version, *kind;
    char *url;     // of the document; "": the built-in one
    cJSON *picked; // NULL: it has no such kind
    uint64_t used;
};

struct language_kinds {
    pthread_mutex_t lock;
    char *sandbox;
    char *server; // whose index this is
    cJSON *index;
    int64_t asked, failed; // clock_mono() ns; 0: never
    struct kept kept[KEPT];
    uint64_t uses;
};

char *language_sandbox(const char *kernel)
{
    AUTO_FREE char *folder = kernel ? path_dirname(kernel) : NULL;
    AUTO_FREE char *path = folder ? path_join(folder, "firesteel-sandbox") : NULL;
    return path && access(path, X_OK) == 0 ? STEAL(path) : NULL;
}

language_kinds *language_kinds_new(const char *sandbox)
{
    language_kinds *k = mem_alloc(sizeof *k);
    *k = (language_kinds){.sandbox = mem_strdup(sandbox)};
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

static void forget(struct kept *one)
{
    free(one->api_version);
    free(one->kind);
    free(one->url);
    cJSON_Delete(one->picked);
    *one = (struct kept){0};
}

void language_kinds_free(language_kinds *k)
{
    if (!k)
        return;
    for (int i = 0; i < KEPT; i++)
        forget(&k->kept[i]);
    cJSON_Delete(k->index);
    free(k->server);
    free(k->sandbox);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

static struct kept *find(
    language_kinds *k, const char *api_version, const char *kind, const char *url)
{
    for (int i = 0; i < KEPT; i++) {
        struct kept *one = &k->kept[i];
        if (str_eq(one->api_version, api_version) && str_eq(one->kind, kind) &&
            str_eq(one->url, url)) {
            one->used = ++k->uses;
            return one;
        }
    }
    return NULL;
}

// In place of an older schema of the same kind, else of the one that was asked for longest ago.
static struct kept *keep(
    language_kinds *k, const char *api_version, const char *kind, const char *url, cJSON *picked)
{
    struct kept *to = &k->kept[0];
    for (int i = 0; i < KEPT; i++)
        to = k->kept[i].used < to->used ? &k->kept[i] : to;
    forget(to);
    *to = (struct kept){
        mem_strdup(api_version), mem_strdup(kind), mem_strdup(url), picked, ++k->uses};
    return to;
}

static cJSON *built_in(const struct language_asking *a)
{
    const char *const argv[] = {a->kinds->sandbox, "--openapi", NULL};
    AUTO_BUF out = {0}, said = {0};
    if (!argv[0] || language_program(argv, "", 0, a->world, &out, &said) != 0)
        return NULL;
    return json_parse(buf_cstr(&out), out.len, NULL);
}

// Asks for the index again when it is old. NULL: the server does not answer.
static const cJSON *fresh_index(struct language_asking *a)
{
    language_kinds *k = a->kinds;
    const char *server = client_config(a->client)->server;
    int64_t now = clock_mono();
    if (!str_eq(k->server, server)) {
        cJSON_Delete(STEAL(k->index));
        free(k->server);
        k->server = mem_strdup(server);
        k->asked = k->failed = 0;
    }
    bool old = !k->index || now - k->asked > fresh;
    if (!old || (k->failed && now - k->failed < rest))
        return k->index;
    cJSON *index = client_openapi_index(a->client, &a->patience, NULL);
    k->failed = index ? 0 : now;
    k->asked = index ? now : k->asked;
    if (index) {
        cJSON_Delete(k->index);
        k->index = index;
    }
    return k->index;
}

static const cJSON *find_built_in(
    struct language_asking *a, const char *api_version, const char *kind)
{
    struct kept *one = find(a->kinds, api_version, kind, "");
    if (one)
        return one->picked;
    AUTO_JSON *document = built_in(a);
    cJSON *picked = document ? kindschema_pick(document, api_version, kind) : NULL;
    return document ? keep(a->kinds, api_version, kind, "", picked)->picked : NULL;
}

static const cJSON *find_in_cluster(struct language_asking *a, const cJSON *index,
    const char *api_version, const char *kind, bool *absent)
{
    const char *url = client_openapi_url(index, api_version);
    struct kept *one = url ? find(a->kinds, api_version, kind, url) : NULL;
    if (url && !one) {
        AUTO_JSON *document = client_openapi_at(a->client, &a->patience, url, NULL);
        if (!document)
            return NULL;
        one = keep(a->kinds, api_version, kind, url, kindschema_pick(document, api_version, kind));
    }
    *absent = !one || !one->picked;
    return one ? one->picked : NULL;
}

const cJSON *language_kinds_find(void *arg, const char *api_version, const char *kind, bool *absent)
{
    struct language_asking *a = arg;
    *absent = false;
    pthread_mutex_lock(&a->kinds->lock);
    const cJSON *index = a->client ? fresh_index(a) : NULL;
    const cJSON *found = index ? find_in_cluster(a, index, api_version, kind, absent)
                               : find_built_in(a, api_version, kind);
    pthread_mutex_unlock(&a->kinds->lock);
    return found;
}

static bool add_kind(void *arg, const struct resource *r)
{
    cJSON *one = cJSON_CreateObject();
    json_set_str(one, "apiVersion", r->api_version);
    json_set_str(one, "kind", r->kind);
    cJSON_AddItemToArray(arg, one);
    return true;
}

cJSON *language_kinds_list(struct language_asking *a)
{
    AUTO_JSON *list = cJSON_CreateArray();
    if (a->client && client_resources(a->client, &a->patience, add_kind, list, NULL) == 0 &&
        list->child)
        return STEAL(list);
    pthread_mutex_lock(&a->kinds->lock);
    AUTO_JSON *document = built_in(a);
    pthread_mutex_unlock(&a->kinds->lock);
    return kindschema_kinds(document);
}
