// SPDX-License-Identifier: MIT
// Manifests and names: each parser gets the same input.
#include "k8s/image/oci.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    err e = {0};
    oci_manifest manifest;
    if (oci_manifest_parse(bytes, n, &manifest, &e) == 0)
        oci_manifest_done(&manifest);

    AUTO_FREE char *text = mem_strndup((const char *)bytes, n);
    oci_ref ref;
    if (oci_ref_parse(text, &ref, &e) == 0) {
        if (!oci_name_valid(ref.name))
            abort();
        oci_ref_done(&ref);
    }
    return 0;
}
