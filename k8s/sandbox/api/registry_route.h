// SPDX-License-Identifier: MIT
// The registry (registry.h) as a handler of the HTTP server, behind the server's token.
#pragma once
#include "k8s/sandbox/api/http.h"

extern const struct http_handler registry_route; // its arg is a registry
