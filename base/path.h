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
// Replaces a file of our own as a whole: temporary file beside it, write, fsync, rename, fsync of
// the folder. The umask counts. What is there and is no regular file (a link, too) is refused.
// After an error the old content stands, but for one that says that the file is written.
int path_write(const char *path, const void *bytes, size_t n, mode_t mode, err *e);
// The same for a file that a person named. It keeps its mode and owner; links are followed, and
// stay; a device, a pipe that is read from, /dev/stdout and its like are written into. Refused: a
// link to nothing, a pipe without a reader, everything else that is no file.
// mode is for a file that is not there yet; one without rights for others (0600) counts always.
int path_update(const char *path, const void *bytes, size_t n, mode_t mode, err *e);
// The rest of an open file, as path_read; the error does not name the file.
int fd_read_all(int fd, buf *out, size_t limit, err *e);
// fsync of an open folder: 0 also where the file system has no such thing, else -1 and errno.
int fd_sync_folder(int dir);
// Writes all n bytes to a descriptor.
int fd_write_all(int fd, const void *bytes, size_t n, err *e);
// close() for a descriptor that lives in a variable, unless it is negative: the target of AUTO_FD.
void fd_close_at(int *fd);
#define AUTO_FD __attribute__((cleanup(fd_close_at))) int
