// SPDX-License-Identifier: MIT
// Converts HTML to text, as far as a terminal needs it. This is the one place that removes tags.
// Nothing is owned. A secret may look like a tag, so callers that know secrets mask the HTML first.
#pragma once
#include "base/buf.h"

// Appends the text of a fragment: entities become characters, blocks become lines, scripts and
// styles are dropped.
void html_plain(const char *html, buf *out);
