// SPDX-License-Identifier: MIT
// The bytes that ranks send to the driver's PMI server: first one rank's as a whole, then two
// ranks' in turn, in pieces.
#include "trainer/dist/pmi.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

// Answers must be whole lines, for ranks that exist.
static int say(void *ctx, int rank, const char *line, size_t n, err *e)
{
    if (rank < 0 || rank > 1 || n < 5 || line[n - 1] != '\n')
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e;
    const char *bytes = (const char *)data;
    const struct pmi_answers answers = {NULL, say};
    pmi *one = pmi_new(1, 0, answers), *two = pmi_new(2, 1, answers);
    pmi_hear(one, 0, bytes, n, &e);
    int failed = 0;
    for (size_t at = 0; at < n && !failed; at += 7) {
        size_t piece = n - at < 7 ? n - at : 7;
        failed = pmi_hear(two, 0, bytes + at, piece, &e) || pmi_hear(two, 1, bytes + at, piece, &e);
    }
    pmi_free(one);
    pmi_free(two);
    return 0;
}
