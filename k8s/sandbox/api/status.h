// SPDX-License-Identifier: MIT
// Status objects: how the API says what went wrong (or that it went well).
#pragma once
#include "k8s/sandbox/store/kind.h"

// {kind: Status, status: Failure, …}; the reason follows from the code where it is NULL. `kind` and
// `name` fill the details and may be NULL; causes ([{reason, message, field}]) are taken, may be
// NULL.
cJSON *status_failure(int code, const char *reason, const char *message, const struct kind *k,
    const char *name, cJSON *causes);
// {status: Success, details: {name, group, kind, uid}}: the answer to a delete.
cJSON *status_success(const struct kind *k, const char *name, const char *uid);
// The HTTP code of an error of the store, and its reason.
int status_code(const err *e);
const char *status_reason(const err *e);

// A list of causes that becomes one 422.
void causes_add(cJSON **causes, const char *reason, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
cJSON *status_invalid(const struct kind *k, const char *name, cJSON *causes);
