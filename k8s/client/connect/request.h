// SPDX-License-Identifier: MIT
// One request to a client's server, with its credentials: they are asked for first, and renewed
// once on a 401. For the files of k8s/client, and its watches and logs. An operation belongs to its
// starter.
#pragma once
#include "k8s/client/connect/client.h"

// To accept: a meta.k8s.io/v1 Table, else JSON from a server that makes none; as kubectl asks.
extern const char request_table_type[];

struct request {
    const char *method; // NULL: GET
    const char *path;   // after the server's URL, with its query
    const char *accept; // NULL: application/json
    const char *type;   // content type of the body
    const char *body;   // must stay until done
    size_t body_n;
    http_pool pool;
    int idle_timeout_ms; // see http_request; 0: request_do takes 60 s
    int least_speed;     // see http_request; 0: request_do takes HTTP_LEAST_SPEED
    size_t limit;        // see http_request
    bool repeatable;     // sending it twice has the effect of sending it once
    const char *what;    // "list pods in namespace default", for errors
    // For request_do: takes the body of a 2xx answer as it arrives, on the loop's thread; NULL: it
    // is kept in the response. Each try begins with bytes NULL.
    int (*sink)(void *arg, const char *bytes, size_t n, err *e);
    void *sink_arg;
    // Of request_do: sees an answer that becomes an error; may be NULL.
    void (*refused)(void *arg, const struct http_response *r);
    void *refused_arg;
};
// Appends "?name=value" or "&name=value", escaped; nothing for NULL or "".
void request_query(buf *path, const char *name, const char *value);

// On the loop's thread.
typedef struct operation operation;
operation *operation_start(client *c, const struct request *r, const struct http_stream_ops *ops,
    void *arg); // ops as in http_stream; `done` is always called later, never from here
void operation_pause(operation *o, bool paused);
void operation_cancel(operation *o); // NULL is fine; no callback after it

// On another thread: waits, retries while that may help, and turns any status but 2xx into an
// error.
int request_do(client *c, const struct patience *p, const struct request *r,
    struct http_response *response, err *e);
// The same, and the body as JSON.
cJSON *request_json(client *c, const struct patience *p, const struct request *r, err *e);
// Waits so long; ERR_CANCELLED: the patience's canceller has ended it.
int request_pause(const struct patience *p, int64_t ns, err *e);

// Back-off with jitter: ns to wait before try `attempt` (0, 1, …); from 0.2 s to 10 s.
int64_t back_off(unsigned attempt);
// Who is refused, for messages: "context kind, user admin at 127.0.0.1:6443"; borrowed.
const char *client_who(const client *c);
loop *client_loop(const client *c);
