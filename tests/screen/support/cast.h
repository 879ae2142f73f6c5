// SPDX-License-Identifier: MIT
// A recording of a terminal as an asciicast, version 2: JSON lines of [seconds, kind, text].
// https://docs.asciinema.org/manual/asciicast/v2/
#pragma once
#include <stddef.h>

typedef struct cast cast;
cast *cast_open(const char *path, int w, int h); // NULL, with errno
void cast_output(cast *c, const char *bytes, size_t n);
void cast_resize(cast *c, int w, int h);
void cast_mark(cast *c, const char *name); // players jump to these
void cast_close(cast *c);                  // NULL is fine, here and above
