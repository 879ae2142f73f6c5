// SPDX-License-Identifier: MIT
// Prints a run as a document for others: .ipynb with its outputs, Markdown, an HTML page, or
// JUnit's XML; for programs, JSON: what lineage_of tells, with the state, the end, the place, the
// text of the notebook and the metrics. No format contains control characters except line breaks
// and tabs: Markdown and HTML show them as text (base/printable.h), JSON escapes them, XML leaves
// them out. Nothing is owned.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "script/journal/fold/fold.h"

enum export_format { EXPORT_IPYNB, EXPORT_MD, EXPORT_HTML, EXPORT_JUNIT, EXPORT_JSON };
#define EXPORT_FORMATS "ipynb|md|html|junit|json"
#define EXPORT_ENDS    ".ipynb, .md, .html, .xml or .json" // of files' names

// The format for one of EXPORT_FORMATS, or a file's extension. false: none of these.
bool export_format(const char *name_or_path, enum export_format *format);
// spool_dir: .firesteel/RUN, for outputs that were spooled. If a stream has more than `limit` bytes
// (0: 1 MiB), its middle is cut out, and the text says so.
int export_run(const fold *f, const char *spool_dir, enum export_format format, size_t limit,
    buf *out, err *e);
// The bundle and the metadata of one display as the .ipynb has them, both new.
cJSON *export_bundle(const struct output *o, cJSON **metadata);
