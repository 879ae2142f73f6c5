// SPDX-License-Identifier: MIT
// The registry for an image: its address, whom to trust there, and our login. A remote owns its
// strings and borrows the kernel's http. Call remote_done when the call ends.
#pragma once
#include "k8s/image/push.h"
#include "script/kernel/effects/binding.h"

struct remote {
    struct image_remote to;
    char *name, *tag; // in the registry
    char *ref;        // "host/name:tag"
    char *user, *password, *token;
};
// ref: a name with or without a host; without one it goes to the cluster's registry. insecure:
// plain HTTP; loopback is plain unless it is the cluster's registry. Errors: ERR_USAGE when there
// is no host.
int remote_find(call *c, const char *ref, bool insecure, struct remote *r, err *e);
void remote_done(struct remote *r);
