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
// The path without "." parts, double slashes and "name/..", so that two spellings of one file
// become equal texts. Links are not followed.
char *path_plain(const char *path);
char *path_dirname(const char *path);  // "." where there is no slash
char *path_basename(const char *path); // without trailing slashes
// Returns whether the path stays below the folder it is joined to: it is relative and has no ".."
// part.
bool path_is_below(const char *path);
bool path_exists(const char *path);
bool path_is_dir(const char *path);
// Returns whether the path exists and is not meant to be written: its mode allows it to nobody
// (which does not stop root), or we may not.
bool path_is_read_only(const char *path);
char *path_absolute(const char *path, err *e); // realpath; the last name need not exist

// mkdir -p; new folders get `mode`.
int path_make_dirs(const char *path, mode_t mode, err *e);
// A new 0700 folder "<parent>/<prefix>XXXXXX".
char *path_make_temp(const char *parent, const char *prefix, err *e);
// Removes a file or a tree without following symbolic links; a missing one is no error.
int path_remove(const char *path, err *e);

// Appends the whole file; more than `limit` bytes is ERR_LIMIT (0: no limit).
int path_read(const char *path, buf *out, size_t limit, err *e);
// Replaces a file of our own as a whole: temporary file beside it, write, fsync, rename, fsync of
// the folder. The umask counts. If path is something else than a regular file (also: a link), it is
// refused. After an error the old content stands, unless the error says that the file is written.
int path_write(const char *path, const void *bytes, size_t n, mode_t mode, err *e);
// The same for a file that a person named. The file keeps its mode and owner. Links are followed
// and stay. Devices, pipes with a reader, /dev/stdout and the like are written into. Everything
// else that is not a file is refused: a dangling link, a pipe without a reader. mode is for a new
// file; a mode without rights for others (0600) applies in any case.
int path_update(const char *path, const void *bytes, size_t n, mode_t mode, err *e);
// Checks, as far as that can be known, whether path_update would succeed. Gives the same errors and
// changes nothing.
int path_may_update(const char *path, err *e);
// Reads the rest of an open file, as path_read does; the error does not name the file.
int fd_read_all(int fd, buf *out, size_t limit, err *e);
// fsync of an open folder; also 0 where the file system cannot do it, else -1 with errno.
int fd_sync_folder(int dir);
// Writes all n bytes to a descriptor.
int fd_write_all(int fd, const void *bytes, size_t n, err *e);
// A new memory file that has no name in any folder: close-on-exec, and its size can be sealed. -1
// with errno. It cannot be executed: hosts with vm.memfd_noexec=2 allow no other. The name shows up
// in /proc.
int fd_memory(const char *name);
// Closes a descriptor that lives in a variable, unless it is negative: the target of AUTO_FD.
void fd_close_at(int *fd);
#define AUTO_FD __attribute__((cleanup(fd_close_at))) int
