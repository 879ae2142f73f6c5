// SPDX-License-Identifier: MIT
// Writes one layer: files as a tar stream, compressed, into the store, byte for byte the same for
// the same content. The caller owns a layer. Files are read when the layer is written.
#pragma once
#include "base/data/digest.h"
#include "k8s/image/store.h"

#include <sys/types.h>

typedef struct layer layer;
layer *layer_new(void);
void layer_free(layer *l); // NULL is fine

// Owner and mode of what is added from now on; mode 0: the default. Folders get a mode's execute
// bits where it has read bits.
void layer_looks(layer *l, unsigned uid, unsigned gid, mode_t mode);
// Calls the function, when the layer is written, for each file that is added from now on: with its
// place on this machine, and size and SHA-256 of its content in the layer. NULL: files added later
// are not reported.
struct layer_told {
    void (*fn)(void *arg, const char *source, int64_t size, const char hex[SHA256_HEX]);
    void *arg;
};
void layer_tells(layer *l, const struct layer_told *to); // borrowed
// While it is written, the watch counts the bytes that are hashed, then those that are compressed,
// and may stop it. Borrowed; NULL: nothing.
void layer_watched(layer *l, const struct work_watch *watch);
// For a layer on a base: leaves out the folders above its entries, so that those of the base keep
// their modes and owners. Unpackers make missing ones.
void layer_bare(layer *l);

// Adds a folder. Paths are relative to the root of the image ("opt/firesteel/lib"); parents are
// made with mode 0755. If a path is given twice, the later one stays. The owner is root, and
// layer_write sets the times.
void layer_dir(layer *l, const char *path, mode_t mode);
void layer_link(layer *l, const char *path, const char *target);
void layer_bytes(layer *l, const char *path, const void *bytes, size_t n, mode_t mode);
// Adds the content of `source`. Of its mode only the execute permission counts: 0755 or 0644.
int layer_file(layer *l, const char *path, const char *source, err *e);
// From now on layer_tree reads names in this open folder, and nothing outside of it, whatever links
// say (base/os/inside.h); the layer opens it once more. `path` is its name for people.
int layer_reads(layer *l, int folder, const char *path, err *e);
// Adds the file `name` of that folder, or the whole tree; "" is the folder itself. The name may
// lead through links; in the tree, links stay links. Sockets, pipes and devices are errors. Leaves
// out what the patterns (ignore.h) match; `called` is the source's name for people. exclude may be
// NULL.
int layer_tree(layer *l, const char *path, const char *name, const char *called,
    const char *const *exclude, err *e);

typedef struct layer_result {
    oci_descriptor blob; // compressed
    oci_digest diff_id;  // of the tar stream
    bool cached;         // nothing was written: the store had the layer
} layer_result;
// Writes the layer. mtime: of every entry, seconds since 1970. The store finds a layer of the same
// content by a hash of all names, modes and file contents; it is then not written again.
int layer_write(layer *l, const image_store *s, int64_t mtime, layer_result *r, err *e);

// Writes it as a file instead: tar, compressed by zstd with this level (1 to 22).
int layer_save(layer *l, int fd, int64_t mtime, int level, err *e);
