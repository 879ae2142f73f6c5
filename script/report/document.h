// SPDX-License-Identifier: MIT
// Prints a notebook without a run as Markdown or HTML: its cells, with the outputs that an .ipynb
// has.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "script/report/export.h"

// format: EXPORT_MD or EXPORT_HTML. path: of its file, for a title.
int document_print(
    const notebook *nb, const char *path, enum export_format format, buf *out, err *e);
