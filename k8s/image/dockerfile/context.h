// SPDX-License-Identifier: MIT
// A folder that a Dockerfile reads: the context, or an unpacked stage or image. Every name is
// resolved inside of it, as in a chroot (base/os/inside.h), so no link of it leads elsewhere. The
// caller owns it, and what is returned.
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct context {
    int folder; // open; -1: none
    char *path;
};
int context_open(struct context *c, const char *path, err *e);
void context_done(struct context *c);

// Appends the text of a file that controls the build (a Dockerfile, an ignore file). A link is
// followed if it stays below the folder. Errors: ERR_NOT_FOUND if there is neither a file nor a
// link of that name.
int context_read(const struct context *c, const char *name, buf *out, size_t limit, err *e);
// The names that a pattern of COPY matches, sorted, in the pattern's spelling; NULL-terminated.
// "*", "?" and "[…]" match within a name, also a dot at its start. A pattern without these is a
// name, which need not exist.
char **context_names(const struct context *c, const char *pattern);
// Why nothing is at this name.
int context_misses(const struct context *c, const char *name, err *e);
