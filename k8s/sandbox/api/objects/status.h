// SPDX-License-Identifier: MIT
// Status objects: with these the API tells what went wrong (or that a request succeeded).
#pragma once
#include "k8s/sandbox/store/kind.h"

// {kind: Status, status: Failure, …}; if the reason is NULL, it follows from the code; "": none.
// `kind` and `name` fill the details and may be NULL. causes ([{reason, message, field}]) may be
// NULL and are taken.
cJSON *status_failure(int code, const char *reason, const char *message, const struct kind *k,
    const char *name, cJSON *causes);
// {status: Success, details: {name, group, kind, uid}}: the answer to a delete.
cJSON *status_success(const struct kind *k, const char *name, const char *uid);
// The HTTP code for an error of the store, and its reason.
int status_code(const err *e);
const char *status_reason(const err *e);

// Adds to a list of causes that becomes one 422.
void causes_add(cJSON **causes, const char *reason, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
cJSON *status_invalid(const struct kind *k, const char *name, cJSON *causes);
