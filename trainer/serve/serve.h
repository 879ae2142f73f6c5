// SPDX-License-Identifier: MIT
// A server of saved models over HTTP, by KServe's v2 REST protocol. libmicrohttpd is only in
// serve.c. A connection has a thread; predictions take turns
// (batch.h). The caller owns the models.
//
//   GET  /v2, /v2/health/live, /v2/health/ready, /metrics
//   GET  /v2/models/NAME, /v2/models/NAME/ready
//   POST /v2/models/NAME/infer     (each also with /versions/1 after NAME)
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "trainer/nn/model.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct serve_model {
    const char *name;
    model *model;
    // A function around the model answers instead; one at a time. NULL: the model does.
    int (*infer)(void *ctx, const char *name, const char *body, size_t n, const atomic_bool *stop,
        buf *out, err *e);
    void (*describe)(const void *ctx, buf *out); // its metadata
    void *ctx;
};

struct serve_options {
    uint16_t port; // 0: any free one
    const struct serve_model *models;
    size_t n;
    const char *version; // of the program
    int64_t body_ns;     // so long the body of a request may take
    // Rows of requests that are predicted together, 0: none; so long the first one waits for
    // others.
    size_t batch_rows;
    int64_t batch_latency_ns;
    // The folder where requests and answers are written down (record.h), or NULL.
    const char *record;
    int64_t record_bytes; // of a file
    size_t record_files;
    void (*trouble)(const char *text); // what goes on without it; NULL: nobody listens
};

typedef struct server server;
// Listens on all addresses, IPv6 too where there is that.
server *serve_open(const struct serve_options *o, err *e);
uint16_t serve_port(const server *s);
// Says that it is not ready, and answers for drain_ns all the same, since who sends it requests
// learns that later; each answer closes its connection. Then takes no new connections, lets the
// requests that are under way end for patience_ns, cancels their predictions (503), and frees it.
void serve_close(server *s, int64_t drain_ns, int64_t patience_ns);
