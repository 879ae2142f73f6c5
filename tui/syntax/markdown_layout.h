// SPDX-License-Identifier: MIT
// Markdown as it is displayed: headings, wrapped paragraphs, nested lists, quotes, code in its
// language's colours, tables with aligned columns, links with their target. Any bytes are laid out
// somehow, without recursion and in linear time. It owns its lines.
//
//   "- some *text*, [here](u)"   ─>   "• some text, here (u)"     spans: italic, underlined, dim
#pragma once
#include "base/text/ansi.h"

#include <stdbool.h>

typedef struct markdown markdown;
// ascii: without box-drawing characters and bullets.
markdown *markdown_new(const char *s, size_t n, int width, bool ascii);
void markdown_free(markdown *m);
size_t markdown_lines(const markdown *m);
struct ansi_line markdown_line(const markdown *m, size_t line); // borrowed
// The line of the source that it comes from, counted from 0.
size_t markdown_source(const markdown *m, size_t line);
