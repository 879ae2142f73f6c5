// SPDX-License-Identifier: MIT
// The folder .firesteel of a working folder, which holds the journals, spools and locks of runs.
// Everything in it is opened through these functions. It must belong to this user alone
// (base/os/folder.h). The caller owns the descriptors.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

// Opens FOLDER/.firesteel; makes it, with a .gitignore, if it is missing.
int hidden_make(const char *folder, err *e);
// Opens it for reading; ERR_NOT_FOUND when it is missing.
int hidden_look(const char *folder, err *e);
// Opens a file by its path, FOLDER/.firesteel/RUN.jsonl or FOLDER/.firesteel/RUN/NAME: .firesteel
// and everything below it are checked, and links there are not followed. If the file is not in a
// .firesteel, its own folder is checked.
int hidden_open(const char *path, int flags, mode_t mode, err *e);
// Opens the folder of a file with such a path; make: makes it, and .firesteel.
int hidden_folder_of(const char *path, bool make, err *e);
