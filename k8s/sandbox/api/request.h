// SPDX-License-Identifier: MIT
// One request to the API: its target, its parameters and body, and its answer. The api makes and
// frees it; verbs read it and answer exactly once.
#pragma once
#include "k8s/sandbox/api/http.h"
#include "k8s/sandbox/api/logs.h"
#include "k8s/sandbox/api/objects/schema.h"
#include "k8s/sandbox/api/objects/status.h"
#include "k8s/sandbox/api/print/render.h"
#include "k8s/sandbox/store/store.h"

// Shared by all requests.
struct api_context {
    loop *loop;
    store *store;
    kinds *kinds;
    logs *logs;
    struct watches *watches;
    const char *version; // firesteel's
};

struct request {
    const struct api_context *api;
    http_exchange *x;
    buf body;
    bool too_big;
    const struct kind *kind;       // the kind in the path
    const struct kind *stored;     // the stored kind: events.k8s.io's are stored as core's
    char *ns, *name, *subresource; // "" if none
    struct render render;          // the form of the answer
    void *stream;                  // set by a verb that streams; the close of its source frees it
};

// Is the value of this query parameter "true" or "1"?
bool request_flag(const struct request *r, const char *name);
bool request_is_dry_run(const struct request *r);
// The manager's name for managedFields: the parameter, else the first word of the user agent; new.
char *request_manager(const struct request *r);
// The body as an object: JSON, YAML, or protobuf of the request's kind or another schema. NULL if
// it has answered with an error (400, 415).
cJSON *request_object(struct request *r);
cJSON *request_object_as(struct request *r, const struct schema *s);

// The answers take the JSON trees.
void reply_json(struct request *r, int code, cJSON *json);
void reply_text(struct request *r, int code, const char *type, const char *text, size_t n);
void reply_object(struct request *r, int code, const snapshot *s);
void reply_failure(struct request *r, int code, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void reply_error(struct request *r, const err *e);
void reply_invalid(struct request *r, const char *name, cJSON *causes);
