// SPDX-License-Identifier: MIT
// A notebook: a header and a list of cells, loaded from a Lua file in jupytext's percent format or
// from an .ipynb, and saved to either. It owns its cells; pointers to them live until the next
// edit.
//
//   -- ---                          header: kept byte for byte
//   -- ---
//                                   a cell: its marker line, its body, the blank lines up to the
//                                   next
//   -- %% Title option="value"      marker. An unedited cell is saved with the very bytes it came
//   body                            with; an edited one is written anew, as jupytext would.
//
//   -- %% [markdown]
//   -- text
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "script/notebook/cell.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct notebook notebook;

notebook *notebook_new(void);
void notebook_free(notebook *nb);
// By extension: .ipynb, else percent. Errors: ERR_NOT_FOUND; ERR_INVALID with file and line for
// what is no notebook (NUL bytes, bad UTF-8, bad JSON). Wrong options and magics are
// notebook_check's.
notebook *notebook_load(const char *path, err *e);
// The same to be edited: where there is no such .lua or .ipynb yet, one with an empty cell that
// saving makes.
notebook *notebook_open(const char *path, err *e);
// Text of the percent format. A text without a marker is one cell.
notebook *notebook_parse(const char *text, size_t n, err *e);
notebook *notebook_parse_ipynb(const char *text, size_t n, err *e);
// By extension, replacing the file as a whole; its mode, its owner and a link to it stay.
int notebook_save(const notebook *nb, const char *path, err *e);
void notebook_print(const notebook *nb, buf *out);

// The .ipynb (nbformat 4.5). outputs(arg, cell, i) returns the new array of nbformat outputs of
// cell i, or NULL for what it was loaded with; *execution_count may be set. outputs may be NULL.
typedef cJSON *notebook_outputs_fn(void *arg, const cell *c, size_t i, long *execution_count);
cJSON *notebook_to_ipynb(const notebook *nb, notebook_outputs_fn *outputs, void *arg);

size_t notebook_count(const notebook *nb);
const cell *notebook_cell(const notebook *nb, size_t i);
// Index by id; false if there is none.
bool notebook_find(const notebook *nb, const char *id, size_t *i);
// "cell 3 (Deploy)", for messages; numbers count code cells, as Jupyter's In [3] does.
void notebook_cell_name(const notebook *nb, size_t i, buf *out);

// The first thing that would keep a cell from being executed: an unknown option, a wrong value, a
// repeated id, an unknown magic. ERR_USAGE "line 12: unknown option …".
int notebook_check(const notebook *nb, err *e);

// Edits. Positions are 0-based; `at` may be the count. A marker is what stands after "%%":
// "Title option=\"value\"", "[markdown]". What is wrong in it is the cell's `problem`.
const cell *notebook_insert(notebook *nb, size_t at, const char *marker, const char *source);
// The same with an id for the cell, unless one has it or the marker names its own; NULL: any. An id
// in the marker that a cell has already is taken out of it: that is a copy.
const cell *notebook_insert_as(
    notebook *nb, size_t at, const char *id, const char *marker, const char *source);
const cell *notebook_replace(notebook *nb, size_t i, const char *source);
const cell *notebook_set_marker(notebook *nb, size_t i, const char *marker);
void notebook_move(notebook *nb, size_t from, size_t to); // to: its index afterwards
void notebook_delete(notebook *nb, size_t i);
// Cuts the source before byte `offset`: the first part keeps id and marker, the second has none.
const cell *notebook_split(notebook *nb, size_t i, size_t offset);
// `nb` is `old`, read again: cells that are still the same keep their ids, and no other has one of
// theirs. A cell may have moved; one edited in its place is the same.
void notebook_adopt_ids(notebook *nb, const notebook *old);
// Gives cells the ids of `ids` (as many as cells): for a copy that must speak of the same cells.
int notebook_set_ids(notebook *nb, const char *const *ids, size_t n, err *e);
