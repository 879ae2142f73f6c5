// SPDX-License-Identifier: MIT
// What cells have left, as an .ipynb has it (nbformat 4), in both directions. Nothing is owned.
#pragma once
#include "script/journal/fold/fold.h"

// Beside the types of a bundle: the metadata that Jupyter keeps with a display ({"image/png":
// {"width": 300}}), if there are any.
#define JUPYTER_METADATA "application/vnd.jupyter.metadata+json"

// The outputs of a cell: a new array, empty for NULL. As output_text, spooled streams are read from
// spool_dir and cut beyond `limit`; *failure (may be NULL) is the first thing that could not be
// read.
cJSON *jupyter_outputs(const struct run_cell *c, const char *spool_dir, size_t limit, err *failure);
// Of one output: the bundle of a display, new, with the text that a terminal would show (limit,
// failure: as above), and its metadata, new; ename, evalue and traceback of an error, into `to`.
cJSON *jupyter_bundle(const struct output *o, size_t limit, cJSON **metadata, err *failure);
void jupyter_error(const struct output *o, cJSON *to);
// An output of nbformat's as an event of the cell; number: of a display. New.
cJSON *jupyter_event(const cJSON *output, const char *cell, int64_t number);
// Makes outputs what nbformat writes: texts as lists of lines, keys in their order.
void jupyter_as_saved(cJSON *outputs);
// The notebook with the outputs that its .ipynb brought along, as a run that ended at `wall` (ns)
// and left them; new. NULL: it brought none.
fold *jupyter_past(const notebook *nb, int64_t wall);
