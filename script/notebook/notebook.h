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
#include "base/json/json.h"
#include "script/notebook/cell.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct notebook notebook;

notebook *notebook_new(void);
void notebook_free(notebook *nb);
// Loads a file; its extension decides, as above. Errors: ERR_NOT_FOUND;
// ERR_INVALID with file and line if it is no notebook (NUL bytes, bad UTF-8, bad JSON).
// notebook_check finds wrong options and magics.
notebook *notebook_load(const char *path, err *e);
// One with an empty cell.
notebook *notebook_blank(void);
// Loads it for editing: if the .lua or .ipynb does not exist, it returns a notebook with an empty
// cell, and saving makes the file.
notebook *notebook_open(const char *path, err *e);
// Parses text in the percent format. A text without a marker is one cell.
notebook *notebook_parse(const char *text, size_t n, err *e);
notebook *notebook_parse_ipynb(const char *text, size_t n, err *e);
// In the format of the path's extension: .ipynb; the percent format of Python, R and other
// languages, with their comments; else Lua's. A .py may keep cells in Lua in comments, as jupytext
// keeps another language.
notebook *notebook_parse_as(const char *path, const char *text, size_t n, err *e);
// Is it the name of a file in the percent format of another language than Lua?
bool notebook_is_script(const char *path);
// Saves in the format of the extension, replacing the file as a whole; its mode, its owner and a
// link to it stay.
int notebook_save(const notebook *nb, const char *path, err *e);
// The same; into an .ipynb go these outputs (below).
typedef cJSON *notebook_outputs_fn(void *arg, const cell *c, size_t i, long *execution_count);
int notebook_save_with(
    const notebook *nb, const char *path, notebook_outputs_fn *outputs, void *arg, err *e);
// What is saved there.
int notebook_print_as(const notebook *nb, const char *path, notebook_outputs_fn *outputs, void *arg,
    buf *out, err *e);
void notebook_print(const notebook *nb, buf *out);
// Is this the text that notebook_parse made nb of, with no change since?
bool notebook_was_read_from(const notebook *nb, const char *text, size_t n);

// The .ipynb (nbformat 4.5). outputs(arg, cell, i) returns a new array of nbformat outputs for cell
// i, or NULL to keep those it was loaded with; *execution_count may be set. outputs may be NULL.
cJSON *notebook_to_ipynb(const notebook *nb, notebook_outputs_fn *outputs, void *arg);
// Those that a cell was loaded with; NULL: none. *count: its execution count, -1: none. Borrowed.
const cJSON *notebook_outputs(const notebook *nb, size_t i, long *count);
void notebook_forget_outputs(notebook *nb, const char *id);
// Takes them for a cell of the notebook, or for one that was deleted and may come back. count: -1:
// none.
void notebook_set_outputs(notebook *nb, const char *id, cJSON *outputs, long count);
// `nb` was `file` before it went through text and was edited: it gets what text cannot carry
// (outputs, attachments, metadata), by the ids of the cells; where the file has no ids, by their
// places and sources.
void notebook_adopt_file(notebook *nb, notebook *file);

size_t notebook_count(const notebook *nb);
const cell *notebook_cell(const notebook *nb, size_t i);
// Finds a cell's index by id; false if there is none.
bool notebook_find(const notebook *nb, const char *id, size_t *i);
// The number of a code cell among the code cells, from 1; 0 for others. *total (may be NULL): how
// many code cells there are. A cell of given parameters is not counted, so that numbers are the
// same without it: it has the number of the cell before it.
size_t notebook_code_number(const notebook *nb, size_t i, size_t *total);
// Is it one of them?
bool notebook_counts(const notebook *nb, size_t i);
// "cell 3 (Deploy)", for messages; numbers count code cells, as Jupyter's In [3] does.
void notebook_cell_name(const notebook *nb, size_t i, buf *out);
// What a cell is called in reports, comparisons, errors and by options, new: its title, else
// "Parameters" for the parameters' cell, else "cell 3", by the same number; a text: "text after
// cell 3", "text before cell 1".
char *notebook_cell_title(const notebook *nb, size_t i);

// Finds the first fault that keeps a cell from being executed: an unknown option, a wrong value, a
// repeated id, an unknown magic. ERR_USAGE "line 12: unknown option …". faults.h has all.
int notebook_check(const notebook *nb, err *e);
// The language that its cells are said to be in ("python"); NULL: Lua, or nothing is said. And the
// name of the Jupyter kernel that it was made with; NULL: none is said.
const char *notebook_language(const notebook *nb);
const char *notebook_kernel(const notebook *nb);
// Has its cells run by the Jupyter kernel of this name and no other, as papermill's --kernel does.
// Call it before cells are planned; the file does not change. ERR_USAGE: its cells are in Lua.
int notebook_use_kernel(notebook *nb, const char *name, err *e);
// Is it an .ipynb that does not say its language, and whose cells do not show it? The words that
// tell what to write, and the deed.
bool notebook_is_undecided(const notebook *nb);
const char *notebook_undecided_words(void);
void notebook_set_language(notebook *nb, const char *language);
// A notebook in Lua of one in Python, as far as rules tell how; new. left is called for each code
// cell, in order: why it stays in Python (NULL: it is Lua now), and whether its commands use a
// cluster.
typedef void notebook_left_fn(void *arg, size_t i, const char *why, bool cluster);
notebook *notebook_to_lua(const notebook *nb, notebook_left_fn *left, void *arg);
// Is it an .ipynb of nbformat 2 or 3, which is saved as one of 4?
bool notebook_is_old(const notebook *nb);

// Edits. Positions are 0-based; `at` may be the count. A marker is the text after "%%":
// "Title option=\"value\"", "[markdown]". If it is wrong, the cell's `problem` tells why.
const cell *notebook_insert(notebook *nb, size_t at, const char *marker, const char *source);
// The same, with an id for the cell, unless another cell has this id or the marker has one; NULL:
// any id. An id in the marker that another cell has is removed: the cell is a copy.
const cell *notebook_insert_as(
    notebook *nb, size_t at, const char *id, const char *marker, const char *source);
const cell *notebook_replace(notebook *nb, size_t i, const char *source);
const cell *notebook_set_marker(notebook *nb, size_t i, const char *marker);
void notebook_move(notebook *nb, size_t from, size_t to); // to: its index after the move
// Cells that were deleted last are remembered: one that is inserted with such an id (undo) has its
// outputs, attachments and metadata again.
void notebook_delete(notebook *nb, size_t i);
// Splits the source before byte `offset`: the first part keeps id and marker; the second has none.
const cell *notebook_split(notebook *nb, size_t i, size_t offset);
// `nb` is `old`, read again: cells that are still the same keep their ids, and no other cell has
// one of these. A cell may have moved; a cell edited in its place is the same.
void notebook_adopt_ids(notebook *nb, const notebook *old);
// Gives the cells these ids (as many as cells): for a copy whose cells must keep their names.
int notebook_set_ids(notebook *nb, const char *const *ids, size_t n, err *e);
// A second one with the same cells and ids; NULL: its text cannot be read again.
notebook *notebook_copy(const notebook *from);
