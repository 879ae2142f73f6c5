// SPDX-License-Identifier: MIT
// k8s.preflight: what would keep an object from doing its work on this cluster, all at once and
// before it is made. It only asks.
#include "script/api/preflight/preflight.h"
#include "script/api/preflight/reach.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/manifest/manifest.h"

#include <string.h>

void flight_add(struct flight *f, enum level level, const char *what, const char *next)
{
    static const char *const levels[] = {"error", "warning", "note"};
    const cJSON *old;
    cJSON_ArrayForEach(old, f->findings)
    {
        if (str_eq(json_str(old, "what"), what))
            return;
    }
    cJSON *finding = cJSON_CreateObject();
    json_set_str(finding, "level", levels[level]);
    json_set_str(finding, "what", what);
    json_set_str(finding, "next", next);
    cJSON_AddItemToArray(f->findings, finding);
}

__attribute__((format(printf, 4, 5))) static void add(
    struct flight *f, enum level level, const char *next, const char *fmt, ...)
{
    AUTO_BUF what = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&what, fmt, args);
    va_end(args);
    flight_add(f, level, buf_cstr(&what), next);
}

const struct patience *flight_ask(struct flight *f)
{
    static const int64_t brief = 2 * CLOCK_SEC;
    int64_t now = clock_mono();
    f->silent = f->silent || (f->quick.deadline && now >= f->quick.deadline);
    f->quick = k8s_quick(&f->t);
    if (f->silent && f->quick.deadline > now + brief)
        f->quick.deadline = now + brief;
    return &f->quick;
}

// An object by its name: new; NULL with the reason's code.
static cJSON *look(struct flight *f, const char *api_version, const char *kind, const char *ns,
    const char *name, err_code *code)
{
    err e = {0};
    const struct patience *p = flight_ask(f);
    const struct resource *r = client_resource_of(f->t.client, p, api_version, kind, &e);
    cJSON *found = r ? client_get(f->t.client, p, r, ns, name, &e) : NULL;
    *code = e.code;
    return found;
}

// ---- kind, namespace, rights

static bool find_kind(struct flight *f)
{
    const char *version = json_str_or(f->object, "apiVersion", "");
    const char *kind = json_str_or(f->object, "kind", "");
    err e = {0};
    f->t.resource = client_resource_of(f->t.client, &f->t.patience, version, kind, &e);
    if (f->t.resource)
        return true;
    if (e.code == ERR_NOT_FOUND) {
        add(f, FLIGHT_ERROR,
            "install what brings it (for SparkApplication the Spark operator, for MPIJob the MPI "
            "operator); k8s.kinds() lists what is there",
            "the cluster has no kind %s of %s", kind, version);
    } else {
        add(f, FLIGHT_ERROR, NULL, "the cluster cannot be asked for %s: %s", kind, e.text);
    }
    return false;
}

// false: there is none, so there is nothing in it to look at.
static bool check_namespace(struct flight *f)
{
    err_code code;
    AUTO_JSON *ns = look(f, "v1", "Namespace", NULL, f->ns, &code);
    const cJSON *labels = json_path(ns, "metadata.labels");
    if (!ns && code == ERR_NOT_FOUND) {
        AUTO_FREE char *next = str_fmt("make it: kubectl create namespace %s", f->ns);
        add(f, FLIGHT_ERROR, next, "there is no namespace %s", f->ns);
        return false;
    }
    if (!str_eq(json_str(labels, "istio-injection"), "enabled") &&
        !json_get(labels, "istio.io/rev"))
        return true;
    for (size_t i = 0; i < f->n_needs; i++) {
        const cJSON *m = f->needs[i].metadata;
        const char *key = "sidecar.istio.io/inject";
        if (!str_eq(json_str(json_get(m, "annotations"), key), "false") &&
            !str_eq(json_str(json_get(m, "labels"), key), "false"))
            add(f, FLIGHT_WARNING,
                "give the pods the label and the annotation sidecar.istio.io/inject: \"false\"",
                "namespace %s has Istio on: its sidecar keeps the %s from ending, and is between "
                "the ranks",
                f->ns, f->needs[i].role);
    }
    return true;
}

static void check_right(struct flight *f, enum level level, const char *verb,
    const struct resource *r, const char *sub, const char *lost)
{
    AUTO_FREE char *reason = NULL;
    const char *ns = r->namespaced ? f->ns : NULL;
    if (client_can_i(f->t.client, flight_ask(f), verb, r, ns, NULL, sub, &reason, NULL) != 0)
        return;
    AUTO_FREE char *name = resource_name(r);
    AUTO_FREE char *next = str_fmt("a role with the verb %s on %s%s%s in namespace %s", verb, name,
        sub ? "/" : "", sub ? sub : "", f->ns);
    add(f, level, next, "you may not %s %s%s%s in namespace %s%s%s", verb, name, sub ? "/" : "",
        sub ? sub : "", f->ns, *lost ? ": " : "", lost);
}

static void check_rights(struct flight *f)
{
    const struct resource *r = f->t.resource;
    check_right(f, FLIGHT_ERROR, "create", r, NULL, "");
    check_right(f, FLIGHT_ERROR, "get", r, NULL, "");
    check_right(f, FLIGHT_WARNING, "list", r, NULL, "waits and live tables need it");
    check_right(f, FLIGHT_WARNING, "watch", r, NULL, "waits and live tables need it");
    check_right(f, FLIGHT_WARNING, "delete", r, NULL, "it could not be cleaned up");
    const struct resource *pods = client_resource_of(f->t.client, flight_ask(f), "v1", "Pod", NULL);
    const struct resource *events =
        client_resource_of(f->t.client, flight_ask(f), "v1", "Event", NULL);
    if (f->n_needs && pods) {
        check_right(f, FLIGHT_WARNING, "list", pods, NULL, "no logs and no causes");
        check_right(f, FLIGHT_WARNING, "watch", pods, NULL, "no live tables");
        check_right(f, FLIGHT_WARNING, "get", pods, "log", "no logs");
    }
    if (events)
        check_right(f, FLIGHT_WARNING, "list", events, NULL, "no causes");
}

// ---- accounts and secrets

// What the account of a pod must be allowed to create.
static const struct right {
    const char *role, *group, *resource, *lost;
} rights[] = {
    {"driver", "", "pods", "the driver could not start executors"},
    {"workflow", "argoproj.io", "workflowtaskresults", "its steps could not report how they ended"},
};

// May the account do what its pods do? Who may not ask about others is told nothing.
static void check_account_right(struct flight *f, const char *account, const struct right *right)
{
    const struct resource *r = client_resource_of(
        f->t.client, flight_ask(f), "authorization.k8s.io/v1", "SubjectAccessReview", NULL);
    AUTO_JSON *review = cJSON_CreateObject();
    json_set_str(review, "apiVersion", "authorization.k8s.io/v1");
    json_set_str(review, "kind", "SubjectAccessReview");
    cJSON *spec = json_object_at(review, "spec"),
          *what = json_object_at(spec, "resourceAttributes");
    AUTO_FREE char *user = str_fmt("system:serviceaccount:%s:%s", f->ns, account);
    json_set_str(spec, "user", user);
    json_set_str(what, "namespace", f->ns);
    json_set_str(what, "verb", "create");
    json_set_str(what, "group", right->group);
    json_set_str(what, "resource", right->resource);
    AUTO_JSON *answer =
        r ? client_create(f->t.client, flight_ask(f), r, review, false, NULL) : NULL;
    if (!answer || json_bool_or(json_get(answer, "status"), "allowed", true))
        return;
    AUTO_FREE char *next = str_fmt("kubectl create rolebinding %s-edit --clusterrole=edit "
                                   "--serviceaccount=%s:%s --namespace=%s",
        account, f->ns, account, f->ns);
    add(f, FLIGHT_ERROR, next, "the account %s may not make %s in namespace %s: %s", account,
        right->resource, f->ns, right->lost);
}

static void check_account(struct flight *f, const struct need *n)
{
    const char *account = n->account && *n->account ? n->account : "default";
    if (str_eq(n->role, "executor") && !n->account)
        return; // it runs as the driver does
    err_code code;
    AUTO_JSON *found = look(f, "v1", "ServiceAccount", f->ns, account, &code);
    if (!found && code == ERR_NOT_FOUND) {
        AUTO_FREE char *next =
            str_fmt("kubectl create serviceaccount %s --namespace=%s", account, f->ns);
        add(f, FLIGHT_ERROR, next, "namespace %s has no service account %s, which the %s runs as",
            f->ns, account, n->role);
        return;
    }
    for (size_t i = 0; found && i < ARRAY_LEN(rights); i++)
        if (str_eq(n->role, rights[i].role))
            check_account_right(f, account, &rights[i]);
}

static void check_secrets(struct flight *f, const struct need *n)
{
    const cJSON *secret;
    cJSON_ArrayForEach(secret, n->secrets)
    {
        const char *name = cJSON_IsString(secret) ? secret->valuestring : json_str(secret, "name");
        err_code code = ERR_NONE;
        AUTO_JSON *found = name ? look(f, "v1", "Secret", f->ns, name, &code) : NULL;
        if (found || code != ERR_NOT_FOUND)
            continue;
        AUTO_FREE char *next = str_fmt("kubectl create secret docker-registry %s "
                                       "--from-file=$HOME/.docker/config.json --namespace=%s",
            name, f->ns);
        add(f, FLIGHT_ERROR, next,
            "namespace %s has no secret %s, which images are to be pulled with", f->ns, name);
    }
}

// ---- operators

static void check_operator(struct flight *f)
{
    AUTO_JSON *operators = k8s_operators(&f->t, flight_ask(f));
    if (!operators)
        return;
    AUTO_BUF seen = {0};
    if (why_operators(operators, f->ns, &seen))
        return;
    AUTO_BUF next = {0};
    why_operators_next(operators, f->t.resource->group, f->ns, &next);
    if (seen.len)
        add(f, FLIGHT_ERROR, buf_cstr(&next), "no operator of %s watches namespace %s: %s",
            f->t.resource->kind, f->ns, buf_cstr(&seen) + strlen("; "));
    else
        add(f, FLIGHT_WARNING, buf_cstr(&next), "no Deployment of an operator of %s can be seen",
            f->t.resource->kind);
}

// Is there a webhook that changes pods and is Spark's?
static bool has_webhook(const cJSON *configurations)
{
    const cJSON *c, *hook;
    cJSON_ArrayForEach(c, configurations)
    {
        cJSON_ArrayForEach(hook, json_get(c, "webhooks"))
        {
            const char *name = json_str_or(hook, "name", "");
            if (strstr(name, "spark") && (strstr(name, "pod") || strstr(name, "webhook")))
                return true;
        }
    }
    return false;
}

static void check_webhook(struct flight *f)
{
    const char *field = NULL;
    for (size_t i = 0; i < f->n_needs && !field; i++)
        field = f->needs[i].webhook;
    if (!field)
        return;
    AUTO_JSON *all = k8s_items(&f->t, flight_ask(f), "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration", NULL, &(struct list_query){0}, NULL);
    if (!all)
        add(f, FLIGHT_NOTE, NULL,
            "whether the operator's webhook is there cannot be asked; \"%s\" needs it", field);
    else if (!has_webhook(all))
        add(f, FLIGHT_ERROR, "install the operator with its webhook (webhook.enable=true)",
            "\"%s\" is applied by the Spark operator's webhook alone, and there is none: it would "
            "be "
            "ignored",
            field);
}

// ---- the object itself

// Does the word that stands for what is not known yet occur in it?
static bool is_open(const cJSON *value, const char *open)
{
    if (cJSON_IsString(value))
        return open && strstr(value->valuestring, open);
    for (const cJSON *child = value->child; child; child = child->next)
        if (is_open(child, open))
            return true;
    return false;
}

static void dry_run(struct flight *f)
{
    err e = {0};
    if (f->engine_s)
        return;
    if (is_open(f->object, f->open)) {
        add(f, FLIGHT_NOTE, NULL,
            "parts of %s are known when its cell runs: kind, namespace and rights were checked",
            json_str_or(f->object, "kind", "it"));
        return;
    }
    AUTO_JSON *object = cJSON_Duplicate(f->object, 1);
    json_set_str((cJSON *)json_object_at(object, "metadata"), "namespace",
        f->t.resource->namespaced ? f->ns : NULL);
    bool named = json_path_str(object, "metadata.name");
    AUTO_JSON *made =
        f->applies && named
            ? client_apply(f->t.client, flight_ask(f), f->t.resource, object, false, true, &e)
            : client_create(f->t.client, flight_ask(f), f->t.resource, object, true, &e);
    // Rights and namespaces have findings of their own.
    if (made || e.code == ERR_FORBIDDEN || e.code == ERR_NOT_FOUND)
        return;
    if (e.code == ERR_TIMEOUT) { // it is slow now; the cell has more time
        add(f, FLIGHT_NOTE, NULL, "whether the server takes it cannot be asked: %s", e.text);
        return;
    }
    flight_add(f, e.code == ERR_EXISTS ? FLIGHT_WARNING : FLIGHT_ERROR, e.text,
        e.code == ERR_EXISTS ? "it stays in the way unless a cell before deletes it" : NULL);
}

static void keep_needs(struct flight *f)
{
    f->all = mem_resize(f->all, f->n_all + f->n_needs + 1, sizeof *f->all);
    for (size_t i = 0; i < f->n_needs; i++)
        f->all[f->n_all++] = (struct asked){f->needs[i], f->ns};
}

static void check_object(struct flight *f)
{
    if (!find_kind(f))
        return;
    f->n_needs = needs_of(f->object, f->needs);
    bool there = !f->t.resource->namespaced || check_namespace(f);
    check_rights(f);
    for (size_t i = 0; there && i < f->n_needs; i++) {
        check_account(f, &f->needs[i]);
        check_secrets(f, &f->needs[i]);
    }
    check_operator(f);
    check_webhook(f);
    flight_queue(f);
    flight_runtime(f);
    flight_claim(f);
    flight_hooks(f);
    keep_needs(f);
    dry_run(f);
}

// {"objects": manifests, "verbs": "create", "apply" or "run" (by an engine) of each, "open": the
// word in them for what is not known yet} → {"findings":
// [{"level", "what", "next"}], "server", "context"}
int k8s_preflight(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct flight f = {.call = c, .t = {.client = bind_client(c, e), .patience = bind_patience(c)}};
    if (!f.t.client)
        return -1;
    AUTO_JSON *version = client_version(f.t.client, &f.t.patience, e);
    if (!version)
        return -1;
    AUTO_JSON *findings = cJSON_CreateArray();
    const char *home = client_config(f.t.client)->namespace_;
    f.findings = findings;
    f.open = json_str(args, "open");
    const cJSON *object;
    int i = 0;
    cJSON_ArrayForEach(object, json_get(args, "objects"))
    {
        const char *ns = json_path_str(object, "metadata.namespace");
        f.object = object;
        f.ns = f.t.ns = ns && *ns ? ns : json_str_or(args, "namespace", home);
        const char *verb = cJSON_GetStringValue(cJSON_GetArrayItem(json_get(args, "verbs"), i++));
        f.applies = str_eq(verb, "apply");
        f.engine_s = str_eq(verb, "run");
        check_object(&f);
    }
    flight_room(&f);
    free(f.all);
    cJSON_Delete(f.hooks);
    *result = cJSON_CreateObject();
    json_set_str(*result, "context", client_config(f.t.client)->context);
    json_set_str(*result, "server", client_config(f.t.client)->server);
    json_set(*result, "findings", STEAL(findings));
    return 0;
}
