// SPDX-License-Identifier: MIT
// What the files of the registry share: its state, a running exchange, and ways to answer.
// Nothing else includes it. Each of the other files ends in a table of what it does.
//
//   registry.c           finds resource and operation, runs the exchange
//   registry_lists.c     /v2/, the catalogue, tags
//   registry_content.c   manifests and blobs that are there
//   registry_uploads.c   blobs on their way in
#pragma once
#include "k8s/sandbox/registry/registry.h"

#include <pthread.h>

enum {
    MANIFEST_LIMIT = 4 << 20, // as the specification recommends
    UPLOAD_ID = 33,           // 32 hexadecimal digits
    UPLOADS = 64,             // under way at once; then the one that rested longest goes
};

typedef struct upload {
    char id[UPLOAD_ID];
    char *name; // of the repository it was begun for
    image_blob *blob;
    bool busy;        // an exchange holds it
    uint64_t touched; // when it was used last, as a count
} upload;

struct registry {
    const image_store *store;
    pthread_mutex_t lock; // of the table; an upload that is busy belongs to its exchange
    upload *uploads[UPLOADS];
    uint64_t clock; // counts uses
};

enum resource { RES_BASE, RES_CATALOG, RES_TAGS, RES_MANIFEST, RES_BLOB, RES_UPLOADS, RES_UPLOAD };

struct op {
    const char *method;
    enum resource resource;
    void (*begin)(registry_exchange *x); // before the body; may be NULL
    void (*end)(registry_exchange *x, struct registry_response *response);
};

struct registry_exchange {
    registry *r;
    struct registry_request q;
    enum resource resource;
    char *name;      // "firesteel/mnist"
    char *reference; // tag, digest or upload id
    const struct op *op;
    bool keeps_body; // in `body`; else it goes to `up`, or nowhere
    buf body;
    upload *up;
    // The first thing that went wrong, found before or while the body came.
    int fail_status;
    const char *fail_code;
    err fail;
};

// Tables end with an operation without a method.
extern const struct op registry_list_ops[], registry_content_ops[], registry_upload_ops[];

// The first failure counts: it becomes the answer. by: what the store said, with the
// specification's codes for what is not there and what is not valid.
void registry_fail(registry_exchange *x, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void registry_fail_by(
    registry_exchange *x, const err *e, const char *not_found, const char *invalid);

const char *registry_query(const registry_exchange *x, const char *name);
const char *registry_find_header(const registry_exchange *x, const char *name);

void registry_add_header(struct registry_response *r, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void registry_answer_json(struct registry_response *r, int status, const cJSON *json);
void registry_answer_empty(struct registry_response *r, int status, const oci_digest *d);
// Where the upload x->up is and how far it came.
void registry_answer_progress(const registry_exchange *x, struct registry_response *r, int status);

// The exchange that held it is over: it rests, or is gone.
void upload_release(registry *r, upload *u);
void upload_remove(registry *r, upload *u);
void upload_free(upload *u);
