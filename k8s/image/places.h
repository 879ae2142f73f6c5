// SPDX-License-Identifier: MIT
// Where a place of an image is when links of the image are on its way: "/bin/tool" is
// "/usr/bin/tool" where bin is a link to usr/bin. A layer that had "bin/tool" would put a folder in
// the link's place wherever layers are unpacked one by one. It is found from the heads of the
// layers' entries; those of a layer are read once, and kept in the store. Nothing is owned.
#pragma once
#include "k8s/image/store.h"

// layers: those of the base first. The links of all names but the last are followed as in a chroot;
// the last one's, too, if it leads to a folder. *folder: shall it be one, or is there one? New;
// NULL on an error.
char *image_place(const image_store *s, const oci_descriptor *layers, size_t n, const char *place,
    bool *folder, err *e);
