// SPDX-License-Identifier: MIT
// Files as wholes: read, replace without ever leaving half a file, make and remove trees.
// Paths that are returned are new and the caller's to free().
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// a/b; b alone when it is absolute or a is "" or NULL.
char *path_join(const char *a, const char *b);
char *path_dirname(const char *path);  // "." where there is no slash
char *path_basename(const char *path); // without trailing slashes
// Does joining stay below its root: relative, and no ".." part?
bool path_is_below(const char *path);
bool path_exists(const char *path);
bool path_is_dir(const char *path);
char *path_absolute(const char *path, err *e); // realpath; the last name need not exist

// mkdir -p with `mode` for what is made.
int path_make_dirs(const char *path, mode_t mode, err *e);
// A new 0700 folder "<parent>/<prefix>XXXXXX".
char *path_make_temp(const char *parent, const char *prefix, err *e);
// Removes a file or a tree without following symbolic links; what is not there is no error.
int path_remove(const char *path, err *e);

// Appends the whole file; more than `limit` bytes is ERR_LIMIT (0: no limit).
int path_read(const char *path, buf *out, size_t limit, err *e);
// Replaces the file as a whole: temporary file beside it, write, fsync, rename, fsync of the
// folder. After an error the old content stands.
int path_write(const char *path, const void *bytes, size_t n, mode_t mode, err *e);
// The same for a person's own file: it keeps its mode and owner, and a symbolic link stays one.
// mode is for a file that is not there yet.
int path_update(const char *path, const void *bytes, size_t n, mode_t mode, err *e);
// Writes all n bytes to a descriptor.
int fd_write_all(int fd, const void *bytes, size_t n, err *e);
// close() for a descriptor that lives in a variable, unless it is negative: the target of AUTO_FD.
void fd_close_at(int *fd);
#define AUTO_FD __attribute__((cleanup(fd_close_at))) int
