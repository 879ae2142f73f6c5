// SPDX-License-Identifier: MIT
// Shared by the files of this folder.
#pragma once
#include "k8s/client/schema/kindschema.h"

enum { KIND_DEPTH = 100 };

// What a schema stands for: follows references, and a single part of allOf that adds nothing.
const cJSON *kind_resolved(const cJSON *picked, const cJSON *schema);
// May it have fields that are not described?
bool kind_is_open(const cJSON *schema);
const cJSON *kind_values(const cJSON *schema); // the schema of a map's values; NULL: it is no map
const cJSON *kind_root(const cJSON *picked);   // the schema of the kind itself
