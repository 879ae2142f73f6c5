// SPDX-License-Identifier: MIT
// Writes one layer: files as a tar stream, compressed, into the store, byte for byte the same for
// the same content. A layer belongs to who began it; files are read when it is written.
#pragma once
#include "k8s/image/store.h"

#include <sys/types.h>

typedef struct layer layer;
layer *layer_new(void);
void layer_free(layer *l); // NULL is fine

// Paths are relative to the root of the image ("opt/firesteel/lib"); folders above are made with
// mode 0755. A path given twice keeps the later. Owner is root, times are those of layer_write.
void layer_dir(layer *l, const char *path, mode_t mode);
void layer_link(layer *l, const char *path, const char *target);
void layer_bytes(layer *l, const char *path, const void *bytes, size_t n, mode_t mode);
// The content of `source`, of which only the permission to execute counts: 0755 or 0644.
int layer_file(layer *l, const char *path, const char *source, err *e);
// A file or a whole tree, without following symbolic links in it; sockets and devices are errors.
int layer_tree(layer *l, const char *path, const char *source, err *e);

typedef struct layer_result {
    oci_descriptor blob; // compressed
    oci_digest diff_id;  // of the tar stream
    bool cached;         // nothing was written: the store had it
} layer_result;
// mtime: of every entry, seconds since 1970. Layers of the same content are found in the store by
// a hash of all names, modes and file contents, and then are not written again.
int layer_write(layer *l, const image_store *s, int64_t mtime, layer_result *r, err *e);
