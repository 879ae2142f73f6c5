// SPDX-License-Identifier: MIT
// Who owns a run-time file or folder, so that leftovers of a killed process can be told from what a
// living one uses. "PATH.owner" is a file that the owner of PATH keeps locked. The lock ends with
// the process, however that ends, so nobody has to guess from process numbers or ages: but of a
// claim, which nobody has locked yet, the age tells whether somebody is about to.
#pragma once
#include "base/err.h"

#include <stdbool.h>

// Call it before PATH is made. PATH is ours as long as the returned descriptor stays open, in this
// process alone. Errors: ERR_EXISTS when another living process owns it.
int owner_take(const char *path, err *e);
// Makes the owner file of a path that a child of ours will take within seconds: meanwhile a sweep
// leaves it alone. false: it is there, so the path is another process's.
bool owner_claim(const char *path);
bool owner_alive(const char *path); // does some process own it?
char *owner_file(const char *path); // "PATH.owner", new
// Makes a new 0700 folder "PARENT/PREFIX…" that we own; the path is new, *owner the descriptor.
char *owner_make_folder(const char *parent, const char *prefix, int *owner, err *e);
// Removes a file or folder of ours and gives up the ownership: *owner becomes -1 (and may be -1
// already).
void owner_remove(const char *path, int *owner);
// A temporary folder that may be anywhere, and goes with this process, however that ends: a link to
// it is in `folder`, and is ours. A sweep that finds it without an owner removes what it leads to.
struct owner_temp {
    char *path, *link; // NULL: there is none
    int owner;
};
// Makes "PARENT/PREFIX…" with mode 0700. folder NULL: only owner_temp_remove removes it.
int owner_temp_make(
    struct owner_temp *t, const char *folder, const char *parent, const char *prefix, err *e);
void owner_temp_remove(struct owner_temp *t); // may be called again
// Removes everything directly in `folder` whose owner is gone. If something cannot be removed now,
// it stays for the next time. A missing folder counts as empty.
void owner_sweep(const char *folder);
