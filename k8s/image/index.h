// SPDX-License-Identifier: MIT
// The index of an image store: its tags, and the collector that starts from them. Changes are made
// under the store's lock; the notes of other tools in it (platforms, annotations) stay as they are.
#pragma once
#include "k8s/image/store.h"

// Finds the manifest of "NAME:TAG" ("NAME" is "NAME:latest"), "NAME@sha256:…" or "sha256:…".
// Errors: ERR_NOT_FOUND, which lists the existing tags when they are few.
int image_store_resolve(const image_store *s, const char *ref, oci_descriptor *d, err *e);
// The same; from an index of several platforms it takes the image for this machine.
int image_store_find(const image_store *s, const char *ref, oci_descriptor *d, err *e);
// Reads the manifest of one image. Errors: also ERR_CORRUPT if a blob in the store does not have
// the size that the manifest says. A blob may be missing.
int image_store_manifest(const image_store *s, const oci_digest *d, oci_manifest *m, err *e);
// Sets a tag, replacing an older one. The blobs must be in the store.
int image_store_tag(const image_store *s, const char *ref, const oci_descriptor *d, err *e);
// Removes a tag; when a digest is given, only if the tag names it. Errors: ERR_NOT_FOUND.
int image_store_untag(const image_store *s, const char *ref, const oci_digest *only, err *e);

struct image_tag {
    char *ref; // "firesteel/mnist:latest"
    oci_descriptor manifest;
};
// All tags, sorted by name; new: free them with image_tags_free.
int image_store_tags(const image_store *s, struct image_tag **tags, size_t *n, err *e);
void image_tags_free(struct image_tag *tags, size_t n);

// Removes every blob that no tag leads to and that was not used since `before` (seconds since
// 1970). Another process may have written blobs that it is about to tag, so callers leave about an
// hour.
struct image_gc {
    size_t blobs;
    int64_t bytes;
};
int image_store_gc(const image_store *s, int64_t before, struct image_gc *removed, err *e);
