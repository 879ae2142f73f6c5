// SPDX-License-Identifier: MIT
// "/" among cells: the places of a pattern in titles, sources and outputs, in the order in which
// they stand in the notebook. The caller frees the list of a place_list.
#pragma once
#include "base/data/pattern.h"
#include "tui/bench/slots.h"
#include "tui/bench/view.h"

enum part { PART_TITLE, PART_SOURCE, PART_OUTPUT };
struct place {
    size_t cell;
    enum part part;
    size_t line, from, to; // in the title, the source, or the output as `show` prints it
};
struct place_list {
    struct place *list;
    size_t n;
};

// All places, at most SEARCH_MOST; sources: only those in sources. *list is the caller's to free.
enum { SEARCH_MOST = 200 * 1000 };
void search_find(bench *b, const struct pattern *what, bool sources, struct place_list *out);
// The order in which places stand.
int place_compare(const struct place *a, const struct place *b);
// The words of an output's line, "" when there is no such line; borrowed until the cell's next
// output. They are kept until search_forget.
const char *search_output_line(bench *b, size_t i, size_t line, size_t *n);
size_t search_output_lines(bench *b, size_t i); // how many there are
void search_forget(bench *b);
