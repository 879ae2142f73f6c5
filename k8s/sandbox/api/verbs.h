// SPDX-License-Identifier: MIT
// The verbs of the API, for a request whose kind, namespace, name and subresource are known. Each
// verb answers: at once, or as a stream.
#pragma once
#include "k8s/sandbox/api/request.h"

void verb_get(struct request *r);
void verb_list(struct request *r);
void verb_watch(struct request *r);
void verb_log(struct request *r);
void verb_create(struct request *r);
void verb_update(struct request *r);
void verb_patch(struct request *r);
void verb_delete(struct request *r);
void verb_delete_all(struct request *r);
void verb_review(struct request *r); // SelfSubjectAccessReview and its like

// Label and field selectors of the request. false: it has answered with a 400.
struct selectors {
    struct selector *labels, *fields;
};
bool selectors_read(struct request *r, struct selectors *s);
bool selectors_match(const struct selectors *s, const cJSON *object);
void selectors_done(struct selectors *s);
