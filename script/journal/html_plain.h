// SPDX-License-Identifier: MIT
// HTML as text, as far as a terminal needs it: the one place that leaves tags out. Nothing is
// owned. A secret may look like a tag: who knows secrets masks the HTML first.
#pragma once
#include "base/buf.h"

// Appends the text of a fragment: entities are characters, blocks are lines, scripts and styles are
// nothing.
void html_plain(const char *html, buf *out);
