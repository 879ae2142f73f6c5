// SPDX-License-Identifier: MIT
// Unpacks an image's layers into a root folder, for pods that are processes. It needs no
// privileges: all files belong to the caller's user, and devices are left out. Nothing is ever
// written outside of the root, whatever a layer says.
#pragma once
#include "base/work.h"
#include "k8s/image/store.h"

// Limits, because images come from outside.
struct image_limits {
    int64_t bytes; // of all unpacked files; 0: 32 GiB
    int64_t files; // 0: 1 million
    // Counts compressed bytes, from 0 in each pass over a layer (a phase); its parts are the
    // layers. NULL: none.
    const struct work_watch *watch;
};

// The root of the image below `cache` ("CACHE/HEX/rootfs"), unpacked on its first use; several
// processes may do so at once. A root from before the machine's last start is unpacked again. All
// pods share its files: bind it read-only, or copy it. Errors: ERR_CORRUPT (digest, tar, gzip),
// ERR_LIMIT, ERR_INVALID (another platform's image).
char *image_unpack(const image_store *s, const oci_digest *manifest, const char *cache,
    const struct image_limits *limits, err *e);
// Unpacks one layer's tar stream (plain, gzip, zstd) from a file's descriptor onto the folder
// `root`: whiteouts remove entries, symbolic and hard links stay below the root as in a chroot,
// ".." is refused.
int image_unpack_layer(int fd, const char *root, struct image_limits *left, err *e);
// Writes the data of an archive's entry, which has `size` bytes, into a new file.
struct archive;
int image_unpack_data(struct archive *a, int fd, int64_t size, const char *path, err *e);
// A private copy of a tree (files are cloned where the file system can), for a pod's writable
// parts.
int image_copy_tree(const char *from, const char *to, err *e);

// The parts of the image's config that a pod needs; arrays end with NULL.
struct image_config {
    char **env;        // "NAME=value"
    char **entrypoint; // NULL: none
    char **cmd;        // NULL: none
    char *working_dir; // NULL: none
    char *user;        // NULL: none
};
int image_config_read(
    const image_store *s, const oci_digest *manifest, struct image_config *c, err *e);
void image_config_done(struct image_config *c);
