// SPDX-License-Identifier: MIT
// What an API server says when it says no (a Status object, or whatever a proxy made of it), as an
// error that names the request, the reason and the remedy.
#pragma once
#include "base/json.h"
#include "k8s/net/http.h"

// what: "create sparkapplications in namespace default"; who: "context kind, user admin". Sets *e
// by the response's status, which is not 2xx; returns -1.
int status_error(const struct http_response *response, const char *what, const char *who, err *e);
// The same for a Status object alone, as in a watch's ERROR frame.
int status_object_error(const cJSON *status, const char *what, const char *who, err *e);
// Seconds that a 429 or 503 asks to wait; 0: it does not say.
int64_t status_retry_after(const struct http_response *response);
