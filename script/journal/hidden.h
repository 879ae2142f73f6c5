// SPDX-License-Identifier: MIT
// The folder .firesteel of a working folder, in which runs leave journals, spools and locks: who
// opens something there does it through here. It must be this user's alone (base/folder.h); the
// caller owns the descriptors.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

// Opens FOLDER/.firesteel, which is made, with its .gitignore, where it is not there yet.
int hidden_make(const char *folder, err *e);
// Opens it to look into; ERR_NOT_FOUND when it is not there.
int hidden_look(const char *folder, err *e);
// Opens a file by its path, FOLDER/.firesteel/RUN.jsonl or FOLDER/.firesteel/RUN/NAME: .firesteel
// and all below it are checked, and no link is followed there. Of a file that is in no .firesteel
// the folder that it is in is checked.
int hidden_open(const char *path, int flags, mode_t mode, err *e);
// The folder that such a path's file is in; make: it is made, with .firesteel.
int hidden_folder_of(const char *path, bool make, err *e);
