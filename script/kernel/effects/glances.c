// SPDX-License-Identifier: MIT
#include "script/kernel/effects/glances.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/effects/jobthread.h"

#include <pthread.h>

enum { KEPT_MAX = 200 };                       // the last ones
static const int64_t patience = 5 * CLOCK_SEC; // time for a whole look

// A call whose result is looked at.
struct kept {
    char *cell;
    const struct binding *binding;
    cJSON *args, *result;
    struct entry *entry;
    struct glance glance;
    bool dropped; // while a look is made; under the lock
};

struct list {
    struct kept *at[KEPT_MAX];
    size_t n;
};

struct asker {
    int64_t peer;
    cJSON *message;
    struct asker *next;
};

// A look takes the list. Afterwards it puts the entries that were not dropped meanwhile back,
// before those that were added meanwhile.
struct glances {
    effects *effects;
    server *server;
    jobthread *thread;
    pthread_mutex_t lock; // guards the lists, but not the entries in `looked`, which the looks'
                          // thread owns
    struct list kept, looked;
    size_t from; // where the next look begins: the first one that the last look had no time for

    turn turn; // of the look under way
    bool looks;
    struct asker *askers;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static void kept_free(struct kept *k)
{
    free(k->cell);
    cJSON_Delete(k->args);
    cJSON_Delete(k->result);
    free(k->glance.seen);
    free(k->glance.why);
    free(k);
}

static void remove_at(struct list *l, size_t i)
{
    kept_free(l->at[i]);
    for (l->n--; i < l->n; i++)
        l->at[i] = l->at[i + 1];
}

static void add(struct list *l, struct kept *k)
{
    if (l->n == KEPT_MAX)
        remove_at(l, 0);
    l->at[l->n++] = k;
}

void glances_drop(glances *g, const char *id)
{
    pthread_mutex_lock(&g->lock);
    for (size_t i = g->kept.n; i-- > 0;)
        if (str_eq(g->kept.at[i]->cell, id))
            remove_at(&g->kept, i);
    for (size_t i = 0; i < g->looked.n; i++)
        g->looked.at[i]->dropped |= str_eq(g->looked.at[i]->cell, id);
    pthread_mutex_unlock(&g->lock);
}

void glances_add(glances *g, const turn *t, const struct binding *b, const cJSON *args,
    const cJSON *result, struct entry *entry)
{
    struct kept *k = mem_alloc(sizeof *k);
    *k = (struct kept){.cell = mem_strdup(t->cell),
        .binding = b,
        .args = cJSON_Duplicate(args, true),
        .result = cJSON_Duplicate(result, true),
        .entry = entry};
    pthread_mutex_lock(&g->lock);
    add(&g->kept, k);
    pthread_mutex_unlock(&g->lock);
}

static bool is_over(glances *g)
{
    return turn_stopped(&g->turn) != FAILURE_NONE || clock_mono() >= g->turn.deadline;
}

static void look_at(glances *g, struct kept *k)
{
    effects *fx = g->effects;
    struct call c = {.effects = fx, .turn = &g->turn, .entry = k->entry};
    err why = {0};
    if (k->entry && entry_is_undone(fx->ledger, k->entry)) // by the run itself
        free(STEAL(k->glance.why));
    else if (!is_over(g) && k->glance.again <= clock_mono())
        k->binding->look(&c, k->args, k->result, &k->glance, &why);
    if (c.asked_server && (!why.code || why.code == ERR_UNAVAILABLE))
        place_heard(fx->place, why.code ? &why : NULL, clock_wall());
    call_done(&c);
}

static void look_at_all(void *arg)
{
    glances *g = arg;
    size_t n = g->looked.n, first = g->from, reached = 0;
    for (size_t k = 0; k < n; k++) {
        reached += !is_over(g);
        look_at(g, g->looked.at[(first + k) % n]);
    }
    g->from = reached < n ? (first + reached) % n : 0;
}

static void put_back(glances *g)
{
    pthread_mutex_lock(&g->lock);
    struct list later = g->kept;
    g->kept.n = 0;
    for (size_t i = 0; i < g->looked.n; i++)
        if (g->looked.at[i]->dropped)
            kept_free(g->looked.at[i]);
        else
            add(&g->kept, g->looked.at[i]);
    for (size_t i = 0; i < later.n; i++)
        add(&g->kept, later.at[i]);
    g->looked.n = 0;
    pthread_mutex_unlock(&g->lock);
}

static cJSON *found(glances *g)
{
    cJSON *reply = cJSON_CreateObject(), *cells = json_object_at(reply, "found");
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < g->kept.n; i++) {
        const struct kept *k = g->kept.at[i];
        if (k->glance.why && !json_get(cells, k->cell))
            json_set_str(cells, k->cell, k->glance.why);
    }
    pthread_mutex_unlock(&g->lock);
    mask_json(port_mask(g->effects->spec.port), reply);
    return reply;
}

static void answer(glances *g)
{
    AUTO_JSON *reply = found(g);
    while (g->askers) {
        struct asker *a = g->askers;
        peer *p = server_peer(g->server, a->peer);
        if (p)
            server_reply(p, a->message, cJSON_Duplicate(reply, true));
        g->askers = a->next;
        cJSON_Delete(a->message);
        free(a);
    }
}

static void check_stopped(glances *g)
{
    void (*fn)(void *arg) = g->looks ? NULL : STEAL(g->stopped);
    if (fn)
        fn(g->stopped_arg);
}

static void on_looked(void *arg)
{
    glances *g = arg;
    turn_done(&g->turn);
    g->looks = false;
    put_back(g);
    answer(g);
    check_stopped(g);
}

glances *glances_new(effects *fx)
{
    glances *g = mem_alloc(sizeof *g);
    *g = (glances){.effects = fx, .thread = jobthread_new(fx->spec.loop, look_at_all, on_looked)};
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

static int begin(glances *g, err *e)
{
    turn_init(&g->turn, "", clock_mono() + patience);
    g->turn.is_action = true;
    g->looks = jobthread_add(g->thread, g, e) == 0;
    if (!g->looks)
        turn_done(&g->turn);
    return g->looks ? 0 : -1;
}

int glances_look(glances *g, server *s, peer *p, const cJSON *message, cJSON **reply, err *e)
{
    g->server = s;
    pthread_mutex_lock(&g->lock);
    if (!g->looks) {
        g->looked = g->kept;
        g->kept.n = 0;
    }
    bool none = g->looked.n == 0;
    pthread_mutex_unlock(&g->lock);
    if (none) {
        *reply = found(g);
        return 0;
    }
    if (!g->looks && begin(g, e) < 0) {
        put_back(g);
        return -1;
    }
    struct asker *a = mem_alloc(sizeof *a);
    *a = (struct asker){server_number(p), cJSON_Duplicate(message, true), g->askers};
    g->askers = a;
    return 1;
}

void glances_stop(glances *g, void (*fn)(void *arg), void *arg)
{
    if (g->looks)
        turn_stop(&g->turn, FAILURE_INTERRUPTED);
    g->stopped = fn;
    g->stopped_arg = arg;
    check_stopped(g);
}

void glances_free(glances *g)
{
    jobthread_free(g->thread);
    if (g->looks)
        turn_done(&g->turn);
    put_back(g);
    while (g->kept.n)
        remove_at(&g->kept, 0);
    while (g->askers) {
        struct asker *a = g->askers;
        g->askers = a->next;
        cJSON_Delete(a->message);
        free(a);
    }
    pthread_mutex_destroy(&g->lock);
    free(g);
}
