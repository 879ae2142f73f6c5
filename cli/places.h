// SPDX-License-Identifier: MIT
// Where our programs are, and so what was installed with them: a tree that was moved, or installed
// below a DESTDIR, finds its own files and not those of another one.
#pragma once
#include <stdbool.h>

char *place_own(void); // the folder of our own executable, new
// Where a path that meson configured ("/usr/local/share/firesteel") is as seen from there; new.
char *place_installed(const char *configured);
// Could we make files in this folder, or the folder itself where it is not there yet?
bool place_takes(const char *folder);
