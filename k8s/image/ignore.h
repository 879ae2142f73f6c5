// SPDX-License-Identifier: MIT
// Which files stay out of an image, by patterns as in a .dockerignore: relative to the folder, "*"
// and "?" within a name, "**" for any number of folders, "!" includes again, and the last matching
// pattern decides. A pattern that matches a folder matches what is in it. Source:
// moby/patternmatcher, with its oddities; tests/wire compares with it.
#pragma once
#include "base/err.h"

#include <stdbool.h>

// The patterns of a file's text, cleaned, without comments and empty lines; new, NULL-terminated.
// Errors: ERR_INVALID names the line of an invalid pattern.
char **ignore_parse(const char *text, err *e);
// path: relative, "a/b". patterns NULL: nothing is ignored.
bool ignore_matches(const char *const *patterns, const char *path);
