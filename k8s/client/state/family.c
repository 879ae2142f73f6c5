// SPDX-License-Identifier: MIT
#include "k8s/client/state/family.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/request.h"

enum { GENERATIONS = 8 };

enum kin { KIN_NO, KIN_YES, KIN_UNKNOWN };

struct relative { // an owner of a pod, or of another relative
    struct relative *next;
    family *family;
    char *uid, *path;
    cJSON *object; // NULL: not known yet, or not there
    bool known;
    operation *asking;
    loop_timer *retry;
    unsigned attempt;
};

struct pending { // a pod that waits for what is known of its owners
    struct pending *next;
    cJSON *pod;
};

struct family {
    client *client;
    char *ns, *root;
    void (*answer)(void *arg, const cJSON *pod, bool is);
    void *arg;
    struct relative *relatives;
    struct pending *pending;
};

static void ask(void *arg);

static struct relative *relative_of(family *f, const cJSON *reference)
{
    const char *uid = json_str_or(reference, "uid", "");
    for (struct relative *r = f->relatives; r; r = r->next)
        if (str_eq(r->uid, uid))
            return r;
    struct relative *r = mem_alloc(sizeof *r);
    *r = (struct relative){.next = f->relatives, .family = f, .uid = mem_strdup(uid)};
    f->relatives = r;
    const struct resource *kind = client_known(
        f->client, json_str_or(reference, "apiVersion", ""), json_str_or(reference, "kind", ""));
    const char *name = json_str(reference, "name");
    r->known = !kind || !name;
    if (r->known)
        return r;
    r->path = resource_path(kind, kind->namespaced ? f->ns : NULL, name, NULL);
    r->retry = loop_timer_new(client_loop(f->client), ask, r);
    ask(r);
    return r;
}

static enum kin kin_of(family *f, const cJSON *object, int generations)
{
    enum kin kin = KIN_NO;
    const cJSON *reference;
    cJSON_ArrayForEach(reference, json_path(object, "metadata.ownerReferences"))
    {
        if (str_eq(json_str(reference, "uid"), f->root))
            return KIN_YES;
        if (generations == 0)
            continue;
        const struct relative *r = relative_of(f, reference);
        enum kin its = !r->known   ? KIN_UNKNOWN
                       : r->object ? kin_of(f, r->object, generations - 1)
                                   : KIN_NO;
        if (its == KIN_YES)
            return KIN_YES;
        kin = its == KIN_UNKNOWN ? KIN_UNKNOWN : kin;
    }
    return kin;
}

static void settle_pending(family *f)
{
    struct pending *all = STEAL(f->pending);
    while (all) {
        struct pending *p = all;
        all = p->next;
        enum kin kin = kin_of(f, p->pod, GENERATIONS);
        if (kin == KIN_UNKNOWN) {
            p->next = f->pending;
            f->pending = p;
            continue;
        }
        f->answer(f->arg, p->pod, kin == KIN_YES);
        cJSON_Delete(p->pod);
        free(p);
    }
}

static void on_known(void *arg, struct http_response *response, const err *e)
{
    struct relative *r = arg;
    r->asking = NULL;
    cJSON *object = response->status == 200
                        ? json_parse(buf_cstr(&response->body), response->body.len, NULL)
                        : NULL;
    bool refused = response->status / 100 == 4 && response->status != 429;
    if (!object && !refused) { // away: an answer will come
        loop_timer_start(r->retry, (uint64_t)(back_off(r->attempt++) / CLOCK_MS), 0);
        return;
    }
    r->known = true;
    if (object && str_eq(json_path_str(object, "metadata.uid"), r->uid))
        r->object = STEAL(object);
    cJSON_Delete(object);
    settle_pending(r->family);
}

static const struct http_stream_ops ops = {.done = on_known};

static void ask(void *arg)
{
    struct relative *r = arg;
    r->asking = operation_start(r->family->client,
        &(struct request){
            .path = r->path, .idle_timeout_ms = 30000, .what = "look for the owner of a pod"},
        &ops, r);
}

family *family_open(client *c, const char *ns, const char *root_uid,
    void (*answer)(void *arg, const cJSON *pod, bool is), void *arg)
{
    family *f = mem_alloc(sizeof *f);
    *f = (family){.client = c,
        .ns = mem_strdup(ns),
        .root = mem_strdup(root_uid),
        .answer = answer,
        .arg = arg};
    return f;
}

void family_close(family *f)
{
    if (!f)
        return;
    for (struct relative *r = f->relatives, *next; r; r = next) {
        next = r->next;
        operation_cancel(r->asking);
        loop_timer_free(r->retry);
        cJSON_Delete(r->object);
        free(r->uid);
        free(r->path);
        free(r);
    }
    for (struct pending *p = f->pending, *next; p; p = next) {
        next = p->next;
        cJSON_Delete(p->pod);
        free(p);
    }
    free(f->ns);
    free(f->root);
    free(f);
}

void family_ask(family *f, const cJSON *pod)
{
    struct pending *p = mem_alloc(sizeof *p);
    *p = (struct pending){.next = f->pending, .pod = cJSON_Duplicate(pod, true)};
    f->pending = p;
    settle_pending(f);
}

bool family_is_asking(const family *f)
{
    return f && f->pending;
}
