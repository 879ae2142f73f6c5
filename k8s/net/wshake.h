// SPDX-License-Identifier: MIT
// The opening handshake of a WebSocket (RFC 6455, 4): the request, and the answer, which accepts
// the WebSocket or is a refusal in HTTP/1.1. Plain functions on bytes; nothing is owned.
#pragma once
#include "k8s/net/http.h"

enum { WSHAKE_KEY = 25, WSHAKE_ACCEPT = 29 }; // base64 of 16 and of 20 bytes, and a NUL
// Makes a new random key, and the value that the server has to answer to it.
void wshake_key(char key[WSHAKE_KEY]);
void wshake_accept(const char *key, char accept[WSHAKE_ACCEPT]);

// Appends the request. protocols: those that the caller speaks, best first, "a, b".
void wshake_request(buf *out, const struct http_request *r, const char *user_agent,
    const char *protocols, const char *key);

// Reads the answer from the first bytes of the connection. 1: it is complete; `out` (empty before)
// gets status, headers and, for a refusal, the body; *used is the number of its bytes. 0: more
// bytes are needed. -1: it is not HTTP (ERR_INVALID), or too long. ended: the connection has ended.
int wshake_answer(
    const char *bytes, size_t n, bool ended, struct http_response *out, size_t *used, err *e);
// Does the answer accept the WebSocket, with one of our protocols? *protocol is new. If not,
// ERR_INVALID.
int wshake_check(const struct http_response *answer, const char *key, const char *protocols,
    char **protocol, err *e);
