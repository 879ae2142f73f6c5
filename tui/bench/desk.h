// SPDX-License-Identifier: MIT
// The cluster desk: live tables of any kind over the notebook. They are peeks, so they close
// without a trace. The bench remembers where one looks; the run, and its cells, stay where they
// are.
#pragma once
#include "base/json.h"
#include "tui/view/view.h"

// How surely a typed line names a table: "pods", "sparkapp -n ml", "deploy.apps -A".
enum desk_line { DESK_NO, DESK_MAYBE, DESK_SURE };
enum desk_line desk_line(const char *words);
extern const char desk_help[];
// Asks for the table that the line names, and shows it when it is there.
void desk_open(bench *b, const char *words);
// The same for arguments of the action `table` (takes them), in place of the top view, if it is a
// table.
void desk_replace(bench *b, cJSON *with);
// From now on one looks there, and the table on top, too. "" or NULL: where the run is. "-A" as a
// namespace: all of them.
void desk_use_namespace(bench *b, const char *name);
void desk_use_context(bench *b, const char *name);
// The list of contexts.
void desk_contexts(bench *b);
