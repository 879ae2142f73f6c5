// SPDX-License-Identifier: MIT
// An image that is being built: its config and its manifest, started from a base or from nothing,
// to which layers are added. The caller owns it. Private to the builders.
#pragma once
#include "k8s/image/programs/build.h"

struct draft {
    cJSON *config, *manifest;
    char created[32]; // RFC 3339
    size_t new_layers;
    const struct work_watch *watch; // of its layers while they are written; NULL: none
};
void draft_done(struct draft *d);
// created: seconds since 1970.
void draft_alone(struct draft *d, int64_t created);
// from: an image in the store, whose platform must be ours.
int draft_from(struct draft *d, const image_store *s, const char *from, int64_t created, err *e);
// Writes the layer and adds it, with a line of history.
int draft_add(
    struct draft *d, const image_store *s, layer *l, int64_t created, const char *by, err *e);
// The runtime part of the config (config.md), to be changed in place.
cJSON *draft_run(struct draft *d);
// "NAME=value" replaces an earlier value of the same name.
void draft_env(struct draft *d, const char *setting);
// Stores config and manifest.
int draft_store(struct draft *d, const image_store *s, struct image_built *out, err *e);
// The same, and sets the tag: out->ref.
int draft_finish(
    struct draft *d, const image_store *s, const char *tag, struct image_built *out, err *e);
