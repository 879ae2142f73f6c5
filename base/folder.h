// SPDX-License-Identifier: MIT
// Folders that are this user's alone: opened by descriptor, part by part, without following links,
// and only after owner and mode of each part were looked at. The caller owns the descriptors.
//
// What another user plants in a shared folder (journals, spools, locks, code to require) is thus
// never read, written or run: everything that keeps state opens it through here.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

// Opens the folder `below` ("a/b"; "" is root itself) of the folder `root`. root may be anybody's,
// and links may lead to it; each part of below (with "": root) must be this user's, and nobody else
// may write to it: ERR_FORBIDDEN names the part, whose it is and what to do. make: a part that is
// not there is made with mode 0700, and its entry synced; else it is ERR_NOT_FOUND.
int folder_open(const char *root, const char *below, bool make, err *e);
// The same for a path whose last `parts` parts are checked. "~/.local/state/firesteel/sandbox" with
// 2 may be reached through a link, but neither of firesteel and sandbox may be one. With make, what
// is above is made, too.
int folder_open_path(const char *path, int parts, bool make, err *e);
// A regular file of an open folder; flags and mode as of open(2). -1 and errno: ELOOP for a link,
// EINVAL for what is no regular file.
int folder_file(int dir, const char *name, int flags, mode_t mode);
