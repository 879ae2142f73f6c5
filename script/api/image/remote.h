// SPDX-License-Identifier: MIT
// The registry for an image: its address, whom to trust there, and our login. A remote owns its
// strings and borrows the kernel's http. Call remote_done when the call ends.
#pragma once
#include "k8s/image/registry/conf.h"
#include "k8s/image/registry/push.h"
#include "script/kernel/effects/binding.h"

struct remote {
    struct image_remote to;
    char *name, *tag; // in the registry; tag is also "sha256:…" where one was written
    char *ref;        // "host/name:tag"
    char *place;      // "host/name"
    char *prefix;     // of names in the chosen registry; NULL: none
    char *user, *password, *identity, *token, *proxy, *ca_from, *login_from;
};
// ref: a name with or without a host. Without one it goes to the chosen registry: that of
// --registry, else of the kubeconfig's extension firesteel/registry. insecure: as in `to`. A
// registry on loopback is insecure, too, unless it is the cluster's or somebody vouches for it.
// Errors: ERR_USAGE when there is no registry.
int remote_find(call *c, const char *ref, bool insecure, struct remote *r, err *e);
// What registries.conf says of all registries. registries_done frees it.
void remote_registries(call *c, struct registries *out);
// The name, new, that an image written like this has in this registry; NULL: it is in another one.
char *remote_name_of(const struct remote *r, const char *ref);
void remote_done(struct remote *r);
