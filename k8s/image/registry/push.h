// SPDX-License-Identifier: MIT
// Pushes an image from the store to a registry over HTTP. Blobs that the registry has are not sent
// again. The caller owns everything. The functions block; call them on another thread than the
// loop's.
// Source: distribution-spec spec.md (push).
#pragma once
#include "base/work.h"
#include "k8s/image/registry/session.h"
#include "k8s/image/store.h"

struct image_push_to {
    const char *name, *tag;
    // Another name in the same registry that may already have some layers (a base); NULL: none.
    const char *mount_from;
    struct work *work; // counts bytes; its parts are layers. NULL: none
};

struct image_pushed {
    oci_digest digest;             // the manifest's, as the registry has it
    size_t sent, skipped, mounted; // blobs
    int64_t bytes;                 // bytes sent
};
// Pushes manifest, config and layers. Errors: ERR_UNAUTHORIZED, ERR_FORBIDDEN, ERR_UNAVAILABLE …,
// with the registry's own words.
int image_push(const image_store *s, const oci_descriptor *manifest, const struct image_remote *r,
    const struct image_push_to *to, struct image_pushed *out, err *e);
