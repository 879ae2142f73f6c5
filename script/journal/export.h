// SPDX-License-Identifier: MIT
// A run as a document for others: .ipynb with its outputs, or Markdown. Neither holds a control
// character but line breaks and tabs: Markdown shows them (base/printable.h), JSON escapes them.
// Nothing is owned.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "script/journal/fold.h"

enum export_format { EXPORT_IPYNB, EXPORT_MD };

// The format for "ipynb", "md", or a file's extension. false: neither.
bool export_format(const char *name_or_path, enum export_format *format);
// spool_dir: .firesteel/RUN, for outputs that were spooled. If a stream has more than `limit` bytes
// (0: 1 MiB), its middle is cut out, and the text says so.
int export_run(const fold *f, const char *spool_dir, enum export_format format, size_t limit,
    buf *out, err *e);
