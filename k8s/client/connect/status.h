// SPDX-License-Identifier: MIT
// Turns the refusal of an API server (a Status object, or the page of a proxy) into an error that
// names the request, the reason and the remedy.
#pragma once
#include "base/json/json.h"
#include "k8s/net/http.h"

// what: "create sparkapplications in namespace default"; who: "context kind, user admin". Sets *e
// from the response, whose status is not 2xx; returns -1.
int status_error(const struct http_response *response, const char *what, const char *who, err *e);
// The same for a single Status object, as in a watch's ERROR frame.
int status_object_error(const cJSON *status, const char *what, const char *who, err *e);
