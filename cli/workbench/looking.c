// SPDX-License-Identifier: MIT
#include "cli/workbench/looking.h"

#include "base/mem.h"
#include "script/journal/stale/outside.h"

#include <pthread.h>

// Shared by its owner, its thread and what the thread has posted; the last one frees it.
struct looking {
    pthread_mutex_t lock;
    int users;
    loop *loop; // NULL: its maker is gone
    void (*found)(void *arg, cJSON *outside);
    void *arg;
    cJSON *list, *outside;
};

static void leave(looking *k)
{
    pthread_mutex_lock(&k->lock);
    int left = --k->users;
    pthread_mutex_unlock(&k->lock);
    if (left)
        return;
    pthread_mutex_destroy(&k->lock);
    cJSON_Delete(k->list);
    cJSON_Delete(k->outside);
    free(k);
}

looking *looking_new(loop *l, void (*found)(void *arg, cJSON *outside), void *arg)
{
    looking *k = mem_alloc(sizeof *k);
    *k = (looking){.users = 1, .loop = l, .found = found, .arg = arg};
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

void looking_free(looking *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->loop = NULL;
    pthread_mutex_unlock(&k->lock);
    leave(k);
}

static void deliver(void *arg)
{
    looking *k = arg;
    pthread_mutex_lock(&k->lock);
    bool wanted = k->loop; // at its end the loop runs what is left in it, after the owner is gone
    pthread_mutex_unlock(&k->lock);
    if (wanted)
        k->found(k->arg, STEAL(k->outside));
    leave(k);
}

static void *look(void *arg)
{
    looking *k = arg;
    cJSON *outside = outside_look(k->list);
    pthread_mutex_lock(&k->lock);
    k->outside = outside;
    if (k->loop) {
        k->users++;
        loop_post(k->loop, deliver, k);
    }
    pthread_mutex_unlock(&k->lock);
    leave(k);
    return NULL;
}

void looking_start(looking *k, cJSON *list)
{
    pthread_t thread;
    pthread_attr_t attr;
    cJSON_Delete(k->list);
    cJSON_Delete(STEAL(k->outside));
    k->list = list;
    pthread_mutex_lock(&k->lock); // the thread of the last look may not have ended yet
    k->users++;
    pthread_mutex_unlock(&k->lock);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attr, look, k) != 0) {
        leave(k);
        k->found(k->arg, cJSON_CreateObject());
    }
    pthread_attr_destroy(&attr);
}
