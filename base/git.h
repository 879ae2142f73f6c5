// SPDX-License-Identifier: MIT
// Which commit is checked out where a folder lies, read from the files of its git repository. No
// program is run and no setting of the repository is read: it may be a stranger's. A git_head is a
// plain value that owns its strings.
#pragma once
#include "base/err.h"

struct git_head {
    char *tree;      // the working tree's top folder
    char *dir;       // its git folder: TREE/.git, or what the file TREE/.git names
    char *common;    // the repository's: the same, or for a linked working tree the main one's
    char *branch;    // "main"; NULL: HEAD is detached
    char commit[65]; // 40 or 64 hexadecimal digits; "": the branch has no commit yet
};

// Looks in the folder and those above it for the nearest `.git`. Errors: ERR_NOT_FOUND: there is
// none; ERR_INVALID: it is none that can be read, with the reason.
int git_head_read(const char *folder, struct git_head *head, err *e);
void git_head_done(struct git_head *head);
