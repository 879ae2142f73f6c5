// SPDX-License-Identifier: MIT
// The registry of the sandbox: /v2/ of the distribution protocol over the local image store, as a
// handler that uses no HTTP library. A registry borrows its store; the server owns an exchange.
//
//   server: request line and headers ─> registry_begin ─> registry_body (any number) ─>
//   registry_end
//
// Bodies of uploads are written to files as they arrive. Several threads may call the functions,
// but only one at a time for an exchange. Source: distribution-spec spec.md; errors have its form.
#pragma once
#include "k8s/image/store.h"

typedef struct registry registry;
registry *registry_new(const image_store *s);
void registry_free(registry *r); // also drops unfinished uploads

struct registry_request {
    const char *method; // "GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"
    const char *path;   // "/v2/…", percent-decoded
    // Looks up a header (any case) and a query parameter (decoded); NULL if there is none.
    const char *(*header)(void *arg, const char *name);
    const char *(*query)(void *arg, const char *name);
    void *arg; // used until registry_end returns
};
struct registry_header {
    const char *name;
    char value[512];
};
enum { REGISTRY_HEADERS = 8 };
struct registry_response {
    int status;
    struct registry_header
        headers[REGISTRY_HEADERS]; // Content-Type, Location, Docker-Content-Digest, Range …
    size_t header_n;
    buf body;               // sent when fd is -1
    int fd;                 // otherwise `length` bytes from `offset` are sent; the server closes it
    int64_t offset, length; // length is the Content-Length, also for HEAD, which sends no body
};

typedef struct registry_exchange registry_exchange;
registry_exchange *registry_begin(registry *r, const struct registry_request *q);
// Takes a piece of the request's body. Unexpected bytes are dropped; errors come with the response.
void registry_body(registry_exchange *x, const void *bytes, size_t n);
// The request is complete: fills *response (registry_response_done) and ends the exchange.
void registry_end(registry_exchange *x, struct registry_response *response);
// The connection broke: ends the exchange without a response. NULL is fine.
void registry_abort(registry_exchange *x);
void registry_response_done(struct registry_response *response); // frees body; closes fd unless -1
