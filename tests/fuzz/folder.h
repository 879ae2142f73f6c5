// SPDX-License-Identifier: MIT
// A folder for a target whose parsers read files: made once, in memory if there is such a file
// system, else below $TMPDIR; removed when the program ends in order.
#pragma once
#include "base/mem.h"
#include "base/os/path.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fuzz_folder_path[256];

static void fuzz_folder_remove(void)
{
    path_remove(fuzz_folder_path, NULL);
}

static inline const char *fuzz_folder(void)
{
    if (!*fuzz_folder_path) {
        const char *top = getenv("TMPDIR");
        top = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : top ? top : "/tmp";
        err e;
        AUTO_FREE char *made = path_make_temp(top, "firesteel-fuzz-", &e);
        if (!made || snprintf(fuzz_folder_path, sizeof fuzz_folder_path, "%s", made) >=
                         (int)sizeof fuzz_folder_path)
            abort();
        atexit(fuzz_folder_remove);
    }
    return fuzz_folder_path;
}

// Writes bytes into a file of it; the folders in the name must exist. Returns its path, new.
static inline char *fuzz_file(const char *name, const void *bytes, size_t n)
{
    char *path = path_join(fuzz_folder(), name);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        abort();
    return path;
}
