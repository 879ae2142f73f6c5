// SPDX-License-Identifier: MIT
// The inside of a client, for client.c, request.c and discovery.c.
#pragma once
#include "k8s/client/connect/credentials.h"
#include "k8s/client/connect/request.h"

#include <pthread.h>

struct kind { // a resource, with the strings it points to
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
    pthread_mutex_t lock; // for the next five fields: what we know about the server
    cJSON *identity;      // NULL: not known yet
    cJSON *address;       // an identity without uid, while the server does not say it
    struct kind *kinds;   // NULL: not known yet
    struct kind *stale;   // of earlier discoveries: a caller may still hold one
    char *failed;         // the groups that it could not tell of, and why; NULL: none
    bool usage_refused;   // of the loop's thread: somebody was told (usage.h)
};

void client_kinds_free(struct kind *first);

// Describes a request for errors: "delete pods mnist-driver in namespace default"; new.
char *client_sentence(const char *verb, const struct resource *r, const char *ns, const char *name);
