// SPDX-License-Identifier: MIT
// How a container becomes a process on this machine: the machine's abilities, and the command line.
// The kubelet owns the runtime, which starts nothing but its probes.
//
//   image      PROGRAM --pod --overlay … -- bwrap --bind MERGED / … -- COMMAND
//   host       PROGRAM --pod … -- bwrap --ro-bind / / --bind /tmp /tmp … -- COMMAND
//   host, on a machine without user namespaces: PROGRAM --pod --guard … -- COMMAND
//   image, as a plain process: the same, in a copy of the image's root
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runtime {
    char *program;            // firesteel-sandbox
    const char *const *bwrap; // the words that start it; NULL: none, or it can make no namespaces
    // With plain processes: firesteel-worker, which takes the place of an image's; NULL: pods of
    // images are not run as plain processes.
    char *worker;
    bool overlay; // can a user mount overlayfs? If not, roots are copied.
    char *why;    // why there is no bwrap; shown in events
};
// Tries out both in the folder `dir` (about 20 ms). bwrap is borrowed; NULL: there is none.
void runtime_probe(
    struct runtime *r, const char *program, const char *const *bwrap, const char *dir);
// Pods are plain processes, also those of images: they see this machine, and of the image the
// working folder, in a copy of its root.
void runtime_plain(struct runtime *r, const char *program, const char *worker);
void runtime_done(struct runtime *r);

struct runtime_mount {
    char *source, *target; // absolute
    bool read_only;
};
struct runtime_spec {
    const char *root; // of the image; NULL: the machine's own
    const char *dir;  // private folder of this container: upper, work, merged or copy
    const char *hostname;
    const char *cwd;
    int64_t memory;   // limit in bytes, 0: none
    const char *cpus; // list of CPU numbers or NULL
    const struct runtime_mount *mounts;
    size_t mount_n;
    char *const *argv;
};
enum { RUNTIME_INFO_FD = 3 }; // where bwrap writes {"child-pid": N}
// Makes the container's folders and returns the command line, new: strv_free. May copy the root.
char **runtime_command(const struct runtime *r, const struct runtime_spec *s, err *e);
// Does this program exist inside root (NULL: the machine's own root), found as execvp finds it?
bool runtime_has_program(const char *root, const char *name, const char *path, const char *cwd);
