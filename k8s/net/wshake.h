// SPDX-License-Identifier: MIT
// How a connection becomes a WebSocket (RFC 6455, 4): the request, and the answer to it, which is
// the protocol's beginning or a refusal in HTTP/1.1. Plain functions on bytes; nothing is owned.
#pragma once
#include "k8s/net/http.h"

enum { WSHAKE_KEY = 25, WSHAKE_ACCEPT = 29 }; // base64 of 16 and of 20 bytes, and a NUL
// A new random key, and what the server has to answer to it.
void wshake_key(char key[WSHAKE_KEY]);
void wshake_accept(const char *key, char accept[WSHAKE_ACCEPT]);

// Appends the request. protocols: those that we speak, the best first, "a, b".
void wshake_request(buf *out, const struct http_request *r, const char *user_agent,
    const char *protocols, const char *key);

// Reads the answer from the first bytes of the connection. 1: it is there; `out` (empty before) has
// status, headers and, of a refusal, its body; *used bytes belong to it. 0: more bytes are needed.
// -1: it is no HTTP (ERR_INVALID), or longer than any answer. ended: no more bytes will come.
int wshake_answer(
    const char *bytes, size_t n, bool ended, struct http_response *out, size_t *used, err *e);
// Is this a WebSocket that speaks one of our protocols? *protocol is new. ERR_INVALID: it is not.
int wshake_check(const struct http_response *answer, const char *key, const char *protocols,
    char **protocol, err *e);
