// SPDX-License-Identifier: MIT
// Our credentials for a server: headers and TLS material from a context's user, renewed when they
// expire. It belongs to its client and lives on the loop's thread. While an exec plugin runs,
// callers wait in a queue.
#pragma once
#include "k8s/client/connect/kubeconfig.h"
#include "k8s/net/http.h"

typedef struct credentials credentials;
// `env` is the environment of exec plugins. Tokens, passwords and keys are reported to `secrets`.
credentials *credentials_new(loop *l, http *h, const kubeconfig *k, const char *const *env,
    const struct secret_sink *secrets);
void credentials_free(credentials *c); // callers that wait are not called

struct access {
    char **headers; // Authorization, Impersonate-…; "Name: value"
    const http_tls *tls;
};
// A place in the queue, in the caller's memory.
struct access_wait {
    void (*fn)(void *arg, const struct access *access, const err *e); // access is NULL on error
    void *arg;
    struct access_wait *next;
    bool waiting;
};
// Calls w->fn once, before it returns or later. The access is valid until the next event.
void credentials_get(credentials *c, struct access_wait *w);
void credentials_forget(credentials *c, struct access_wait *w); // it is not called any more
// The plugin that runs, and that callers wait for; NULL: none.
const char *credentials_plugin(const credentials *c);
// The server has refused the credentials. true: new ones can be had; ask again.
bool credentials_expire(credentials *c);

// The output of an exec plugin: the token, or certificate and key, and when they expire (wall ns,
// 0: never). The strings are new.
struct exec_answer {
    char *token, *cert, *key;
    int64_t expires;
};
int exec_answer_parse(
    const char *text, size_t n, const char *api_version, struct exec_answer *out, err *e);
