// SPDX-License-Identifier: MIT
// A client's inside, for the files of k8s/client that make it up: client.c, request.c, discovery.c.
#pragma once
#include "k8s/client/credentials.h"
#include "k8s/client/request.h"

#include <pthread.h>

struct kind { // a resource, and the strings it shows
    struct resource r;
    char *group, *version, *plural, *singular, *kind, *api_version;
    cJSON *verbs, *short_names;
    struct kind *next; // in the order in which names are looked up
};

struct client {
    loop *loop;
    http *http;
    kubeconfig *k;
    credentials *credentials;
    char *who;
    pthread_mutex_t lock; // the next three: what was learnt of the server stays
    cJSON *identity;      // NULL: not asked for yet
    struct kind *kinds;   // NULL: not asked for yet
    struct kind *stale;   // of earlier discoveries: somebody may hold one
};

void client_kinds_free(struct kind *first);
