// SPDX-License-Identifier: MIT
// Who a run-time file or folder belongs to, so that what a killed process left can be told from
// what a living one uses. "PATH.owner" is a file that the owner of PATH holds locked: the lock goes
// with the process, however it ends, so neither numbers of processes nor ages are guessed from.
#pragma once
#include "base/err.h"

// Before PATH is made: PATH is ours as long as the descriptor that is returned stays open, in this
// process alone. Errors: ERR_EXISTS when somebody else who lives owns it.
int owner_take(const char *path, err *e);
char *owner_file(const char *path); // "PATH.owner", new
// A new 0700 folder "PARENT/PREFIX…" of ours; the path is new, *owner the descriptor.
char *owner_make_folder(const char *parent, const char *prefix, int *owner, err *e);
// Removes what is ours and gives it up; *owner becomes -1. It may be -1 already.
void owner_remove(const char *path, int *owner);
// Removes everything directly in `folder` whose owner is gone. What cannot be removed now is left
// for the next time; a folder that is not there is empty.
void owner_sweep(const char *folder);
