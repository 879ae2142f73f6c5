// SPDX-License-Identifier: MIT
// Remembers which files were read, and in which state, so that a file is recorded again only
// after it has changed. The set is the caller's hashmap; only these functions fill it.
#pragma once
#include "base/buf.h"
#include "base/data/hashmap.h"

struct stat;

// Appends a key for the file in the state `st`: its path, place on the disk, size and time of last
// change.
void filestate_key(const char *path, const struct stat *st, buf *key);
// Adds the file in that state. Returns false if the same file in the same state was already there.
bool filestate_add(hashmap *set, const char *path, const struct stat *st);
