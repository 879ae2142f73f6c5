// SPDX-License-Identifier: MIT
// Makes a program independent of the root that it runs in: it then uses the interpreter (ld.so) and
// the libraries of its own folder. The caller owns the bytes, which are changed in place.
#pragma once
#include "base/buf.h"
#include "base/err.h"

// program: a whole ELF file for this machine. interpreter: an absolute path, or one as seen from
// the program's folder ("../lib/ld-linux-x86-64.so.2"), which only our own programs can follow
// (base/start/start.h); NULL: it is a library and has none. library_path: folders, as in DT_RPATH;
// $ORIGIN is the file's own. A statically linked program stays as it is, and so does one that was
// relocated there before. Errors: ERR_INVALID tells what is missing.
int relocate(buf *program, const char *interpreter, const char *library_path, err *e);
