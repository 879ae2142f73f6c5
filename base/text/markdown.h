// SPDX-License-Identifier: MIT
// Markdown as md4c can read it: what GitHub and Jupyter take beside it becomes Markdown. Lines stay
// where they are.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// The tags that texts of notebooks have (<img>, <a>, <br>, <b>, <details>, <p>, …) as Markdown, and
// the second row of a table with three dashes a column. Code is left alone. New.
char *markdown_plain(const char *text, size_t n);
// The fence that closes the code block that a text leaves open, with a line break before it; new.
// NULL: none is open.
char *markdown_open_fence(const char *text, size_t n);
// md4c's time for a table is its rows × its columns: are there too many for it?
bool markdown_has_many_bars(const char *text, size_t n);
