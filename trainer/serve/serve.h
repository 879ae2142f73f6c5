// SPDX-License-Identifier: MIT
// A server of saved models over HTTP, with KServe's v2 REST protocol. Only serve.c uses
// libmicrohttpd: a few of its threads handle all connections, read bodies (body.h) and write
// answers, and never block. Predictions take turns on a thread of their own (batch.h); slow clients
// are disconnected (guests.h). The caller owns the models. Paths: about.h.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "trainer/nn/graph/model.h"
#include "trainer/serve/body.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct serve_model {
    const char *name;
    model *model;
    // A function around the model answers instead; one call at a time. NULL: the model answers.
    int (*infer)(void *ctx, const char *name, body *b, const atomic_bool *stop, buf *out, err *e);
    void (*describe)(const void *ctx, buf *out); // its metadata
    void *ctx;
};

struct serve_options {
    uint16_t port; // 0: any free one
    const struct serve_model *models;
    size_t n;
    const char *version; // of the program
    size_t body_bytes;   // the most bytes of a request's body, also decompressed
    // How long a client may take for the head of a request (from the connection or the last answer
    // on), for its body, and for reading its answer.
    int64_t head_ns, body_ns, answer_ns;
    // The most rows of requests that are predicted together, 0: no batching; how long the first one
    // waits for others.
    size_t batch_rows;
    int64_t batch_latency_ns;
    // The folder where requests and answers are recorded (record.h), or NULL.
    const char *record;
    int64_t record_bytes; // of a file
    size_t record_files;
    void (*trouble)(const char *text); // what goes on without it; NULL: nobody listens
};

// The most connections, if the process may have so many descriptors.
enum { SERVE_CONNECTIONS = 16384 };

typedef struct server server;
// Listens on all addresses, IPv6 too where there is that.
server *serve_open(const struct serve_options *o, err *e);
uint16_t serve_port(const server *s);
size_t serve_connections(const server *s); // the most predictions at a time
// The most bytes that bodies and answers may hold together; more is refused.
size_t serve_held_most(size_t body_bytes);
// Reports "not ready", but still answers for drain_ns, since clients learn that later; each answer
// closes its connection. Then takes no new connections, lets requests in progress end for
// patience_ns, cancels their predictions (503), and frees it.
void serve_close(server *s, int64_t drain_ns, int64_t patience_ns);
