// SPDX-License-Identifier: MIT
// Outputs as plain text: what show prints and what exports fall back to. Nothing is owned.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "script/journal/fold.h"

// Appends an output as text, valid UTF-8 that ends with a newline (unless it is empty): a stream
// with what carriage returns overwrote left out, a display's text/plain (or its table where rows
// have changed since), an error with its place and traceback. A spooled stream is read from
// spool_dir; of one that has more than `limit` bytes the middle is cut out, and a line says how
// much (0: 1 MiB).
int output_text(const struct output *o, const char *spool_dir, size_t limit, buf *out, err *e);
// The raw bytes of a stream, cut the same way.
int output_bytes(const struct output *o, const char *spool_dir, size_t limit, buf *out, err *e);
// What a terminal would show in the end: "\r" overwrites a line, escape sequences are dropped.
void text_settle(const char *text, size_t n, buf *out);
// The table of a MIME bundle, {"columns": [name | {"name"}…], "rows": [{"uid", "cells": […]}…]} or
// rows with a member for each column, in aligned columns. false: there is none in it.
bool bundle_table(const cJSON *data, buf *out);
