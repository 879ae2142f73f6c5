// SPDX-License-Identifier: MIT
// A layer from a stranger: with any bytes, nothing may appear outside of the root.
#include "base/mem.h"
#include "base/os/path.h"
#include "k8s/image/unpack.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static char *top;
    err e = {0};
    if (!top)
        top = path_make_temp(path_is_dir("/dev/shm") ? "/dev/shm" : "/tmp", "firesteel-fuzz-", &e);
    AUTO_FREE char *root = path_join(top, "a/root"), *outside = path_join(top, "a/canary");
    if (!top || path_make_dirs(root, 0755, &e))
        abort();
    int canary_fd = open(outside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (canary_fd < 0 || write(canary_fd, "x", 1) != 1)
        abort();
    close(canary_fd);
    int fd = memfd_create("layer", MFD_CLOEXEC);
    struct image_limits left = {1 << 20, 1000};
    if (write(fd, bytes, n) != (ssize_t)n)
        abort();
    image_unpack_layer(fd, root, &left, &e);
    close(fd);
    AUTO_BUF canary = {0};
    if (path_read(outside, &canary, 0, &e) || canary.len != 1)
        abort();
    if (path_remove(top, &e) || path_exists(top))
        abort();
    free(top);
    top = NULL;
    return 0;
}
