// SPDX-License-Identifier: MIT
// Images for containers: pulled from the local store by threads, unpacked once for each digest.
// Containers share a pull by reference. Its fields are for the loop's thread; they are constant
// once it is not busy.
#pragma once
#include "base/loop/loop.h"
#include "k8s/image/unpack.h"

enum pull_state { PULL_BUSY, PULL_DONE, PULL_FAILED };

typedef struct podimage {
    char *ref; // as the pod spells it
    enum pull_state state;
    err why;                    // for PULL_FAILED
    bool cached;                // its root existed already
    bool is_host;               // it is the machine's own root
    char *root;                 // unpacked; NULL for the host
    char *id;                   // "firesteel/mnist@sha256:…", for status
    struct image_config config; // empty for the host
    int64_t size, took;         // bytes of its layers, ns
    int refs;
} podimage;

typedef struct podimages podimages;
// Images of the store folder `images`, unpacked below `cache`. finished(arg) is called when a pull
// is no longer busy.
podimages *podimages_open(
    loop *l, const char *images, const char *cache, void (*finished)(void *arg), void *arg, err *e);
void podimages_close(podimages *p); // NULL is fine; busy threads end on their own

// Starts a pull, or joins one under way. Names are "host", "NAME:TAG" and "HOST:PORT/NAME:TAG"
// where the host is this machine's registry (loopback); anything else is not found.
podimage *podimages_pull(podimages *p, const char *ref);
void podimage_unref(podimage *i); // NULL is fine
