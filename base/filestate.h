// SPDX-License-Identifier: MIT
// A set of the files that were read. A file is added once, and once more after each change. The set
// is a hashmap of the caller's, with nothing else in it.
#pragma once
#include "base/buf.h"
#include "base/hashmap.h"

struct stat;

// Appends the bytes that stand for the file at this path in the state that st tells: its place on
// the disk, its size and the time of its last change.
void filestate_key(const char *path, const struct stat *st, buf *key);
// Adds the file in that state. false: it was already there.
bool filestate_add(hashmap *set, const char *path, const struct stat *st);
