// SPDX-License-Identifier: MIT
// Label and field selectors, as `kubectl -l` and `--field-selector` spell them.
// The caller of a parser owns the selector; NULL matches everything.
#pragma once
#include "k8s/sandbox/store/kind.h"

typedef struct selector selector;
// "a=b,c!=d,e in (f,g),h notin (i),j,!k". Errors: ERR_INVALID with the text of the 400. An empty or
// NULL text gives NULL without an error (e->code stays ERR_NONE).
selector *selector_parse_labels(const char *text, err *e);
// "metadata.name=x,status.phase!=Running": only fields that Kubernetes indexes for the kind.
selector *selector_parse_fields(const struct kind *k, const char *text, err *e);
bool selector_matches(const selector *s, const cJSON *object);
void selector_free(selector *s);
