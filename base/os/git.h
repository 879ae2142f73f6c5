// SPDX-License-Identifier: MIT
// Finds out which commit is checked out in a folder by reading the files of its git repository.
// Runs no program and reads no setting of the repository, since the repository may not be trusted.
// A git_head is a plain value that owns its strings.
#pragma once
#include "base/err.h"

struct git_head {
    char *tree;      // the working tree's top folder
    char *dir;       // its git folder: TREE/.git, or the folder that the file TREE/.git names
    char *common;    // the repository's git folder: `dir`, or the main working tree's if this is a
                     // linked one
    char *branch;    // "main"; NULL: HEAD is detached
    char commit[65]; // 40 or 64 hexadecimal digits; "": the branch has no commit yet
};

// Looks in the folder and those above it for the nearest `.git`. Errors: ERR_NOT_FOUND: there is no
// repository; ERR_INVALID: the repository cannot be read, with the reason.
int git_head_read(const char *folder, struct git_head *head, err *e);
void git_head_done(struct git_head *head);
