// SPDX-License-Identifier: MIT
// Pushes an image from the store to a registry over HTTP. Blobs that the registry has are not sent
// again. The caller owns everything. The functions block; call them on another thread than the
// loop's.
// Sources: distribution-spec spec.md (push), distribution docs/content/spec/auth/token.md.
#pragma once
#include "k8s/image/store.h"
#include "k8s/net/http.h"

struct image_remote {
    http *http;
    canceller *canceller;
    int64_t deadline;            // clock_mono() ns, 0: none
    const char *host;            // "HOST[:PORT]"
    bool plain;                  // http: instead of https:; only for loopback or on request
    const http_tls *tls;         // NULL: the system's authorities
    const char *user, *password; // for Basic, and to fetch a token; NULL: anonymous
    const char *token;           // a bearer token to start with; NULL: none
    const char *proxy;           // as in http_request; NULL: none
};

struct image_pushed {
    oci_digest digest;             // the manifest's, as the registry has it
    size_t sent, skipped, mounted; // blobs
    int64_t bytes;                 // bytes sent
};
// Pushes manifest, config and layers to NAME:TAG. mount_from: another name in the same registry
// that may already have some layers (a base); NULL: none. Errors: ERR_UNAUTHORIZED, ERR_FORBIDDEN,
// ERR_UNAVAILABLE …, with the registry's own words.
int image_push(const image_store *s, const oci_descriptor *manifest, const struct image_remote *r,
    const char *name, const char *tag, const char *mount_from, struct image_pushed *out, err *e);
// The digest of NAME:TAG (or NAME@DIGEST) in the registry; ERR_NOT_FOUND.
int image_remote_head(
    const struct image_remote *r, const char *name, const char *tag, oci_digest *digest, err *e);
