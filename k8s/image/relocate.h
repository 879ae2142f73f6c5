// SPDX-License-Identifier: MIT
// Makes a program independent of the root that it runs in: it gets the interpreter (ld.so) and the
// libraries of a folder of its own. The bytes are the caller's and are changed in place.
#pragma once
#include "base/buf.h"
#include "base/err.h"

// program: a whole ELF file of this machine. interpreter, library_path: absolute, as the image has
// them. A program that is linked statically stays as it is. Errors: ERR_INVALID with what is
// missing.
int relocate(buf *program, const char *interpreter, const char *library_path, err *e);
