// SPDX-License-Identifier: MIT
// /openapi/v3: the schema of each group and version, enough for kubectl's validation and `explain`.
#pragma once
#include "k8s/sandbox/api/request.h"

// Answers if the path is /openapi/… and returns true; else returns false.
bool openapi_serve(struct request *r, char *const *path);
// The document of one group and version ("apis/apps/v1"), or with NULL of all kinds; new. NULL:
// there is no such one.
cJSON *openapi_document(const kinds *all, const char *wanted, const char *version);
