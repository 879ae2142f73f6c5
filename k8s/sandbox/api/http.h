// SPDX-License-Identifier: MIT
// HTTPS on loopback over libmicrohttpd, which only http.c includes: routes, bodies in pieces,
// answers that stream. It runs on the loop's thread. The server owns an exchange, which ends with
// `done`.
//
//   begin(head) ─> body(piece)… ─> end() ─> http_respond*(…) ─> done()
//                                     └ may answer later, from a timer or a callback
#pragma once
#include "base/buf.h"
#include "base/loop/loop.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct http_server http_server;
typedef struct http_exchange http_exchange;

// A handler of a route. The other callbacks get the pointer that `begin` returns.
struct http_handler {
    // The head has arrived. It may answer already (401, 404, 413): body and end are then not
    // called.
    void *(*begin)(void *arg, http_exchange *x);
    void (*body)(void *state, http_exchange *x, const char *bytes, size_t n);
    void (*end)(void *state, http_exchange *x);
    // Answered in full, or the client is gone: free the state. x is invalid afterwards.
    void (*done)(void *state);
};

struct http_options {
    uint16_t port;           // 0: any free one
    const char *certificate; // PEM
    const char *key;         // PEM
    const char *token;       // "Authorization: Bearer" must have this token
};
// Listens on 127.0.0.1. Errors: ERR_EXISTS when the port is in use.
http_server *http_open(loop *l, const struct http_options *o, err *e);
void http_close(http_server *s); // also ends every exchange
uint16_t http_port(const http_server *s);
// The longest prefix wins ("/v2/", "/"). Strings and handler are borrowed until http_close.
void http_route(http_server *s, const char *prefix, const struct http_handler *h, void *arg);

// The request's parts. Strings are borrowed until `done`; header names match in any case.
const char *http_method(const http_exchange *x);
const char *http_path(const http_exchange *x); // decoded, without the query
const char *http_request_header(const http_exchange *x, const char *name); // NULL if none
const char *http_query(const http_exchange *x, const char *name);          // decoded; NULL if none
// Does the request carry the token: as Bearer, or as the password of Basic with any user
// (registries)?
bool http_is_authorized(const http_exchange *x);

// The answer, given once. Set headers first. The body of a HEAD is counted but not sent.
void http_set_header(http_exchange *x, const char *name, const char *value);
void http_respond(http_exchange *x, int code, const char *type, const void *bytes, size_t n);
// Sends `size` bytes of an open file from `offset`; takes the descriptor.
void http_respond_file(
    http_exchange *x, int code, const char *type, int fd, uint64_t offset, uint64_t size);
// For a HEAD: the length that a GET would send.
void http_respond_length(http_exchange *x, int code, const char *type, uint64_t size);
// Sends a body from a source, in chunks, without a length.
enum { HTTP_END = -1, HTTP_BROKEN = -2 };
struct http_source {
    // Puts up to max bytes into out. 0: nothing now, until http_wake. HTTP_END: the end.
    ssize_t (*read)(void *arg, char *out, size_t max);
    void (*close)(void *arg);
};
void http_respond_stream(
    http_exchange *x, int code, const char *type, const struct http_source *source, void *arg);
// The stream has bytes again (or wants to end). It may be called at any time before its close.
void http_wake(http_exchange *x);
