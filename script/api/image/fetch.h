// SPDX-License-Identifier: MIT
// Brings images from registries into the local store: bases of builds, and what a cell asks for.
#pragma once
#include "k8s/image/registry/pull.h"
#include "script/kernel/effects/binding.h"

// Pulls the image; a name without a registry from the chosen one, and if that does not have it,
// from Docker Hub. Says so in the cell's output. *from, if asked for, becomes "host/name:tag", new:
// where it was found.
int fetch_image(
    call *c, const image_store *s, const char *ref, struct image_pulled *out, char **from, err *e);
// The same, unless the store has it.
int fetch_missing(call *c, const image_store *s, const char *ref, err *e);
