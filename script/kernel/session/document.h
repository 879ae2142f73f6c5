// SPDX-License-Identifier: MIT
// The open notebook: cells with ids and revisions, edited by any number of clients, saved to its
// file, and aware of the file changing underneath. It owns the notebook; it belongs to the loop's
// thread.
//
// Every edit makes the next revision. A client names the revision it has seen; an edit of a cell
// that somebody else has changed since is a conflict, edits of different cells are not.
#pragma once
#include "base/json.h"
#include "script/notebook/notebook.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct document document;

// Takes the notebook. path: its file, NULL when it has none (a recovered one may be unsaved).
document *document_new(notebook *nb, const char *path, bool saved);
void document_free(document *d);
const notebook *document_notebook(const document *d);
bool document_saved(const document *d); // is its file the same?
int64_t document_rev(const document *d);
const char *document_path(const document *d); // or NULL

// Does what a message (edit, insert, move, delete, save, reload) says. Returns the event to journal
// and send ("edited", or "document" after a reload), or NULL: ERR_CONFLICT, ERR_NOT_FOUND,
// ERR_INVALID, …. `by` tells clients apart: one's own changes are no conflict.
cJSON *document_change(document *d, const char *type, const cJSON *message, int64_t by, err *e);
// The "document" event: the whole of it.
cJSON *document_event(const document *d);
// The file was touched: 0 nothing new, 1 reloaded (*event to journal), 2 changed under unsaved
// edits.
int document_refresh(document *d, cJSON **event);
