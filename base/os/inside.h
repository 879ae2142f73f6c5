// SPDX-License-Identifier: MIT
// Opens names inside of a folder when the names, or the links in the folder, come from somebody
// else: from an image, an archive, a Dockerfile, a pod. No "..", absolute name or symbolic link
// leads out of the folder, even while another process changes it. Linux enforces that (openat2,
// since 5.6). Where the system lacks the call, or a filter forbids it, a walk part by part does the
// same. The caller owns the descriptors.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

enum inside {
    INSIDE_ROOT,    // as in a chroot: for "..", absolute names and links the folder is "/"
    INSIDE_BENEATH, // a name that leads out is an error, EXDEV; so is every absolute name or link
    INSIDE_NO_LINKS // the same, and a symbolic link is an error, ELOOP
};

// Opens `path` below the open folder `root`; "" is root itself. flags are flags of open(2) that
// create nothing; O_CLOEXEC is added. O_NOFOLLOW applies to the last name only, as in open(2).
// Returns −1 with errno.
int inside_open(int root, const char *path, int flags, enum inside how);
// Opens a folder, and makes it and those above it with `mode` where they are missing.
int inside_make_dirs(int root, const char *path, mode_t mode, enum inside how);
// The name of the same file without links, "." and "..": "a/b", or "" for root itself; new. NULL
// with errno. Another process may put a link there at any time, so open the name with inside_open.
char *inside_name(int root, const char *path, enum inside how);
// Does the name lead to a place below root (INSIDE_BENEATH)? The place need not exist. Returns
// false for a ".." after a missing part, which may be made as a link later.
bool inside_stays(int root, const char *path);
