// SPDX-License-Identifier: MIT
// Pulls an image from a registry into the store over HTTP. Every byte is verified by its digest,
// what the store has is not fetched again, and a pull that was cut goes on where it was, also in
// another process. The caller owns everything. The functions block; call them on another thread
// than the loop's.
// Source: distribution-spec spec.md (pull).
#pragma once
#include "base/work.h"
#include "k8s/image/registry/session.h"
#include "k8s/image/store.h"

struct image_pull_from {
    const char *name, *tag; // tag: also a digest, "sha256:…", which pins the image
    const char *ref;        // its name in the store; NULL: none, it stays a day
    struct work *work;      // counts bytes; its parts are layers. NULL: none
};

struct image_pulled {
    oci_digest digest;       // what the name leads to: an image, or an index of several platforms
    oci_descriptor manifest; // of the image for this machine
    size_t fetched, present; // blobs
    int64_t bytes;           // bytes fetched
};
// Errors: ERR_NOT_FOUND (no such image there, or none for this platform), ERR_INVALID (its bytes
// are not what their digest says), and those of the session.
int image_pull(const image_store *s, const struct image_remote *r,
    const struct image_pull_from *from, struct image_pulled *out, err *e);
// The digest of NAME:TAG (or NAME@DIGEST) in the registry; ERR_NOT_FOUND.
int image_remote_head(
    const struct image_remote *r, const char *name, const char *tag, oci_digest *digest, err *e);
