// SPDX-License-Identifier: MIT
// The Kubernetes API as a handler for the HTTP server: authentication, paths, verbs.
#pragma once
#include "k8s/sandbox/api/request.h"

extern const struct http_handler api_handler; // its arg is a const struct api_context
