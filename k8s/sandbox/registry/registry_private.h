// SPDX-License-Identifier: MIT
// What the files of the registry share: its state, a running exchange, and ways to answer. No other
// file includes it. Each of the other files ends in a table of its operations.
//
//   registry.c           finds resource and operation, runs the exchange
//   registry_lists.c     /v2/, the catalogue, tags
//   registry_content.c   manifests and stored blobs
//   registry_uploads.c   unfinished uploads of blobs
#pragma once
#include "k8s/sandbox/registry/registry.h"

#include <pthread.h>

enum {
    MANIFEST_LIMIT = 4 << 20, // as the specification recommends
    UPLOAD_ID = 33,           // 32 hexadecimal digits
    UPLOADS = 64,             // at most so many at once; a new one drops the one unused longest
};

typedef struct upload {
    char id[UPLOAD_ID];
    char *name; // the repository that it belongs to
    image_blob *blob;
    bool busy;        // an exchange uses it
    uint64_t touched; // its last use, as a count
} upload;

struct registry {
    const image_store *store;
    pthread_mutex_t lock; // for the table; a busy upload belongs to its exchange
    upload *uploads[UPLOADS];
    uint64_t clock; // counts uses
};

enum resource { RES_BASE, RES_CATALOG, RES_TAGS, RES_MANIFEST, RES_BLOB, RES_UPLOADS, RES_UPLOAD };

struct op {
    const char *method;
    enum resource resource;
    void (*begin)(registry_exchange *x); // called before the body; may be NULL
    void (*end)(registry_exchange *x, struct registry_response *response);
};

struct registry_exchange {
    registry *r;
    struct registry_request q;
    enum resource resource;
    char *name;      // "firesteel/mnist"
    char *reference; // tag, digest or upload id
    const struct op *op;
    bool keeps_body; // the body goes to `body`; else to `up`, or nowhere
    buf body;
    upload *up;
    // The first failure, found before the body or while it arrived.
    int fail_status;
    const char *fail_code;
    err fail;
};

// Tables end with an operation without a method.
extern const struct op registry_list_ops[], registry_content_ops[], registry_upload_ops[];

// The first failure counts: it becomes the answer. by: for an error of the store, with the
// specification's codes for missing and invalid things.
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
// The place of the upload x->up, and how many bytes it has.
void registry_answer_progress(const registry_exchange *x, struct registry_response *r, int status);

// Its exchange is over: the upload waits for the next one, or is removed.
void upload_release(registry *r, upload *u);
void upload_remove(registry *r, upload *u);
void upload_free(upload *u);
