// SPDX-License-Identifier: MIT
// Requests in protobuf to the sandbox's API server, decoded as a Pod, a Secret and a Job.
#include "k8s/sandbox/api/print/protobuf.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct kind *const kinds_[] = {KIND(PODS), KIND(SECRETS), KIND(JOBS)};
    err e;
    for (size_t i = 0; i < 3; i++)
        cJSON_Delete(protobuf_decode(schema_of(kinds_[i]), data, n, &e));
    return 0;
}
