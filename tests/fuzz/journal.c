// SPDX-License-Identifier: MIT
// Journals: any file is read to its end and folded, and the result is exported.
#include "base/err.h"
#include "script/journal/fold/fold.h"
#include "script/report/export.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[64];
    int fd = memfd_create("journal", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    err e = {0}, bad = {0};
    fold *f = fold_file(path, &bad, &e);
    if (f) {
        buf text = {0};
        export_run(f, "/nonexistent", EXPORT_MD, 0, &text, &e);
        export_run(f, "/nonexistent", EXPORT_IPYNB, 0, &text, &e);
        export_run(f, "/nonexistent", EXPORT_HTML, 0, &text, &e);
        export_run(f, "/nonexistent", EXPORT_JUNIT, 0, &text, &e);
        buf_done(&text);
    }
    fold_free(f);
    close(fd);
    return 0;
}
