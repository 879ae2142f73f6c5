// SPDX-License-Identifier: MIT
// containers-registries.conf(5): where images of a name are, and which mirrors are asked first. A
// `registries` owns its strings.
#pragma once
#include "k8s/image/registry/trust.h"

#include <stdbool.h>
#include <stddef.h>

struct registry_place {
    char *location; // "HOST[:PORT][/PATH]"
    bool insecure;
    bool digests, tags; // of a mirror: is it asked for names with a digest, for those with a tag?
};
struct registry_entry {
    char *prefix; // of names, "HOST[/PATH]", also "*.HOST"; what matches longest counts
    struct registry_place own;
    bool blocked;
    struct registry_place *mirrors;
    size_t n;
};
struct registries {
    struct registry_entry *list;
    size_t n;
};

// Adds what a file says; an entry of a prefix that is there takes its place. Of its TOML
// [[registry]] and [[registry.mirror]] are read, the rest is left to others.
void registries_read(struct registries *r, const char *text);
// The person's file, else the system's ($CONTAINERS_REGISTRIES_CONF: that one); then all *.conf of
// the folders registries.conf.d, the system's before the person's, each by its names.
void registries_find(struct registries *r, const struct trust_places *p);
void registries_done(struct registries *r);

// The entry for a name "HOST/PATH" (without tag and digest); NULL: none.
const struct registry_entry *registries_entry(const struct registries *r, const char *name);
// The name at another place; new.
char *registries_name(const struct registry_entry *e, const char *location, const char *name);
// Is this registry, "HOST[:PORT]", called insecure, as itself or as a mirror?
bool registries_insecure(const struct registries *r, const char *host);
