// SPDX-License-Identifier: MIT
// The sandbox as a whole: an API server over a store, with its certificate, token and kubeconfig.
// The program passes it the controllers and the registry; it owns store, server and logs.
#pragma once
#include "base/loop/loop.h"
#include "k8s/sandbox/api/http.h"
#include "k8s/sandbox/api/logs.h"
#include "k8s/sandbox/store/store.h"

struct sandbox_options {
    const char *dir;     // for certificates, kubeconfig and the pods' folders; made with 0700
    const char *version; // firesteel's
    uint16_t port;       // 0: any free one
    bool processes;      // pods are plain processes: the context's name says so
};
typedef struct sandbox sandbox;
// Listens, with the first objects (namespaces, node, service accounts) in the store. Afterwards
// sandbox_ready writes the kubeconfig.
sandbox *sandbox_open(loop *l, const struct sandbox_options *o, err *e);
void sandbox_close(sandbox *s);
// Writes DIR/kubeconfig (0600). Call it when controllers and registry are in place.
int sandbox_ready(sandbox *s, err *e);

loop *sandbox_loop(const sandbox *s);
store *sandbox_store(const sandbox *s);
logs *sandbox_logs(const sandbox *s);
http_server *sandbox_http(const sandbox *s); // for http_route
const char *sandbox_dir(const sandbox *s);
const char *sandbox_kubeconfig(const sandbox *s); // path
#define SANDBOX_NODE "firesteel-sandbox"          // the one node's name
