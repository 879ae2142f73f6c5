// SPDX-License-Identifier: MIT
// Resolves a path of an image through the image's links: "/bin/tool" is "/usr/bin/tool" if bin is a
// link to usr/bin. A layer with "bin/tool" would replace the link by a folder wherever layers are
// unpacked one by one. The links are found in the headers of the layers' entries; a layer is
// scanned once, and the result is kept in the store. Nothing is owned.
#pragma once
#include "k8s/image/store.h"

// layers: the base's first. The links of all names but the last are followed as in a chroot; the
// last one's, too, if it leads to a folder. *folder: it must be a folder, or is one already. New;
// NULL on an error.
char *image_place(const image_store *s, const oci_descriptor *layers, size_t n, const char *place,
    bool *folder, err *e);
