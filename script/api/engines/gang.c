// SPDX-License-Identifier: MIT
#include "script/api/engines/gang.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/state.h"
#include "k8s/manifest/manifest.h"
#include "k8s/manifest/restricted.h"

#include <string.h>

// In texts of the plan: the job's name, and what saved models are to say of where they came from.
#define PLACE_JOB   "@job@"
#define PLACE_NOTES "@notes@"

static const int64_t SLOW_LOOK = 2 * CLOCK_SEC, SOON_LOOK = CLOCK_SEC / 2;
static const int64_t DRIVER_FIRST = 2 * CLOCK_SEC, BRIEF = CLOCK_SEC / 20;

static char *filled_in(const char *text, const char *place, const char *with)
{
    AUTO_BUF out = {0};
    for (const char *at; (at = strstr(text, place)); text = at + strlen(place)) {
        buf_add(&out, text, (size_t)(at - text));
        buf_str(&out, with);
    }
    buf_str(&out, text);
    return mem_strdup(buf_cstr(&out));
}

// The same tree with `with` wherever the plan has the placeholder.
static void fill_in(cJSON *tree, const char *place, const char *with)
{
    for (cJSON *item = tree->child; item; item = item->next) {
        if (!cJSON_IsString(item) || !strstr(item->valuestring, place)) {
            fill_in(item, place, with);
            continue;
        }
        AUTO_FREE char *text = filled_in(item->valuestring, place, with);
        cJSON_SetValuestring(item, text);
    }
}

static char *name_of(call *c, const char *prefix)
{
    char hex[SHA256_HEX];
    const char *mark = call_mark(c);
    sha256_hex(mark, strlen(mark), hex);
    return str_fmt("%s-%.8s", prefix, hex);
}

int gang_open(struct gang *g, call *c, const struct gang_words *words, const cJSON *args, err *e)
{
    *g = (struct gang){.words = words, .call = c, .args = args, .plan = json_get(args, "plan")};
    AUTO_JSON *about = cJSON_CreateObject();
    json_set_str(about, "apiVersion", "v1");
    json_set_str(about, "kind", "Pod");
    if (k8s_target(c, about, false, &g->pods, e))
        return -1;
    const char *ns = json_str(args, "namespace");
    g->ns = mem_strdup(ns ? ns : client_config(g->pods.client)->namespace_);
    g->pods.ns = g->ns;
    g->name = name_of(c, words->prefix);
    g->main_pod = filled_in(json_str_or(g->plan, "driver", ""), PLACE_JOB, g->name);
    g->all_pods = filled_in(json_str_or(g->plan, "pods", ""), PLACE_JOB, g->name);
    return 0;
}

void gang_done(struct gang *g)
{
    char *texts[] = {g->name, g->ns, g->main_pod, g->all_pods};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(texts[i]);
    cJSON_Delete(g->objects);
    buf_done(&g->why);
}

cJSON *gang_secret(const struct gang *g)
{
    cJSON *secret = cJSON_CreateObject();
    json_set_str(secret, "apiVersion", "v1");
    json_set_str(secret, "kind", "Secret");
    json_set_str(json_object_at(secret, "metadata"), "name", g->name);
    return secret;
}

int gang_prepare(struct gang *g, cJSON *secret, const char *notes, err *e)
{
    const cJSON *object;
    g->objects = cJSON_CreateArray();
    cJSON_AddItemToArray(g->objects, secret);
    cJSON_ArrayForEach(object, json_get(g->plan, "objects"))
    {
        cJSON_AddItemToArray(g->objects, cJSON_Duplicate(object, true));
    }
    fill_in(g->objects, PLACE_JOB, g->name);
    fill_in(g->objects, PLACE_NOTES, notes ? notes : "");
    bool restricted = k8s_is_restricted(&g->pods, g->ns);
    cJSON *o;
    cJSON_ArrayForEach(o, g->objects)
    {
        if (restricted)
            manifest_restrict(o);
        cJSON *m = json_object_at(o, "metadata");
        manifest_label(o, call_run(g->call), true);
        k8s_mark(g->call, m);
        if (!json_str(m, "namespace"))
            json_set_str(m, "namespace", g->ns);
    }
    AUTO_JSON *record = gang_record(g, e);
    return record ? call_ledger_partial(g->call, record, e) : -1;
}

cJSON *gang_record(struct gang *g, err *e)
{
    const cJSON *identity = client_identity(g->pods.client, &g->pods.patience, e), *o;
    if (!identity)
        return NULL;
    cJSON *record = cJSON_CreateObject(), *list = json_array_at(record, "objects");
    json_set_str(record, "kind", g->words->kind);
    json_set_str(record, "name", g->name);
    json_set_str(record, "namespace", g->ns);
    json_set(record, "cluster", cJSON_Duplicate(identity, true));
    cJSON_ArrayForEach(o, g->objects)
    {
        cJSON *ref = cJSON_CreateObject();
        json_set_str(ref, "apiVersion", json_str(o, "apiVersion"));
        json_set_str(ref, "kind", json_str(o, "kind"));
        json_set_str(ref, "name", json_path_str(o, "metadata.name"));
        cJSON_AddItemToArray(list, ref);
    }
    return record;
}

static int target_of(struct gang *g, const cJSON *object, struct target *t, err *e)
{
    *t = g->pods;
    t->resource = client_resource_of(g->pods.client, &g->pods.patience,
        json_str(object, "apiVersion"), json_str(object, "kind"), e);
    t->name = json_path_str(object, "metadata.name");
    return t->resource ? 0 : -1;
}

// Executors ask for the driver by its Service's name, and DNS servers keep for five seconds and
// more that there is none. So the driver's pod has an address before there are executors, unless
// it takes long: it may be pulling the image that they will pull.
static void await_driver(struct gang *g)
{
    int64_t until = clock_mono() + DRIVER_FIRST;
    bool there = false;
    while (
        !there && clock_mono() < until && !canceller_sleep(call_canceller(g->call), BRIEF, NULL)) {
        struct patience quick = k8s_quick(&g->pods);
        AUTO_JSON *pods = k8s_items(&g->pods, &quick, "v1", "Pod", g->ns,
            &(struct list_query){.labels = g->main_pod}, NULL);
        there = json_path_str(cJSON_GetArrayItem(pods, 0), "status.podIP") != NULL;
    }
}

int gang_make(struct gang *g, err *e)
{
    cJSON *o;
    g->begun = g->looked = clock_mono();
    int main = (int)json_int_or(g->plan, "main", 0);
    cJSON_ArrayForEach(o, g->objects)
    {
        struct target t;
        if (g->made == main + 1)
            await_driver(g);
        if (target_of(g, o, &t, e))
            return -1;
        AUTO_JSON *made = client_create(t.client, &t.patience, t.resource, o, false, e);
        g->made++; // also when the answer was lost
        if (!made)
            return err_wrap(e, "%s: cannot make %s %s", g->words->what, t.resource->kind, t.name);
        k8s_meter(g->call, &t, made);
    }
    return 0;
}

static int remove_one(struct target *t, const struct patience *p, err *e)
{
    err why = {0};
    if (client_delete(t->client, p, t->resource, t->ns, t->name,
            &(struct delete_options){.grace_seconds = -1}, &why) == 0 ||
        why.code == ERR_NOT_FOUND)
        return 0;
    return err_set(e, why.code, "%s", why.text);
}

// What stays is in the ledger, for clean.
static bool remove_objects(struct gang *g)
{
    struct patience own = {.deadline = clock_mono() + 15 * CLOCK_SEC, .retry_ns = 5 * CLOCK_SEC};
    bool gone = true;
    while (g->made > 0) {
        struct target t;
        err why = {0};
        const cJSON *o = cJSON_GetArrayItem(g->objects, --g->made);
        t = g->pods;
        t.resource = client_resource_of(
            t.client, &own, json_str(o, "apiVersion"), json_str(o, "kind"), &why);
        t.name = json_path_str(o, "metadata.name");
        if (t.resource && remove_one(&t, &own, &why) == 0)
            continue;
        gone = false;
        AUTO_FREE char *line =
            str_fmt("%s %s cannot be deleted: %s; firesteel clean does it later\n",
                json_str(o, "kind"), t.name, why.text);
        call_output(g->call, "stderr", line, strlen(line));
    }
    return gone;
}

void gang_remove(struct gang *g, bool done)
{
    AUTO_JSON *nothing = cJSON_CreateNull();
    if (!remove_objects(g))
        return;
    if (done) // of a job that has failed nothing at all is left for clean, else its results
        call_ledger_tidied(g->call);
    else
        call_ledger_partial(g->call, nothing, NULL);
}

// ---- looks

// Do these labels have all that a selector "a=b,c=d" wants?
static bool is_selected(const cJSON *labels, const char *selector)
{
    bool all = true;
    char **parts = strv_split(selector, ',');
    for (char **part = parts; *part; part++) {
        char *value = strchr(*part, '=');
        if (value)
            *value++ = '\0';
        all &= value && str_eq(json_str(labels, *part), value);
    }
    strv_free(parts);
    return all;
}

cJSON *gang_pods(struct gang *g)
{
    struct patience quick = k8s_quick(&g->pods);
    return k8s_items(
        &g->pods, &quick, "v1", "Pod", g->ns, &(struct list_query){.labels = g->all_pods}, NULL);
}

bool gang_is_main(const struct gang *g, const cJSON *pod)
{
    return is_selected(json_path(pod, "metadata.labels"), g->main_pod);
}

// Says once why an object of the job does not go on; false: nobody knows.
static bool say_why(struct gang *g, struct target t, const cJSON *object)
{
    struct why why = {0};
    t.name = json_path_str(object, "metadata.name");
    bool found = k8s_find_why(&t, object, &why);
    g->pulls |= found && why.pulls;
    if (found && !str_eq(buf_cstr(&why.what), buf_cstr(&g->why))) {
        AUTO_BUF text = {0};
        k8s_say_why(&why, &text);
        call_output(g->call, "stderr", text.data, text.len);
        buf_clear(&g->why);
        buf_str(&g->why, buf_cstr(&why.what));
    }
    why_done(&why);
    return found;
}

// Pods that have not started: the first one that tells why.
static void see_waiting(struct gang *g, const cJSON *pods)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, pods)
    {
        if (!str_eq(json_path_str(one, "status.phase"), "Pending"))
            continue;
        AUTO_JSON *pod = cJSON_Duplicate(one, true);
        json_set_str(pod, "kind", "Pod"); // items of a list do not say it
        if (say_why(g, g->pods, pod))
            return;
    }
}

// Operators tell in their own object what they refuse, and that no pods will come. held: it has no
// pods yet, as while a queue holds it.
static int see_main(struct gang *g, bool held, struct state *state, err *e)
{
    err why = {0};
    struct target t;
    int main = (int)json_int_or(g->plan, "main", 0);
    const cJSON *object = main > 0 ? cJSON_GetArrayItem(g->objects, main) : NULL;
    if (!object || target_of(g, object, &t, &why))
        return 0;
    struct patience quick = k8s_quick(&t);
    AUTO_JSON *there = client_get(t.client, &quick, t.resource, t.ns, t.name, &why);
    if (!there && why.code == ERR_NOT_FOUND)
        return err_set(
            e, ERR_FAILED, "%s: %s %s was deleted", g->words->what, t.resource->kind, t.name);
    if (!there)
        return 0;
    if (held)
        say_why(g, t, there);
    struct state s = state_of(there);
    if (held && str_eq(s.text, "Suspended")) { // a queue holds it: what it waits for is no start
        g->begun = clock_mono();
        g->has_been = 0;
    }
    *state = s;
    state->cause = NULL; // of `there`
    if (s.outcome != OUTCOME_BAD)
        return 0;
    return err_set(e, ERR_FAILED, "%s: %s %s is %s%s%s", g->words->what, t.resource->kind, t.name,
        s.text, s.cause ? ": " : "", s.cause ? str_short(s.cause, 600).text : "");
}

static int see_timeout(const struct gang *g, err *e)
{
    const cJSON *limit = json_get(g->args, "start_timeout");
    double seconds = cJSON_IsNumber(limit) ? limit->valuedouble : 600;
    int64_t pulled = g->has_been < K8S_PULL_MOST ? g->has_been : K8S_PULL_MOST;
    if (g->began || clock_mono() - g->begun - pulled < clock_of_seconds(seconds))
        return 0;
    return err_set(e, ERR_TIMEOUT, "Timed out waiting for %s to start, after %g s%s%s. %s",
        g->words->late, seconds, g->why.len ? ": " : "", buf_cstr(&g->why), g->words->remedy);
}

static bool has_ended(const cJSON *pod)
{
    const char *phase = json_path_str(pod, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

int gang_look(struct gang *g, const cJSON *pods, bool whole, struct state *state, err *e)
{
    struct state seen = {0};
    bool driver = false, ended = false;
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        driver |= gang_is_main(g, pod);
        ended |= has_ended(pod);
    }
    if (state)
        *state = seen;
    if (clock_mono() - g->looked < (whole && ended ? SOON_LOOK : SLOW_LOOK))
        return see_timeout(g, e);
    int64_t now = clock_mono();
    g->has_been += g->pulls ? now - g->looked : 0;
    g->pulls = false;
    g->looked = now;
    see_waiting(g, pods);
    if ((whole || !driver || !g->began) &&
        see_main(g, pods && !pods->child, state ? state : &seen, e))
        return -1;
    return see_timeout(g, e);
}

void gang_explain(struct gang *g, cJSON *pod, buf *reason)
{
    struct target t = g->pods;
    json_set_str(pod, "kind", "Pod");
    t.name = json_path_str(pod, "metadata.name");
    k8s_explain(g->call, &t, pod, reason);
}

// ---- for bindings

static int target_recorded(
    call *c, const cJSON *recorded, const cJSON *ref, struct target *t, err *e)
{
    if (k8s_target(c, ref, true, t, e))
        return -1;
    t->ns = json_str(recorded, "namespace");
    return 0;
}

int gang_find(call *c, const cJSON *recorded, struct remains *out, err *e)
{
    AUTO_JSON *found = cJSON_CreateObject();
    cJSON *refs = json_array_at(found, "objects");
    const cJSON *ref;
    json_set_str(found, "namespace", json_str(recorded, "namespace"));
    cJSON_ArrayForEach(ref, json_get(recorded, "objects"))
    {
        struct target t;
        err why = {0};
        if (target_recorded(c, recorded, ref, &t, e) || k8s_same_cluster(&t, recorded, e))
            return -1;
        AUTO_JSON *there = client_get(t.client, &t.patience, t.resource, t.ns, t.name, &why);
        if (!there && why.code != ERR_NOT_FOUND)
            return err_set(e, why.code, "%s", why.text);
        if (there && k8s_is_marked(c, there))
            cJSON_AddItemToArray(refs, cJSON_Duplicate(ref, true));
    }
    int n = cJSON_GetArraySize(refs);
    out->text = n ? str_fmt("%d %s of the job %s in namespace %s", n, n == 1 ? "object" : "objects",
                        json_str_or(recorded, "name", ""), json_str_or(recorded, "namespace", ""))
                  : mem_strdup("was not there");
    out->found = n ? STEAL(found) : NULL;
    return 0;
}

int gang_undo(call *c, const cJSON *found, err *e)
{
    const cJSON *refs = json_get(found, "objects");
    for (int i = cJSON_GetArraySize(refs); i-- > 0;) {
        struct target t;
        if (target_recorded(c, found, cJSON_GetArrayItem(refs, i), &t, e) ||
            remove_one(&t, &t.patience, e))
            return -1;
    }
    return 0;
}

void gang_describe(call *c, const cJSON *args, const char *kind, char *what, struct about *about)
{
    client *k = bind_client(c, NULL);
    const kubeconfig *config = k ? client_config(k) : NULL;
    const char *ns = json_str_or(args, "namespace", config ? config->namespace_ : "default");
    about->object = mem_strdup(kind);
    about->namespace_ = mem_strdup(ns);
    about->context = mem_strdup(config ? config->context : NULL);
    about->what = str_fmt("%s in namespace %s%s%s", what, ns, config ? " of context " : "",
        config && config->context ? config->context : "");
    free(what);
}
