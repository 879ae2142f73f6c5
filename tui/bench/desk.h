// SPDX-License-Identifier: MIT
// The cluster desk: live tables of any kind over the notebook. They are peeks, so they close
// without a trace. The bench remembers where one looks; the run, and its cells, stay where they
// are.
#pragma once
#include "base/json/json.h"
#include "tui/bench/view.h"

// How surely a typed line names a table: "pods", "sparkapp -n ml", "deploy.apps -A". MAYBE: a word
// that is none of the kinds that most clusters have, or that the cluster has told.
enum desk_line { DESK_NO, DESK_MAYBE, DESK_SURE };
enum desk_line desk_line(const bench *b, const char *words);
extern const char desk_help[];
// Asks for the table that the line names, and shows it when it is there.
void desk_open(bench *b, const char *words);
// The same for arguments of the action `table` (takes them), in place of the top view, if it is a
// table.
void desk_replace(bench *b, cJSON *with);
// The table that was looked at before, or after it again, in place of the table of the desk on top.
void desk_turn(bench *b, bool forward);
// Chooses the context and the namespace that tables show from now on; the table on top changes to
// them at once. "" or NULL: those of the run. "-A" as a namespace: all namespaces.
void desk_use_namespace(bench *b, const char *name);
void desk_use_context(bench *b, const char *name);
// The kinds that begin with what is typed, at most `most` of them: those that the cluster has, with
// what it says of them {name, shortNames, apiVersion, …}; until it has been asked, those that most
// have (json: NULL). Borrowed until the next call. desk_kinds_known: has it answered?
struct desk_kind {
    const char *name;
    const cJSON *json;
};
size_t desk_kinds(bench *b, const char *typed, struct desk_kind *out, size_t most);
bool desk_kinds_known(const bench *b);
// The list of contexts; and that of forwarded ports.
void desk_contexts(bench *b);
// The nodes, what pods have asked of them, and who holds their GPUs.
void desk_gpus(bench *b);
void desk_forwards(bench *b);
