// SPDX-License-Identifier: MIT
// A tar stream from a stranger's container: with any bytes, nothing may appear outside of the
// target.
#include "k8s/image/treetar.h"
#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// No link below the folder may lead out of the target. It may lead to itself, or through a file.
static void check_links(int target, const char *name)
{
    int fd = inside_open(target, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, INSIDE_NO_LINKS);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *f; d && (f = readdir(d));) {
        AUTO_FREE char *path = path_join(name, f->d_name);
        if (f->d_type == DT_LNK && !inside_stays(target, path) &&
            (errno == EXDEV || errno == ENOENT))
            abort();
        if (f->d_type == DT_DIR && strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
            check_links(target, path);
    }
    if (d)
        closedir(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    err e = {0};
    struct treetar_told told;
    AUTO_FREE char *top =
        path_make_temp(path_is_dir("/dev/shm") ? "/dev/shm" : "/tmp", "firesteel-fuzz-", &e);
    AUTO_FREE char *target = top ? path_join(top, "a/target") : NULL;
    AUTO_FREE char *outside = top ? path_join(top, "a/canary") : NULL;
    if (!top || path_make_dirs(target, 0755, &e) || path_write(outside, "x", 1, 0600, &e))
        abort();
    int fd = memfd_create("tar", MFD_CLOEXEC);
    if (write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    treetar_read(fd, "./data", target, &told, &e);
    close(fd);
    AUTO_FD dir = open(target, O_PATH | O_DIRECTORY | O_CLOEXEC);
    check_links(dir, "");
    AUTO_BUF canary = {0};
    if (path_read(outside, &canary, 0, &e) || canary.len != 1 || path_remove(top, &e) ||
        path_exists(top))
        abort();
    return 0;
}
