// SPDX-License-Identifier: MIT
// One request to a client's server, with its credentials: asked for first, renewed once on a 401.
// For the files of k8s/client and k8s/client's watches and logs; an operation belongs to its
// starter.
#pragma once
#include "k8s/client/client.h"

struct request {
    const char *method; // NULL: GET
    const char *path;   // below the server, with its query
    const char *accept; // NULL: application/json
    const char *type;   // of the body
    const char *body;   // must stay until done
    size_t body_n;
    http_pool pool;
    int idle_timeout_ms; // see http_request; request_do waits 60 s when it is 0
    int least_speed;     // see http_request; request_do: HTTP_LEAST_SPEED when it is 0
    size_t limit;        // see http_request
    bool repeatable;     // sent twice, it does no more than sent once
    const char *what;    // "list pods in namespace default": for errors
};

// On the loop's thread.
typedef struct operation operation;
operation *operation_start(client *c, const struct request *r, const struct http_stream_ops *ops,
    void *arg); // ops as of http_stream; done is always called later, never from within this
void operation_pause(operation *o, bool paused);
void operation_cancel(operation *o); // NULL is fine; no callback after it

// On another thread: waits, tries again while that may help, and makes errors of what is not 2xx.
int request_do(client *c, const struct patience *p, const struct request *r,
    struct http_response *response, err *e);
// The same, and the body as JSON.
cJSON *request_json(client *c, const struct patience *p, const struct request *r, err *e);

// Back-off with jitter: ns before try number `attempt` (0, 1, …); from 0.2 s to 10 s.
int64_t back_off(unsigned attempt);
// "context kind, user admin at 127.0.0.1:6443": who is refused; borrowed.
const char *client_who(const client *c);
loop *client_loop(const client *c);
