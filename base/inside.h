// SPDX-License-Identifier: MIT
// Opens names inside of a folder when the names, or the links in the folder, come from somebody
// else: from an image, an archive, a Dockerfile, a pod. No "..", absolute name or symbolic link
// leads out of the folder, also while another process changes it. Linux sees to that (openat2,
// since 5.6). Where the system lacks the call, or a filter forbids it, a walk part by part does the
// same. The caller owns the descriptors.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

enum inside {
    INSIDE_ROOT,    // as in a chroot: for "..", absolute names and links the folder is "/"
    INSIDE_BENEATH, // what leads out is an error, EXDEV, and so is every absolute name or link
    INSIDE_NO_LINKS // the same, and a symbolic link is an error, ELOOP
};

// Opens what is at `path` below the open folder `root`; "" is root itself. flags are those of
// open(2) that make nothing; O_CLOEXEC is added. O_NOFOLLOW is about the last name alone, as there.
// Returns −1 with errno.
int inside_open(int root, const char *path, int flags, enum inside how);
// Opens a folder, and makes it and those above it with `mode` where they are missing.
int inside_make_dirs(int root, const char *path, mode_t mode, enum inside how);
// The name by which the same is reached without links, "." and "..": "a/b", or "" for root itself;
// new. NULL with errno. Another process may put a link there at any time: open it by inside_open.
char *inside_name(int root, const char *path, enum inside how);
// Does the name lead to a place below root (INSIDE_BENEATH), which may be missing? A name with ".."
// behind a part that is missing is none: that part may be made as a link later.
bool inside_stays(int root, const char *path);
