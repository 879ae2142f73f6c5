// SPDX-License-Identifier: MIT
// Reads from a registry over HTTP. The caller owns everything. The functions block; call them on
// another thread than the loop's.
// Source: distribution-spec spec.md (pull).
#pragma once
#include "k8s/image/registry.h"

// The digest of NAME:TAG (or NAME@DIGEST) in the registry; ERR_NOT_FOUND.
int image_remote_head(
    const struct image_remote *r, const char *name, const char *tag, oci_digest *digest, err *e);
