// SPDX-License-Identifier: MIT
// What every view of rows and columns can do with them: move, hide, sort and filter by a column,
// its frequency, all columns' statistics, a row as a form, CSV. The views of these look at the rows
// of the view below them, which stays open meanwhile. Nothing is owned.
#pragma once
#include "tui/bench/view.h"
#include "tui/part/filter.h"
#include "tui/part/scroll.h"
#include "tui/part/table/sheet.h"

// The parts of such a view, at their places in it.
struct columns {
    view *view;
    struct sheet *sheet;
    struct scroll *scroll;
    struct filter *filter;
    const char *title; // of the rows, for the file's name; needed during the call
};

// Carries out an action of SHEET_KEYS, or says why not; false: none of these.
bool columns_act(const struct columns *c, enum action a);
// A click on the names at x: that column is chosen, and sorts.
void columns_point(const struct columns *c, int x);
// Sets the filter to what was typed and this condition on a column.
void columns_narrow(const struct columns *c, int column, const char *value);

// How often each value of a column is there; column -1: the statistics of all columns (survey.c).
void survey_push(const struct columns *of, int column);
// The row as a form (form.c).
void form_push(const struct columns *of, size_t row);
// Writes the rows, with what has been written so far (csv.c).
void csv_save(const struct columns *of);
