// SPDX-License-Identifier: MIT
// Records which process owns a run-time file or folder, so that what a killed process left behind
// can be removed and what a living one uses stays. "PATH.owner" is a file that the owner of PATH
// keeps locked. The lock ends with the process, however that ends, so nobody has to guess from
// process numbers or ages. The exception is a claim, which nobody has locked yet: its age decides
// whether its owner may still come.
#pragma once
#include "base/err.h"

#include <stdbool.h>

// Call it before PATH is made. PATH is ours as long as the returned descriptor stays open, in this
// process alone. Errors: ERR_EXISTS when another living process owns it.
int owner_take(const char *path, err *e);
// Makes the owner file of a path that a child of ours will take within seconds; until then a sweep
// leaves the path alone. Returns false if the file exists: the path is another process's.
bool owner_claim(const char *path);
bool owner_alive(const char *path); // does some process own it?
char *owner_file(const char *path); // "PATH.owner", new
// Makes a new 0700 folder "PARENT/PREFIX…" that we own; the path is new, *owner the descriptor.
char *owner_make_folder(const char *parent, const char *prefix, int *owner, err *e);
// Removes a file or folder of ours and gives up the ownership: *owner becomes -1 (and may be -1
// already).
void owner_remove(const char *path, int *owner);
// A temporary folder anywhere on the machine that goes away with this process, however that ends. A
// link to it is kept in `folder` and owned by us. A sweep that finds the link without an owner
// removes the folder.
struct owner_temp {
    char *path, *link; // NULL: none
    int owner;
};
// Makes "PARENT/PREFIX…" with mode 0700. If `folder` is NULL there is no link: only
// owner_temp_remove removes the folder.
int owner_temp_make(
    struct owner_temp *t, const char *folder, const char *parent, const char *prefix, err *e);
void owner_temp_remove(struct owner_temp *t); // may be called again
// Removes everything directly in `folder` whose owner is gone. What cannot be removed now stays for
// the next sweep. A missing folder counts as empty.
void owner_sweep(const char *folder);
