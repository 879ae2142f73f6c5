// SPDX-License-Identifier: MIT
// Takes an image out of another OCI image layout, as builders write it. Other programs do not know
// our store's lock, so they write layouts of their own.
#pragma once
#include "k8s/image/store.h"

// Copies what the tag `name` of `from` leads to, verifies it, and tags it in `to`. *layers counts
// those that `to` did not have. Errors: ERR_NOT_FOUND; ERR_CORRUPT or ERR_INVALID where a blob is
// not what its digest says.
int image_import(const image_store *to, const char *tag, const image_store *from, const char *name,
    oci_descriptor *manifest, size_t *layers, err *e);
