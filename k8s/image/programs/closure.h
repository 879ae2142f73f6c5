// SPDX-License-Identifier: MIT
// Finds the files that a program needs to run: its interpreter and shared libraries, found as ld.so
// finds them, by reading ELF headers. Executes nothing. The caller owns the lists. Libraries that a
// program loads by itself count, too, if its .note.dlopen names them with priority "required"
// (base/os/late.h).
#pragma once
#include "base/err.h"

#include <stddef.h>

struct closure_library {
    char *soname; // the name in DT_NEEDED: "libm.so.6"; a file in any folder can have it
    char *path;   // where it was found
};
struct closure {
    char *interpreter;                 // "/lib64/ld-linux-x86-64.so.2"; NULL if no file names one
    struct closure_library *libraries; // sorted by soname, each once, including the interpreter's
    size_t n;
};
// Adds everything that `path` (a program or a shared library) needs, recursively, to *closure.
// Errors: ERR_NOT_FOUND names the library, the file that needs it, and the places searched;
// ERR_INVALID: not an ELF file of this machine's class, or it needs a library by a path.
int closure_add(struct closure *closure, const char *path, err *e);
void closure_done(struct closure *closure);
