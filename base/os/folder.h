// SPDX-License-Identifier: MIT
// Folders that belong to this user alone. They are opened by descriptor, part by part, without
// following links, and only after the owner and mode of each part were checked. The caller owns the
// descriptors.
//
// Everything that keeps state (journals, spools, locks, code to require) opens its folder through
// this, so nothing that another user plants in a shared folder is read, written or run.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

// Opens the folder `below` ("a/b"; "" is root itself) in the folder `root`. `root` may belong to
// anybody and be reached through links. Each part of `below` (or root itself, if below is "") must
// belong to this user and be writable for nobody else. Otherwise the error is ERR_FORBIDDEN, which
// names the part, its owner and the remedy. With `make`, missing parts are made with mode 0700 and
// their entries synced; without it, a missing part is ERR_NOT_FOUND.
int folder_open(const char *root, const char *below, bool make, err *e);
// The same for a path whose last `parts` parts are checked. With parts 2,
// "~/.local/state/firesteel/sandbox" may be reached through a link, but neither firesteel nor
// sandbox may be one. With make, missing folders above them are made, too.
int folder_open_path(const char *path, int parts, bool make, err *e);
// Opens a regular file in an open folder; flags and mode as of open(2). Returns -1 with errno:
// ELOOP for a link, EINVAL for anything else that is not a regular file.
int folder_file(int dir, const char *name, int flags, mode_t mode);
