// SPDX-License-Identifier: MIT
// Tables with the columns that kubectl prints, in capitals. Plain functions.
//
// All of them make tables as displays have them (doc/displays.md):
//   {"columns": ["NAME", {"name": "NODE", "wide": true}, …],
//    "rows": [{"uid", "name", "namespace", "sick", "cells": ["a", {"since": …}, …]}]}
// "wide": shown where there is room; "since": an age (base/json/tabletext.h); "sick": how much is
// wrong (k8s/client/state/sick.h), left out when nothing is.
#pragma once
#include "base/json/json.h"

#include <stdint.h>

// How the rows of one kind are made.
struct table_form {
    const cJSON *definitions; // columnDefinitions of the server's Table; NULL: it makes none
    const char *group;        // with kind: its own columns (kinds/known.h); NULL: none
    const char *kind;         // of its objects
    bool wide;                // the columns of priority > 0 stand as the others do
    bool with_namespace;      // its column comes first
    bool usage;               // of pods and nodes: the columns of what they use (usage.h)
    bool usage_always;        // these stand as the others do
    bool bare;                // there are no objects, so the rows say nothing of our own
};
// Without rows. "keep", "count" and "order" are set as the kind has use for them.
cJSON *table_empty(const struct table_form *f);
// `cells` of the server's row, NULL when it makes none. An age is what the object says; where only
// the server's word for it is known, it is counted back from now.
cJSON *table_row(
    const struct table_form *f, const cJSON *object, const cJSON *cells, int64_t now_wall);

// Does the row's whole object say more than its cells do? That of a pod that looks sick has the
// cause.
bool table_wants_object(const struct table_form *f, const cJSON *cells, int64_t now_wall);

// Makes the whole table from a meta.k8s.io/v1 Table, or, if the server makes no Tables, from a list
// of objects.
cJSON *table_from_server(const cJSON *table, const char *group, const char *kind, bool wide,
    bool with_namespace, int64_t now_wall);
// Has the kind columns of ours? Then its rows need whole objects.
bool table_has_own(const char *group, const char *kind);
cJSON *table_from_list(const cJSON *list, bool with_namespace);

// A list that was asked for with `cells` (client.h), as the table that shows it. Takes its rows,
// whose names stand for uids: {"uid": "NAME" or "NAMESPACE/NAME", …}. Ages are the server's words.
cJSON *table_of_cells(cJSON *list, const char *kind, bool wide, bool with_namespace);

// Pods without the server's help: NAME, READY, STATUS, RESTARTS, AGE, and what they use
// (`used_always`: always), WHY, IP, NODE where there is room. No rows yet. table_pods_row is for
// what is no pod: its name, its state, its age.
cJSON *table_of_pods(bool used_always);
cJSON *table_pod_row(const cJSON *pod, int64_t now_wall);
cJSON *table_pods_row(const cJSON *object, const char *name, const char *state);
// Events: LAST SEEN, TYPE, REASON, OBJECT, MESSAGE.
cJSON *table_of_events(const cJSON *events);
