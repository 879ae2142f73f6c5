// SPDX-License-Identifier: MIT
#include "k8s/client/connect/client.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/connect/private.h"

#include <string.h>

// A plugin reads the person's kubeconfig, not the one that keeps a cell's programs out.
static char **plugin_env(const struct client_options *o)
{
    char **env = o->env ? strv_dup(o->env) : mem_array(1, sizeof *env);
    return o->kubeconfig_list ? env_set(env, "KUBECONFIG", o->kubeconfig_list) : env;
}

client *client_open(loop *l, http *h, const struct client_options *options, err *e)
{
    kubeconfig *k = kubeconfig_load(options, e);
    if (!k)
        return NULL;
    client *c = mem_alloc(sizeof *c);
    c->loop = l;
    c->http = h;
    c->k = k;
    char **env = plugin_env(options);
    c->credentials = credentials_new(l, h, k, (const char *const *)env, &options->secrets);
    strv_free(env);
    AUTO_FREE char *host = url_host(k->server);
    pthread_mutex_init(&c->lock, NULL);
    c->who = str_fmt(
        "context %s%s%s at %s", k->context, k->user ? ", user " : "", k->user ? k->user : "", host);
    return c;
}

void client_close(client *c)
{
    if (!c)
        return;
    credentials_free(c->credentials);
    kubeconfig_free(c->k);
    cJSON_Delete(c->identity);
    cJSON_Delete(c->address);
    client_kinds_free(c->kinds);
    client_kinds_free(c->stale);
    pthread_mutex_destroy(&c->lock);
    free(c->failed);
    free(c->who);
    free(c);
}

const kubeconfig *client_config(const client *c)
{
    return c->k;
}

loop *client_loop(const client *c)
{
    return c->loop;
}

const char *client_who(const client *c)
{
    return c->who;
}

char *resource_name(const struct resource *r)
{
    return *r->group ? str_fmt("%s.%s", r->plural, r->group) : mem_strdup(r->plural);
}

char *resource_path(const struct resource *r, const char *ns, const char *name, const char *sub)
{
    AUTO_BUF path = {0};
    buf_fmt(&path, "%s%s/%s", *r->group ? "/apis/" : "/api", r->group, r->version);
    if (r->namespaced && ns) {
        buf_str(&path, "/namespaces/");
        url_escape(&path, ns);
    }
    buf_fmt(&path, "/%s", r->plural);
    if (name) {
        buf_char(&path, '/');
        url_escape(&path, name);
    }
    if (sub)
        buf_fmt(&path, "/%s", sub);
    return buf_take(&path);
}

char *client_sentence(const char *verb, const struct resource *r, const char *ns, const char *name)
{
    AUTO_FREE char *resource = resource_name(r);
    bool in_namespace = r->namespaced && ns;
    return str_fmt("%s %s%s%s%s%s", verb, resource, name ? " " : "", name ? name : "",
        in_namespace ? " in namespace " : "", in_namespace ? ns : "");
}

static const cJSON *known_identity(client *c)
{
    pthread_mutex_lock(&c->lock);
    const cJSON *known = c->identity;
    pthread_mutex_unlock(&c->lock);
    return known;
}

// The first is kept for all callers and never replaced.
static const cJSON *remember(client *c, cJSON **place, cJSON *identity)
{
    pthread_mutex_lock(&c->lock);
    if (!*place)
        *place = STEAL(identity);
    const cJSON *known = *place;
    pthread_mutex_unlock(&c->lock);
    cJSON_Delete(identity);
    return known;
}

struct patience client_errand(const struct patience *p)
{
    static const int64_t most = 10 * CLOCK_SEC;
    struct patience own = *p;
    int64_t now = clock_mono(), left = p->deadline - now;
    own.deadline = now + (p->deadline && left > 0 && left / 4 < most ? left / 4 : most);
    own.retry_ns = -1;
    own.away = NULL;
    return own;
}

static cJSON *identity_of(const client *c, const char *uid)
{
    AUTO_BUF ca = {0};
    if (c->k->ca_data)
        buf_add(&ca, c->k->ca_data, c->k->ca_data_n);
    else if (c->k->ca_file)
        path_read(c->k->ca_file, &ca, 1 << 20, NULL);
    char digest[SHA256_HEX] = "";
    if (ca.len)
        sha256_hex(ca.data, ca.len, digest);
    cJSON *identity = cJSON_CreateObject();
    json_set_str(identity, "server", c->k->server);
    json_set_str(identity, "ca", digest);
    json_set_str(identity, "uid", uid);
    return identity;
}

const cJSON *client_identity(client *c, const struct patience *p, err *e)
{
    static const struct patience none = {0};
    const cJSON *known = known_identity(c);
    if (known)
        return known;
    err why = {0};
    struct patience own = client_errand(p ? p : &none);
    AUTO_JSON *system = request_json(c, &own,
        &(struct request){.path = "/api/v1/namespaces/kube-system",
            .repeatable = true,
            .what = "ask which cluster this is"},
        &why);
    if (why.code == ERR_CANCELLED) {
        err_give(e, &why);
        return NULL;
    }
    bool settled = system || why.code == ERR_FORBIDDEN || why.code == ERR_NOT_FOUND;
    const char *uid = json_path_str(system, "metadata.uid");
    return remember(c, settled ? &c->identity : &c->address, identity_of(c, uid ? uid : ""));
}

cJSON *client_version(client *c, const struct patience *p, err *e)
{
    return request_json(c, p,
        &(struct request){
            .path = "/version", .repeatable = true, .what = "ask the server's version"},
        e);
}

cJSON *client_get(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, err *e)
{
    return client_get_sub(c, p, r, ns, name, NULL, e);
}

cJSON *client_get_sub(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const char *sub, err *e)
{
    AUTO_FREE char *path = resource_path(r, ns, name, sub);
    AUTO_FREE char *what = client_sentence("get", r, ns, name);
    return request_json(c, p, &(struct request){.path = path, .repeatable = true, .what = what}, e);
}

static const char *namespace_of(const client *c, const struct resource *r, const cJSON *object)
{
    const char *ns = json_path_str(object, "metadata.namespace");
    return !r->namespaced ? NULL : ns && *ns ? ns : c->k->namespace_;
}

// A request of ours may have arrived although it failed. Is the object there the one that we meant
// to make? Then it has our run's label.
static cJSON *already_ours(client *c, const struct patience *p, const struct resource *r,
    const char *ns, const cJSON *object)
{
    const char *name = json_path_str(object, "metadata.name");
    const cJSON *wanted =
        json_get(json_get(json_get(object, "metadata"), "labels"), "firesteel/run");
    if (!name || !cJSON_IsString(wanted))
        return NULL;
    AUTO_JSON *there = client_get(c, p, r, ns, name, NULL);
    const cJSON *labels = json_get(json_get(there, "metadata"), "labels");
    return str_eq(json_str(labels, "firesteel/run"), wanted->valuestring) ? STEAL(there) : NULL;
}

cJSON *client_create(client *c, const struct patience *p, const struct resource *r,
    const cJSON *object, bool dry, err *e)
{
    const char *ns = namespace_of(c, r, object), *name = json_path_str(object, "metadata.name");
    AUTO_FREE char *base = resource_path(r, ns, NULL, NULL);
    AUTO_BUF path = {0};
    buf_fmt(&path, "%s?fieldManager=firesteel&fieldValidation=Strict%s", base,
        dry ? "&dryRun=All" : "");
    AUTO_FREE char *what = client_sentence("create", r, ns, name);
    AUTO_FREE char *body = json_to_str(object);
    err why = {0};
    cJSON *made = request_json(c, p,
        &(struct request){.method = "POST",
            .path = buf_cstr(&path),
            .type = "application/json",
            .body = body,
            .body_n = strlen(body),
            .repeatable = dry,
            .what = what},
        &why);
    if (!made && why.code == ERR_UNAVAILABLE && !dry)
        made = already_ours(c, p, r, ns, object);
    if (!made)
        err_set(e, why.code, "%s", why.text);
    return made;
}

// What we created, or patched, is ours to the server by an "Update": an apply of ours conflicts
// with it. Does the answer tell of no other conflicts?
static void see_conflicts(void *arg, const struct http_response *r)
{
    bool *all_ours = arg;
    static const char us[] = "conflict with \"firesteel\"";
    AUTO_JSON *status = r->status == 409 ? json_parse(buf_cstr(&r->body), r->body.len, NULL) : NULL;
    const cJSON *causes = json_path(status, "details.causes"), *cause;
    cJSON_ArrayForEach(cause, causes)
    {
        if (!str_eq(json_str(cause, "reason"), "FieldManagerConflict") ||
            !str_starts(json_str_or(cause, "message", ""), us))
            return;
    }
    *all_ours = cJSON_GetArraySize(causes) > 0;
}

static cJSON *apply_once(client *c, const struct patience *p, const char *base, const char *body,
    const char *what, bool force, bool dry, bool *is_ours, err *e)
{
    AUTO_FREE char *path = str_fmt("%s?fieldManager=firesteel&fieldValidation=Strict&force=%s%s",
        base, force ? "true" : "false", dry ? "&dryRun=All" : "");
    return request_json(c, p,
        &(struct request){.method = "PATCH",
            .path = path,
            .type = "application/apply-patch+yaml",
            .body = body,
            .body_n = strlen(body),
            .repeatable = true,
            .what = what,
            .refused = see_conflicts,
            .refused_arg = is_ours},
        e);
}

cJSON *client_apply(client *c, const struct patience *p, const struct resource *r,
    const cJSON *object, bool force, bool dry, err *e)
{
    const char *ns = namespace_of(c, r, object), *name = json_path_str(object, "metadata.name");
    if (!name) {
        err_set(e, ERR_INVALID, "apply %s: it needs metadata.name", r->kind);
        return NULL;
    }
    AUTO_FREE char *base = resource_path(r, ns, name, NULL);
    AUTO_FREE char *what = client_sentence("apply", r, ns, name);
    AUTO_FREE char *body = json_to_str(object);
    bool is_ours = false;
    cJSON *made = apply_once(c, p, base, body, what, force, dry, &is_ours, e);
    return made || force || !is_ours ? made
                                     : apply_once(c, p, base, body, what, true, dry, &is_ours, e);
}

static cJSON *patch_at(client *c, const struct patience *p, const char *path, const char *what,
    const char *type, const cJSON *patch, err *e)
{
    const char *content = str_eq(type, "json")        ? "application/json-patch+json"
                          : str_eq(type, "strategic") ? "application/strategic-merge-patch+json"
                                                      : "application/merge-patch+json";
    AUTO_FREE char *body = json_to_str(patch);
    return request_json(c, p,
        &(struct request){.method = "PATCH",
            .path = path,
            .type = content,
            .body = body,
            .body_n = strlen(body),
            .repeatable = !str_eq(type, "json"),
            .what = what},
        e);
}

cJSON *client_patch(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const char *sub, const char *type, const cJSON *patch, err *e)
{
    AUTO_FREE char *base = resource_path(r, ns, name, sub);
    AUTO_FREE char *path = str_fmt("%s?fieldManager=firesteel", base);
    AUTO_FREE char *what = client_sentence("patch", r, ns, name);
    return patch_at(c, p, path, what, type, patch, e);
}

cJSON *client_edit(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const cJSON *patch, bool dry, err *e)
{
    AUTO_FREE char *base = resource_path(r, ns, name, NULL);
    AUTO_FREE char *path = str_fmt(
        "%s?fieldManager=firesteel&fieldValidation=Strict%s", base, dry ? "&dryRun=All" : "");
    AUTO_FREE char *what = client_sentence("edit", r, ns, name);
    return patch_at(c, p, path, what, "merge", patch, e);
}

int client_delete(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const struct delete_options *o, err *e)
{
    static const struct delete_options usual = {.grace_seconds = -1};
    o = o ? o : &usual;
    AUTO_JSON *body = cJSON_CreateObject();
    json_set_str(body, "kind", "DeleteOptions");
    json_set_str(body, "apiVersion", "v1");
    json_set_str(body, "propagationPolicy", o->propagation ? o->propagation : "Background");
    if (o->grace_seconds >= 0)
        json_set_int(body, "gracePeriodSeconds", o->grace_seconds);
    if (o->uid)
        json_set_str(json_object_at(body, "preconditions"), "uid", o->uid);
    if (o->dry)
        cJSON_AddItemToArray(json_array_at(body, "dryRun"), cJSON_CreateString("All"));
    AUTO_FREE char *text = json_to_str(body);
    AUTO_FREE char *path = resource_path(r, ns, name, NULL);
    AUTO_FREE char *what = client_sentence("delete", r, ns, name);
    AUTO_JSON *answer = request_json(c, p,
        &(struct request){.method = "DELETE",
            .path = path,
            .type = "application/json",
            .body = text,
            .body_n = strlen(text),
            .repeatable = o->uid != NULL,
            .what = what},
        e);
    return answer ? 0 : -1;
}

int client_evict(client *c, const struct patience *p, const char *ns, const char *name,
    const char *uid, int64_t grace_seconds, err *e)
{
    static const struct resource pods = {
        .group = "", .version = "v1", .plural = "pods", .kind = "Pod", .namespaced = true};
    AUTO_JSON *body = cJSON_CreateObject();
    cJSON *m = json_object_at(body, "metadata"), *o = json_object_at(body, "deleteOptions");
    json_set_str(body, "apiVersion", "policy/v1");
    json_set_str(body, "kind", "Eviction");
    json_set_str(m, "name", name);
    json_set_str(m, "namespace", ns);
    json_set_str(json_object_at(o, "preconditions"), "uid", uid);
    if (grace_seconds >= 0)
        json_set_int(o, "gracePeriodSeconds", grace_seconds);
    AUTO_FREE char *text = json_to_str(body);
    AUTO_FREE char *path = resource_path(&pods, ns, name, "eviction");
    AUTO_FREE char *what = client_sentence("evict", &pods, ns, name);
    AUTO_JSON *answer = request_json(c, p,
        &(struct request){.method = "POST",
            .path = path,
            .type = "application/json",
            .body = text,
            .body_n = strlen(text),
            .what = what},
        e);
    return answer ? 0 : -1;
}

int client_text(client *c, const struct patience *p, const char *path, buf *out, err *e)
{
    struct http_response response;
    if (request_do(c, p,
            &(struct request){
                .path = path, .accept = "*/*", .repeatable = true, .what = "read the log"},
            &response, e) != 0)
        return -1;
    buf_add(out, response.body.data, response.body.len);
    http_response_done(&response);
    return 0;
}
