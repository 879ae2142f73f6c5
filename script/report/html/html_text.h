// SPDX-License-Identifier: MIT
// Foreign text in an HTML page: none of it becomes markup, and no control character hides anything.
#pragma once
#include "base/buf.h"

#include <stddef.h>

// Appends text, or an attribute's value in double quotes.
void html_escape(buf *out, const char *text, size_t n);
void html_string(buf *out, const char *text); // NULL: nothing
// A program's output as lines with its colours (spans of classes); from line `from` up to, but not
// including, `to`.
struct html_lines;
struct html_lines *html_lines_new(const char *bytes, size_t n);
void html_lines_free(struct html_lines *l);
size_t html_lines_count(const struct html_lines *l);
void html_lines_print(const struct html_lines *l, size_t from, size_t to, buf *out);
// CommonMark with tables, task lists and strikethrough. Raw HTML is shown as text. An image becomes
// a link unless its data is in the text (data:image/…). Only http, https, mailto and relative
// addresses are links.
void html_markdown(buf *out, const char *text, size_t n);
