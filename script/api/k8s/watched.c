// SPDX-License-Identifier: MIT
// Which objects the live tables of this run show: a wait for one of them need not say how it is.
// The tables live as long as the run, so nothing is ever taken out.
#include "base/mem.h"
#include "base/str.h"
#include "script/api/k8s/k8s.h"

#include <pthread.h>
#include <stdlib.h>

struct watched {
    pthread_mutex_t lock; // branches of a cell call from several threads
    char **uids;
};

static void *make(call *c, err *e)
{
    struct watched *w = mem_alloc(sizeof *w);
    pthread_mutex_init(&w->lock, NULL);
    w->uids = mem_array(1, sizeof *w->uids);
    return w;
}

static void drop(void *arg)
{
    struct watched *w = arg;
    strv_free(w->uids);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static struct watched *watched_of(call *c)
{
    return call_shared(c, "watched objects", make, drop, NULL);
}

// With the lock held.
static bool has(const struct watched *w, const char *uid)
{
    for (char **u = w->uids; *u; u++)
        if (str_eq(*u, uid))
            return true;
    return false;
}

void k8s_set_watched(call *c, const char *uid)
{
    struct watched *w = watched_of(c);
    pthread_mutex_lock(&w->lock);
    if (!has(w, uid))
        w->uids = strv_add(w->uids, uid);
    pthread_mutex_unlock(&w->lock);
}

bool k8s_is_watched(call *c, const char *uid)
{
    struct watched *w = watched_of(c);
    pthread_mutex_lock(&w->lock);
    bool found = has(w, uid);
    pthread_mutex_unlock(&w->lock);
    return found;
}
