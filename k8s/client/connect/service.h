// SPDX-License-Identifier: MIT
// Requests to a Service through the API server's proxy: from where the cluster's own network is not
// reached. Who may: get, create services/proxy.
#pragma once
#include "k8s/client/connect/client.h"

struct service_request {
    const char *ns, *service;
    int port;
    const char *path; // with its query: "/v2/models/line/infer"
    const char *body; // JSON, sent by POST; NULL: GET
    bool repeatable;  // asking twice does no harm
};
// Appends the body of the answer. When it may be asked twice, a Service that has no endpoints yet
// is waited for, a minute at most, and one that the server does not know yet, ten seconds. Any
// status but 2xx is an error, with the service's own words if it says {"error": …}.
int client_service(
    client *c, const struct patience *p, const struct service_request *r, buf *out, err *e);
