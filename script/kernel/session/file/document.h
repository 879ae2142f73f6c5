// SPDX-License-Identifier: MIT
// The open notebook: cells with ids and revisions. Any number of clients edit it. It is saved to
// its file, and notices when others change the file. It owns the notebook; it belongs to the loop's
// thread.
// Every edit makes the next revision. A client names the revision it has seen. Editing a cell that
// somebody else has changed since is a conflict; edits of different cells are not.
#pragma once
#include "base/json/json.h"
#include "script/notebook/notebook.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct document document;

// Takes the notebook. path: its file, or NULL. saved: false for a recovered notebook with unsaved
// edits.
document *document_new(notebook *nb, const char *path, bool saved);
void document_free(document *d);
// Call it before anything else if a run continues: gives the cells the ids that they have in
// `then`.
void document_adopt_ids(document *d, const notebook *then);
const notebook *document_notebook(const document *d);
bool document_saved(const document *d);   // does its file have the same content?
bool document_touched(const document *d); // unsaved, and its file has changed meanwhile
int64_t document_rev(const document *d);
const char *document_path(const document *d); // or NULL
// Sets the function that returns the outputs for saving below the cells of an .ipynb; NULL: the
// outputs with which the cells were loaded are saved.
void document_set_outputs(document *d, notebook_outputs_fn *outputs, void *arg);
// Leaves the outputs with which the cell was loaded out of the next save; until then an .ipynb
// counts as unsaved.
void document_forget_outputs(document *d, const char *id);

// Carries out a message (edit, insert, move, delete, save, reload). Returns the event to journal
// and send ("edited", or "document" after a reload), or NULL: ERR_CONFLICT, ERR_NOT_FOUND,
// ERR_INVALID, …. `by` tells clients apart: one's own changes are no conflict.
cJSON *document_change(document *d, const char *type, const cJSON *message, int64_t by, err *e);
// The "document" event, with the whole notebook.
cJSON *document_event(const document *d);
// Call it when the file may have changed. 0: it has not; 1: it was reloaded (*event is to be
// journaled); 2: it has changed, and there are unsaved edits.
int document_refresh(document *d, cJSON **event);
