// SPDX-License-Identifier: MIT
// Packs an installed firesteel with its loader and libraries, for machines that have neither a
// compiler nor a fitting C library: whoever unpacks the archives has a folder that runs from
// anywhere (base/start/start.h). The same files give the same bytes.
//
//   NAME/bin/        our programs that people start, NAME/libexec/firesteel/ the others; they know
//                    the way to their loader
//   NAME/lib/        ld.so, and every library that programs and plug-ins need
//   NAME/…           plug-ins, recipes, pages and so on, where the installed tree has them
//   NAME/share/doc/firesteel/licenses/PACKAGE     of the libraries
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

// An archive each: NAME.tar.zst, NAME-mpi.tar.zst. X(identifier, what its name gets)
#define BUNDLE_PARTS(X)                                                                            \
    X(MAIN, "")                                                                                    \
    X(JUPYTER, "-jupyter")                                                                         \
    X(MPI, "-mpi")                                                                                 \
    X(MNIST, "-mnist")
enum bundle_part {
#define X(name, suffix) BUNDLE_##name,
    BUNDLE_PARTS(X)
#undef X
        BUNDLE_PARTS_N
};

enum bundle_kind {
    BUNDLE_PROGRAM, // one of ours
    BUNDLE_PLUGIN,  // a library that one of ours loads
    BUNDLE_FOREIGN, // a program that is started by the loader (cli/places.h)
    BUNDLE_TREE,    // a file or folder, as it is
};

struct bundle_file {
    enum bundle_kind kind;
    enum bundle_part part;
    char *from, *to; // `to`: as seen from the folder NAME; "lib" has the libraries
};

struct bundle_spec {
    const char *name;
    const struct bundle_file *files;
    size_t n;
    int64_t time;                   // of every entry, seconds since 1970
    int level;                      // of compression by zstd: 1 to 22
    const struct work_watch *watch; // its parts are the archives; NULL: none
};

// Writes the archives of the parts that have files, and SHA256SUMS, into the folder, which is made.
// *unknown gets the libraries whose licence was not found (a strv, the caller's). Errors name the
// file; archives that are there already are replaced whole.
int bundle_write(const struct bundle_spec *spec, const char *folder, char ***unknown, err *e);
