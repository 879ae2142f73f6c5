// SPDX-License-Identifier: MIT
// Makes a program independent of the root that it runs in: it then uses the interpreter (ld.so) and
// the libraries of its own folder. The caller owns the bytes, which are changed in place.
#pragma once
#include "base/buf.h"
#include "base/err.h"

// program: a whole ELF file for this machine. interpreter, library_path: absolute paths in the
// image. A statically linked program stays as it is, and so does one that was relocated there
// before. Errors: ERR_INVALID tells what is missing.
int relocate(buf *program, const char *interpreter, const char *library_path, err *e);
