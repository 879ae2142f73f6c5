// SPDX-License-Identifier: MIT
// Environments of children: NULL-terminated arrays of "NAME=VALUE" on the heap, of the kind that
// strv_* (base/str.h) handles.
#pragma once

// Sets a variable, or with a NULL value removes it; returns the array, which may have moved.
char **env_set(char **env, const char *name, const char *value) __attribute__((warn_unused_result));
const char *env_get(const char *const *env, const char *name); // NULL if unset
