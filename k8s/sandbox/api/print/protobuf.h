// SPDX-License-Identifier: MIT
// Requests in protobuf, which kubectl and other Go clients send for the built-in kinds: decoded by
// the field numbers of the schema. Answers are always JSON, which those clients accept.
#pragma once
#include "k8s/sandbox/api/objects/schema.h"

// The body of a request, "k8s\0" and a runtime.Unknown, as the object's JSON; new. `s` is the
// expected schema. Errors: ERR_INVALID. Fields that the schema does not know are skipped.
cJSON *protobuf_decode(const struct schema *s, const void *bytes, size_t n, err *e);
