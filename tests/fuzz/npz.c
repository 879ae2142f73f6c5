// SPDX-License-Identifier: MIT
#include "trainer/data/npz.h"
#include "trainer/data/zip.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// The archive's structure is walked without its sums, which a fuzzer does not hit: each member's
// bytes lie in the archive.
static void walk(const uint8_t *bytes, size_t n)
{
    err e;
    zip z;
    zip_member m;
    if (zip_open(&z, bytes, n, &e) < 0)
        return;
    for (int i = 0; i < 1000 && zip_next(&z, &m, &e) > 0; i++) {
        if (m.bytes < bytes || m.packed > n || m.bytes + m.packed > bytes + n)
            abort();
        if (m.name_n && (const uint8_t *)m.name + m.name_n > bytes + n)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    err e;
    npz arrays;
    walk(bytes, n);
    if (npz_parse(bytes, n, &arrays, &e) == 0)
        for (size_t i = 0; i < arrays.n; i++)
            if (!arrays.item[i].name || !arrays.item[i].t)
                abort();
    npz_done(&arrays);
    return 0;
}
