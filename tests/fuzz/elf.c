// SPDX-License-Identifier: MIT
// A program as it may be named for an image: the libraries that it needs are found by reading it;
// and a program that was made independent of its root names the interpreter that it was given.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/programs/closure.h"
#include "k8s/image/programs/relocate.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define INTERPRETER "/opt/firesteel/ld.so"

// The interpreter that the bytes name, new; NULL: none, or they are no program.
static char *read_needs(const void *bytes, size_t n, bool *read)
{
    struct closure needs = {0};
    err e;
    int fd = memfd_create("program", MFD_CLOEXEC);
    AUTO_FREE char *path = str_fmt("/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        abort();
    *read = closure_add(&needs, path, &e) == 0;
    for (size_t i = 0; *read && i < needs.n; i++)
        if (!*needs.libraries[i].soname || *needs.libraries[i].path != '/')
            abort();
    char *interpreter = needs.interpreter ? mem_strdup(needs.interpreter) : NULL;
    closure_done(&needs);
    close(fd);
    return interpreter;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_BUF program = {0};
    bool read, moved;
    err e;
    free(read_needs(data, n, &read));
    buf_add(&program, data, n);
    if (relocate(&program, INTERPRETER, "/opt/firesteel/lib", &e) != 0 || !read ||
        memcmp(program.data, data, n) == 0)
        return 0; // it is no program, or a static one
    AUTO_FREE char *after = read_needs(program.data, program.len, &moved);
    if (moved && !str_eq(after, INTERPRETER))
        abort();
    return 0;
}
