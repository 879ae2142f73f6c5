// SPDX-License-Identifier: MIT
// Tables as kubectl prints them: columns in capitals, three spaces between them. Plain functions.
#pragma once
#include "base/buf.h"
#include "base/json.h"

#include <stdint.h>

// A meta.k8s.io/v1 Table reduced to its texts; all these functions make this form:
//   {"columns": ["NAME", …], "rows": [{"uid", "name", "namespace", "created", "cells": ["a", …]}]}
// and, for views: "age": the column that grows with "created"; "keep": those that stay when narrow.
// wide: also columns of priority > 0. with_namespace: the namespace is the first column.
cJSON *table_from_server(const cJSON *table, bool wide, bool with_namespace);
// The same for a list of objects, when a server makes no Tables: NAME and AGE.
cJSON *table_from_list(const cJSON *list, bool with_namespace, int64_t now_wall);
// Updates the ages in a table of pods to now: a row has the age from its last change.
void table_count_ages(cJSON *table, int64_t now_wall);
void table_print(buf *out, const cJSON *table);
// A pod as a row of table_of_pods: NAME, READY, STATUS, RESTARTS, AGE.
cJSON *table_pod_row(const cJSON *pod, int64_t now_wall);
cJSON *table_of_pods(void); // without rows
// Events: LAST SEEN, TYPE, REASON, OBJECT, MESSAGE.
cJSON *table_of_events(const cJSON *events, int64_t now_wall);
