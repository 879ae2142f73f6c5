// SPDX-License-Identifier: MIT
#include "script/kernel/effects/place.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/call.h"
#include "script/protocol/message.h"

#include <pthread.h>

struct place {
    effects *effects;
    pthread_mutex_t lock;
    cJSON *cluster; // {context, namespace, server}; NULL: unknown
    char *away;     // why it cannot be reached; NULL: it can
    int64_t heard;  // wall ns, 0: never
    bool lost;      // gone for good
    turn *waits;    // the turns of cells and branches that may wait for it, by next_waiting
};

place *place_new(effects *fx)
{
    place *p = mem_alloc(sizeof *p);
    p->effects = fx;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void place_free(place *p)
{
    if (!p)
        return;
    pthread_mutex_destroy(&p->lock);
    cJSON_Delete(p->cluster);
    free(p->away);
    free(p);
}

static bool is_sandbox(const place *p)
{
    return effects_in_sandbox(p->effects);
}

// Emits the event without the lock: the outbox may make a thread wait for the loop's thread, which
// may wait for the lock.
static cJSON *event_of(const place *p)
{
    cJSON *event = message_new(MESSAGE_cluster);
    json_set_str(event, "context", json_str(p->cluster, "context"));
    json_set_str(event, "namespace", json_str(p->cluster, "namespace"));
    json_set_str(event, "server", json_str(p->cluster, "server"));
    json_set_bool(event, "sandbox", is_sandbox(p));
    if (is_sandbox(p) && p->effects->plain_pods)
        json_set_bool(event, "processes", true);
    json_set_str(event, "away", p->away);
    if (p->heard)
        json_set_int(event, "heard", p->heard);
    return event;
}

static void emit(const place *p, cJSON *event)
{
    if (event)
        port_emit(p->effects->spec.port, event);
}

// Reads the kubeconfig; returns true if it says something new.
static bool look(place *p)
{
    effects *fx = p->effects;
    turn nobodys = {.cell = (char *)"", .is_action = true};
    struct call c = {.effects = fx, .turn = &nobodys};
    cJSON *found = fx->spec.where ? fx->spec.where(&c) : NULL;
    call_done(&c);
    if (!found || json_equal(found, p->cluster)) {
        cJSON_Delete(found);
        return false;
    }
    cJSON_Delete(p->cluster);
    p->cluster = found;
    return true;
}

void place_find(place *p)
{
    pthread_mutex_lock(&p->lock);
    cJSON *event = look(p) ? event_of(p) : NULL;
    pthread_mutex_unlock(&p->lock);
    emit(p, event);
}

void place_moved(place *p)
{
    pthread_mutex_lock(&p->lock);
    free(STEAL(p->away));
    p->heard = 0;
    cJSON_Delete(STEAL(p->cluster));
    look(p);
    cJSON *event = event_of(p);
    pthread_mutex_unlock(&p->lock);
    emit(p, event);
}

void place_lost(place *p, const char *why)
{
    pthread_mutex_lock(&p->lock);
    p->lost = true;
    free(p->away);
    p->away = mem_strdup(why);
    for (turn *t = p->waits; t; t = t->next_waiting) {
        t->cluster_lost = true;
        canceller_cancel(t->waits);
    }
    cJSON *event = event_of(p);
    pthread_mutex_unlock(&p->lock);
    emit(p, event);
}

static bool say_lost(const place *p, err *e)
{
    if (p->lost)
        err_set(e, ERR_FAILED, "%s", p->away);
    return p->lost;
}

void place_why_lost(place *p, err *why)
{
    pthread_mutex_lock(&p->lock);
    say_lost(p, why);
    pthread_mutex_unlock(&p->lock);
}

int place_reach(place *p, turn *t, err *e)
{
    pthread_mutex_lock(&p->lock);
    if (!t->is_action && !t->waits_for_cluster) {
        t->waits_for_cluster = true;
        t->next_waiting = p->waits;
        p->waits = t;
    }
    bool lost = say_lost(p, e);
    pthread_mutex_unlock(&p->lock);
    return lost ? -1 : 0;
}

bool place_left(place *p, turn *t)
{
    pthread_mutex_lock(&p->lock);
    bool cancelled = t->cluster_lost;
    struct turn **at = &p->waits;
    while (*at && *at != t)
        at = &(*at)->next_waiting;
    if (*at)
        *at = t->next_waiting;
    t->waits_for_cluster = t->cluster_lost = false;
    pthread_mutex_unlock(&p->lock);
    return cancelled;
}

void place_heard(place *p, const err *away, int64_t heard_wall)
{
    bool is_away = away && away->code != ERR_NONE;
    pthread_mutex_lock(&p->lock);
    bool changed = !p->lost && is_away != (p->away != NULL);
    if (heard_wall > p->heard)
        p->heard = heard_wall;
    if (changed) {
        free(p->away);
        p->away = is_away ? mem_strdup(away->text) : NULL;
    }
    if (!p->cluster)
        changed |= look(p); // the kubeconfig may have appeared since the start
    cJSON *event = changed ? event_of(p) : NULL;
    pthread_mutex_unlock(&p->lock);
    emit(p, event);
}

cJSON *place_known(place *p)
{
    pthread_mutex_lock(&p->lock);
    cJSON *known = p->cluster ? cJSON_Duplicate(p->cluster, true) : NULL;
    pthread_mutex_unlock(&p->lock);
    return known;
}

cJSON *place_effect(place *p, effect which, const struct about *about)
{
    cJSON *details = cJSON_CreateObject();
    pthread_mutex_lock(&p->lock);
    if (!p->cluster)
        look(p);
    const char *context = about->context ? about->context : json_str(p->cluster, "context");
    const char *ns = about->namespace_ ? about->namespace_ : json_str(p->cluster, "namespace");
    json_set_str(details, "class", effect_name(which));
    json_set_str(details, "context", context);
    json_set_str(details, "namespace", ns);
    pthread_mutex_unlock(&p->lock);
    json_set_bool(details, "sandbox", is_sandbox(p));
    cJSON *objects = json_array_at(details, "objects");
    if (about->object)
        cJSON_AddItemToArray(objects, cJSON_CreateString(about->object));
    return details;
}

char *place_text(const cJSON *details)
{
    return str_fmt("context %s, namespace %s", json_str_or(details, "context", "of the kubeconfig"),
        json_str_or(details, "namespace", "default"));
}
