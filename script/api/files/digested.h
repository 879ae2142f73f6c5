// SPDX-License-Identifier: MIT
// The digest of a file for a call: a large one shows how far it is, and an interrupt ends it.
#pragma once
#include "base/data/digest.h"
#include "script/kernel/effects/binding.h"

// name: of the file, for people.
int files_digest(
    call *c, const char *name, const char *path, int64_t *size, char hex[SHA256_HEX], err *e);
