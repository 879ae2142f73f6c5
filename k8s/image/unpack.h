// SPDX-License-Identifier: MIT
// Unpacks an image's layers into a root folder, for pods that are processes. Needs no privileges:
// all files belong to the caller's user, and devices are left out. Nothing is ever written outside
// of the root, whatever a layer says.
#pragma once
#include "k8s/image/store.h"

// Bounds for what comes from outside.
struct image_limits {
    int64_t bytes; // of all files unpacked; 0: 32 GiB
    int64_t files; // 0: 1 million
};

// The root of the image below `cache` ("CACHE/HEX/rootfs"), unpacked on its first use; several
// processes may ask at once. One that was unpacked before the machine started is unpacked again.
// Its files are shared by all pods: bind it read-only, or copy. Errors: ERR_CORRUPT (digest, tar,
// gzip), ERR_LIMIT, ERR_INVALID (another platform's image).
char *image_unpack(const image_store *s, const oci_digest *manifest, const char *cache,
    const struct image_limits *limits, err *e);
// One layer's tar stream (plain, gzip, zstd) from a file's descriptor onto the folder `root`:
// whiteouts remove, symbolic and hard links stay below the root as in a chroot, ".." is refused.
int image_unpack_layer(int fd, const char *root, struct image_limits *left, err *e);
// A private copy of a tree (files are cloned where the file system can), for a pod's writable
// parts.
int image_copy_tree(const char *from, const char *to, err *e);

// What a pod needs of the image's config; arrays end with NULL.
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
