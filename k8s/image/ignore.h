// SPDX-License-Identifier: MIT
// Which files stay out of an image, by patterns as in a .dockerignore: relative to the folder, "*"
// and "?" within a name, "**" for any number of folders, "!" takes back in, and the last pattern
// that matches decides. A pattern that matches a folder matches what is in it.
// Source: docker's reference, "dockerignore file".
#pragma once
#include <stdbool.h>

// The patterns of a file's text, without comments and empty lines; new, ended by NULL.
char **ignore_parse(const char *text);
// path: relative, "a/b". patterns NULL: nothing is ignored.
bool ignore_matches(const char *const *patterns, const char *path);
