// SPDX-License-Identifier: MIT
// Finds our programs, and the files that were installed with them. A tree that was moved, or
// installed below a DESTDIR, finds its own files and not those of another one.
#pragma once
#include <stdbool.h>

char *place_own(void); // the folder of our own executable, new
// Where a path that meson configured ("/usr/local/share/firesteel") is in the tree of this
// executable; new.
char *place_installed(const char *configured);
// One of our programs: beside this one, as in a build folder, else where it was installed, programs
// that people start in BINDIR and the others in LIBEXECDIR. New; NULL: it is in none of these.
char *place_program(const char *name);
// A file or folder beside a bundle's loader (k8s/image/programs/bundle.h), by its name in the
// folder of libraries: "locale"; new. NULL: this is no bundle, or it has none.
char *place_beside_loader(const char *name);
// Can we make files in this folder, or make the folder if it does not exist yet?
bool place_takes(const char *folder);
// A program in PATH, as execvp finds it; path: PATH's value, NULL: the usual folders. New; NULL:
// none.
char *place_in_path(const char *path, const char *name);
// The words that start bubblewrap, new: the program in PATH, else the bundle's, which the bundle's
// loader starts. NULL: bubblewrap is in neither.
char **place_bwrap(const char *path);
