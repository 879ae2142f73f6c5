// SPDX-License-Identifier: MIT
// Builds an image: the worker with all it needs to run, a user's files, and optionally a base
// below. The same inputs give the same digest, on every run and machine. Results belong to the
// caller.
//
//   layers   the base's, or a minimal root   the worker: /opt/firesteel   the files: /work/…
//   config   WorkingDir /work, Entrypoint /opt/firesteel/firesteel-worker (no base)
#pragma once
#include "k8s/image/layer.h"

// Files that make up the worker; they are the caller's. Those that are NULL are left out, but for
// `program`. In the image they have the names in brackets, below /opt/firesteel.
struct image_worker {
    const char *program;    // [firesteel-worker]
    const char *plugin;     // [lib/firesteel-mpi.so], which it loads at run time
    const char *spark_main; // [spark.py]
};

struct image_build {
    const char *from;       // "NAME:TAG" in the store; NULL: the worker alone
    const char *const *add; // relative names of files and folders: they go under /work
    const char *tag;        // "NAME[:TAG]"
    // Where the names are looked for, in this order; lists end with NULL.
    const char *const *dirs;      // the working folder, the notebook's
    const char *const *data_dirs; // folders that stand for "data": $FIRESTEEL_DATA, the share's
    struct image_worker worker;
    int64_t created; // seconds since 1970, of the config and of all files; 0 unless somebody asks
};

struct image_built {
    char *ref; // "firesteel/mnist:latest"
    oci_descriptor manifest;
    oci_manifest content;
    int64_t size; // of all blobs
    size_t new_layers;
};
// Builds and tags. Errors name the entry of `add`, the base, or the library that is missing.
int image_build(const image_store *s, const struct image_build *b, struct image_built *out, err *e);
void image_built_done(struct image_built *b);
