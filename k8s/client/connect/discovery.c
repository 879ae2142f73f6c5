// SPDX-License-Identifier: MIT
// Finds the kinds that the server has, and the kind that a word means. The server is asked on first
// use, and again when a word is unknown: a CRD may have been added meanwhile.
//
//   GET /api, /apis   aggregated: all groups, versions, resources in two answers (Kubernetes 1.26
//   on) else              the legacy way: a list of groups, then one request for each group's
//   version
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/private.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char aggregated[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

// The list under construction; kinds are added at its end.
struct finding {
    client *client;
    const struct patience *patience;
    struct kind *first, **end;
    buf failed; // groups whose kinds are not known, and why
};

void client_kinds_free(struct kind *first)
{
    while (first) {
        struct kind *k = first;
        first = k->next;
        char *strings[] = {k->group, k->version, k->plural, k->singular, k->kind, k->api_version};
        for (size_t i = 0; i < ARRAY_LEN(strings); i++)
            free(strings[i]);
        cJSON_Delete(k->verbs);
        cJSON_Delete(k->short_names);
        free(k);
    }
}

static char *lower(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

static void take_subresource(struct resource *r, const char *name)
{
    r->scales |= str_eq(name, "scale");
    r->execs |= str_eq(name, "exec");
    r->forwards |= str_eq(name, "portforward");
}

// The legacy way tells of a subresource as of a kind of its own, "deployments/scale", after its
// kind.
static void add_subresource(
    struct finding *f, const char *group, const char *version, const char *name)
{
    const char *slash = strchr(name, '/');
    for (struct kind *k = f->first; k; k = k->next)
        if (str_eq(k->group, group) && str_eq(k->version, version) &&
            strncmp(k->plural, name, (size_t)(slash - name)) == 0 && !k->plural[slash - name])
            take_subresource(&k->r, slash + 1);
}

static void take_subresources(struct resource *r, const cJSON *resource)
{
    const cJSON *sub;
    cJSON_ArrayForEach(sub, json_get(resource, "subresources"))
    {
        take_subresource(r, json_str(sub, "subresource"));
    }
}

static void add_kind(struct finding *f, const char *group, const char *version, const char *plural,
    const char *singular, const char *name, bool namespaced, const cJSON *resource)
{
    if (!plural || !name)
        return;
    if (strchr(plural, '/')) {
        add_subresource(f, group, version, plural);
        return;
    }
    struct kind *k = mem_alloc(sizeof *k);
    k->group = mem_strdup(group);
    k->version = mem_strdup(version);
    k->plural = mem_strdup(plural);
    k->singular = singular && *singular ? mem_strdup(singular) : lower(name);
    k->kind = mem_strdup(name);
    k->api_version = *group ? str_fmt("%s/%s", group, version) : mem_strdup(version);
    k->verbs = cJSON_Duplicate(json_get(resource, "verbs"), 1);
    k->short_names = cJSON_Duplicate(json_get(resource, "shortNames"), 1);
    k->r = (struct resource){.group = k->group,
        .version = k->version,
        .plural = k->plural,
        .singular = k->singular,
        .kind = k->kind,
        .namespaced = namespaced,
        .verbs = k->verbs,
        .short_names = k->short_names,
        .api_version = k->api_version};
    take_subresources(&k->r, resource);
    *f->end = k;
    f->end = &k->next;
}

static void add_aggregated(struct finding *f, const cJSON *list)
{
    const cJSON *item, *version, *r;
    cJSON_ArrayForEach(item, json_get(list, "items"))
    {
        const char *group = json_str_or(json_get(item, "metadata"), "name", "");
        cJSON_ArrayForEach(version, json_get(item, "versions"))
        {
            cJSON_ArrayForEach(r, json_get(version, "resources"))
            {
                add_kind(f, group, json_str_or(version, "version", "v1"), json_str(r, "resource"),
                    json_str(r, "singularResource"), json_path_str(r, "responseKind.kind"),
                    str_eq(json_str(r, "scope"), "Namespaced"), r);
            }
        }
    }
}

static cJSON *ask(struct finding *f, const struct patience *p, const char *path, err *e)
{
    return request_json(f->client, p,
        &(struct request){.path = path,
            .accept = aggregated,
            .repeatable = true,
            .what = "ask the server which kinds it has"},
        e);
}

// Others work, whatever one group does: refuse, answer with HTML, or be down. It is asked once.
static int add_legacy_version(struct finding *f, const char *group, const char *version, err *e)
{
    AUTO_FREE char *path =
        *group ? str_fmt("/apis/%s/%s", group, version) : str_fmt("/api/%s", version);
    struct patience once = f->patience ? *f->patience : (struct patience){0};
    err why = {0};
    once.retry_ns = -1;
    once.away = NULL;
    AUTO_JSON *list = ask(f, &once, path, &why);
    if (why.code == ERR_CANCELLED || why.code == ERR_TIMEOUT || why.code == ERR_UNAUTHORIZED)
        return err_set(e, why.code, "%s", why.text);
    if (!list) {
        buf_fmt(&f->failed, "%s%s%s%s: %s", f->failed.len ? "; " : "", group, *group ? "/" : "",
            version, str_short(why.text, 200).text);
        return 0;
    }
    const cJSON *r;
    cJSON_ArrayForEach(r, json_get(list, "resources"))
    {
        add_kind(f, group, version, json_str(r, "name"), json_str(r, "singularName"),
            json_str(r, "kind"), json_bool_or(r, "namespaced", false), r);
    }
    return 0;
}

static int add_legacy(struct finding *f, const cJSON *answer, err *e)
{
    const cJSON *v, *g;
    cJSON_ArrayForEach(v, json_get(answer, "versions"))
    {
        if (cJSON_IsString(v) && add_legacy_version(f, "", v->valuestring, e) != 0)
            return -1;
    }
    cJSON_ArrayForEach(g, json_get(answer, "groups"))
    {
        const char *group = json_str_or(g, "name", "");
        const char *preferred = json_str_or(json_get(g, "preferredVersion"), "version", "");
        if (*preferred && add_legacy_version(f, group, preferred, e) != 0)
            return -1;
        cJSON_ArrayForEach(v, json_get(g, "versions"))
        {
            const char *version = json_str(v, "version");
            if (version && !str_eq(version, preferred) &&
                add_legacy_version(f, group, version, e) != 0)
                return -1;
        }
    }
    return 0;
}

static int discover(client *c, const struct patience *p, err *e)
{
    struct finding f = {.client = c, .patience = p};
    f.end = &f.first;
    static const char *const roots[] = {"/api", "/apis"};
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        AUTO_JSON *answer = ask(&f, p, roots[i], e);
        int result = answer ? 0 : -1;
        if (answer && str_eq(json_str(answer, "kind"), "APIGroupDiscoveryList"))
            add_aggregated(&f, answer);
        else if (answer)
            result = add_legacy(&f, answer, e);
        if (result != 0) {
            client_kinds_free(f.first);
            buf_done(&f.failed);
            return -1;
        }
    }
    pthread_mutex_lock(&c->lock);
    struct kind **old = &c->stale; // a caller may still hold a resource of these
    while (*old)
        old = &(*old)->next;
    *old = c->kinds;
    c->kinds = f.first;
    free(c->failed);
    c->failed = f.failed.len ? buf_take(&f.failed) : NULL;
    pthread_mutex_unlock(&c->lock);
    buf_done(&f.failed);
    return 0;
}

static bool knows_kinds(client *c)
{
    pthread_mutex_lock(&c->lock);
    bool known = c->kinds != NULL;
    pthread_mutex_unlock(&c->lock);
    return known;
}

// Do the words after the first dot fit, as in "deploy.apps" and
// "sparkapplications.v1beta2.sparkoperator.k8s.io"? As in kubectl, a group may be cut at a dot.
static bool fits_group(const struct kind *k, const char *rest)
{
    if (!rest)
        return true;
    size_t n = strlen(k->version);
    if (strncmp(rest, k->version, n) == 0 && (rest[n] == '.' || !rest[n]))
        return str_eq(k->group, rest[n] ? rest + n + 1 : "");
    n = strlen(rest);
    return strncmp(k->group, rest, n) == 0 && (!k->group[n] || k->group[n] == '.');
}

static bool has_short_name(const struct kind *k, const char *word)
{
    const cJSON *s;
    cJSON_ArrayForEach(s, k->short_names)
    {
        if (cJSON_IsString(s) && strcasecmp(s->valuestring, word) == 0)
            return true;
    }
    return false;
}

static const struct kind *search(const client *c, const char *word, const char *rest)
{
    for (const struct kind *k = c->kinds; k; k = k->next)
        if (fits_group(k, rest) &&
            (strcasecmp(k->plural, word) == 0 || strcasecmp(k->singular, word) == 0 ||
                strcasecmp(k->kind, word) == 0))
            return k;
    for (const struct kind *k = c->kinds; k; k = k->next)
        if (fits_group(k, rest) && has_short_name(k, word))
            return k;
    return NULL;
}

static const struct kind *look_up(client *c, const char *word, const char *rest)
{
    pthread_mutex_lock(&c->lock);
    const struct kind *k = search(c, word, rest);
    pthread_mutex_unlock(&c->lock);
    return k;
}

// The names most similar to a word: "; did you mean pods or podtemplates?". If the word looks like
// a Kind, they are Kinds. New; may be "".
static char *near_names(const client *c, const char *word)
{
    AUTO_BUF names = {0};
    size_t most = str_slips(word);
    for (size_t d = 1, shown = 0; d <= most && !shown; d++) {
        for (const struct kind *k = c->kinds; k && shown < 3; k = k->next) {
            if (str_distance(word, k->plural) > d && str_distance(word, k->singular) > d &&
                str_distance(word, k->kind) > d)
                continue;
            const char *name = isupper((unsigned char)*word) ? k->kind : k->plural;
            if (names.len && strstr(buf_cstr(&names), name))
                continue; // another version of the same
            buf_fmt(&names, "%s%s", shown++ ? " or " : "; did you mean ", name);
        }
    }
    if (names.len)
        buf_char(&names, '?');
    return buf_take(&names);
}

static int unknown(client *c, const char *word, err *e)
{
    pthread_mutex_lock(&c->lock);
    AUTO_FREE char *near = near_names(c, word);
    AUTO_FREE char *failed = mem_strdup(c->failed);
    pthread_mutex_unlock(&c->lock);
    if (failed)
        return err_set(e, ERR_NOT_FOUND,
            "the server has no kind \"%s\" among those that it tells of%s; some it does not: %s",
            word, near, failed);
    bool sandbox = c->k->context && str_starts(c->k->context, "firesteel-sandbox");
    return err_set(e, ERR_NOT_FOUND, "the server has no kind \"%s\"%s%s", word, near,
        sandbox && !*near ? ": a sandbox has few (doc/sandbox.md); --context NAME is a cluster"
                          : "");
}

const struct resource *client_resource(
    client *c, const struct patience *p, const char *name, err *e)
{
    if (!name || !*name) {
        err_set(e, ERR_USAGE, "a kind is needed, as \"pods\" or \"deployments.apps\"");
        return NULL;
    }
    const char *dot = strchr(name, '.');
    AUTO_FREE char *word = mem_strndup(name, dot ? (size_t)(dot - name) : strlen(name));
    for (bool fresh = !knows_kinds(c);; fresh = true) {
        if (fresh && discover(c, p, e) != 0)
            return NULL;
        const struct kind *k = look_up(c, word, dot ? dot + 1 : NULL);
        if (k)
            return &k->r;
        if (fresh) {
            unknown(c, name, e);
            return NULL;
        }
    }
}

// The kind in that version, or NULL; *other: it exists in another version.
static const struct kind *look_up_version(
    client *c, const char *api_version, const char *kind, bool *other)
{
    *other = false;
    pthread_mutex_lock(&c->lock);
    const struct kind *k = c->kinds;
    while (k && !(str_eq(k->kind, kind) && str_eq(k->api_version, api_version))) {
        *other |= str_eq(k->kind, kind);
        k = k->next;
    }
    pthread_mutex_unlock(&c->lock);
    return k;
}

const struct resource *client_resource_of(
    client *c, const struct patience *p, const char *api_version, const char *kind, err *e)
{
    for (bool fresh = !knows_kinds(c);; fresh = true) {
        if (fresh && discover(c, p, e) != 0)
            return NULL;
        bool other_version;
        const struct kind *k = look_up_version(c, api_version, kind, &other_version);
        if (k)
            return &k->r;
        if (!fresh)
            continue;
        if (other_version) {
            k = look_up(c, kind, NULL);
            err_set(e, ERR_NOT_FOUND, "the server has no %s of apiVersion %s; it has it in %s",
                kind, api_version, k ? k->api_version : "another");
        } else {
            unknown(c, kind, e);
        }
        return NULL;
    }
}

const struct resource *client_known(client *c, const char *api_version, const char *kind)
{
    bool other_version;
    const struct kind *k = look_up_version(c, api_version, kind, &other_version);
    return k ? &k->r : NULL;
}

int client_resources(client *c, const struct patience *p,
    bool (*fn)(void *arg, const struct resource *r), void *arg, err *e)
{
    if (discover(c, p, e) != 0)
        return -1;
    pthread_mutex_lock(&c->lock);
    for (const struct kind *k = c->kinds; k && fn(arg, &k->r); k = k->next)
        ;
    pthread_mutex_unlock(&c->lock);
    return 0;
}
