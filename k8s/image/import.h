// SPDX-License-Identifier: MIT
// Imports an image from another OCI image layout, as builders write it. Other programs do not know
// our store's lock, so they write layouts of their own.
#pragma once
#include "k8s/image/store.h"

// Copies the image with the tag `name` in `from`, verifies it, and tags it in `to`. *layers counts
// those that `to` did not have. Errors: ERR_NOT_FOUND; ERR_CORRUPT or ERR_INVALID if a blob does
// not have its digest.
int image_import(const image_store *to, const char *tag, const image_store *from, const char *name,
    oci_descriptor *manifest, size_t *layers, err *e);
