// SPDX-License-Identifier: MIT
// Builds an image: the worker with everything that it needs to run, a user's files, and optionally
// a base below. The same inputs give the same digest, in every run and on every machine. The caller
// owns the results.
//
//   layers   the base's, or a minimal root   the worker: /opt/firesteel   the files: /work/…
//   config   WorkingDir /work, Entrypoint /opt/firesteel/firesteel-worker (no base)
// All but the root can be told otherwise.
#pragma once
#include "k8s/image/layer.h"

// The files of the worker; the caller owns the strings. Each may be NULL, except `program`.
// Brackets give the names in the image, below /opt/firesteel.
struct image_worker {
    const char *program;    // [firesteel-worker]
    const char *plugin;     // [lib/firesteel-mpi.so], loaded at run time
    const char *spark_main; // [spark.py]
    const char *dnn; // [lib/firesteel-dnn.so], with oneDNN in a layer of its own; see image_dnn
    // firesteel itself, for notebooks and steps that run in the image; NULL: it is not in it
    const char *firesteel, *kernel; // [firesteel], [firesteel-kernel]
};

// A file or folder, and its place: a path in the image, or below its working folder; a final "/"
// keeps its last name. NULL: below the working folder, with its own name.
struct image_copy {
    const char *name, *to;
};

// Should oneDNN be in the image? By default if a Lua file of `add` names Conv2D or nn.applications
// and the plug-in is here.
enum image_dnn { IMAGE_DNN_BY_FILES, IMAGE_DNN, IMAGE_NO_DNN };

struct image_build {
    const char *from;             // "NAME:TAG" in the store; NULL: no base
    const struct image_copy *add; // ended by one without a name; names are relative
    const char *tag;              // "NAME[:TAG]"
    // What follows may all be NULL; lists end with NULL.
    const char *const *exclude;                 // patterns (ignore.h) of names in `add`
    const char *const *env;                     // "NAME=value", over the base's
    const char *user;                           // "185"; NULL: the base's, or root
    const char *workdir;                        // absolute; NULL: /work
    const char *const *entrypoint, *const *cmd; // NULL: the base's, or the worker
    const char *const *annotations;             // "key=value", of the manifest
    const char *const *labels;                  // "key=value", of the config
    enum image_dnn dnn;
    bool no_worker; // only the base and the files
    // The folders where these names are looked up, in this order; lists end with NULL.
    const char *const *dirs;      // the working folder, the notebook's
    const char *const *data_dirs; // folders to look "data" up in: $FIRESTEEL_DATA, the share's
    struct image_worker worker;
    const struct layer_told *added; // called for each file of `add`; NULL: nothing
    const struct work_watch *watch; // its parts are the layers; NULL: none
    int64_t created;                // seconds since 1970, for the config and all files; usually 0
};

struct image_built {
    char *ref; // "firesteel/mnist:latest"
    oci_descriptor manifest;
    oci_manifest content;
    int64_t size; // sum of all blobs
    size_t new_layers;
};
// The annotations of an image with a base (image-spec annotations.md): the base's name as given,
// and its manifest's digest.
#define OCI_BASE_NAME   "org.opencontainers.image.base.name"
#define OCI_BASE_DIGEST "org.opencontainers.image.base.digest"
// Builds and tags the image. Errors name the entry of `add`, the base, or the library that is
// missing.
int image_build(const image_store *s, const struct image_build *b, struct image_built *out, err *e);
void image_built_done(struct image_built *b);
