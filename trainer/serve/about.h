// SPDX-License-Identifier: MIT
// The paths of a server of models, and its descriptions of itself and its models: bodies in
// KServe's v2 REST protocol and its extensions (model configuration, statistics, repository).
// Nothing here knows the HTTP library, and nothing is owned.
//   GET  /v2, /v2/health/live, /v2/health/ready, /metrics, /v2/models/stats
//   GET  /v2/models/NAME, …/NAME/ready, …/NAME/config, …/NAME/stats
//   POST /v2/models/NAME/infer, /v2/repository/index     (NAME also with /versions/1 after it)
#pragma once
#include "trainer/serve/counts.h"
#include "trainer/serve/serve.h"

enum about_what {
    ABOUT_LIVE,
    ABOUT_READY,
    ABOUT_SERVER,
    ABOUT_COUNTS,
    ABOUT_ALL_STATS,
    ABOUT_INDEX,
    ABOUT_MODEL, // from here on of one model
    ABOUT_MODEL_READY,
    ABOUT_CONFIG,
    ABOUT_STATS,
    ABOUT_INFER,
};

struct about {
    enum about_what what;
    size_t model;
};

// Returns 0, or the status with which the request is refused (404, 405), and why.
unsigned about_find(
    const struct serve_options *o, const char *method, const char *path, struct about *out, err *e);
// Appends the body of the answer, except for predictions, and for health, which has none.
void about_tell(const struct serve_options *o, const struct about *a, counts *c,
    const struct counts_now *now, buf *out);
