// SPDX-License-Identifier: MIT
#include "trainer/data/mapped.h"

#include "base/os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int mapped_open(mapped *m, const char *path, err *e)
{
    struct stat s;
    *m = (mapped){0};
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) < 0)
        return err_errno(e, errno, "cannot read %s", path);
    if (!S_ISREG(s.st_mode))
        return err_set(e, ERR_USAGE, "%s is no file", path);
    if (s.st_size == 0)
        return 0;
    m->n = (size_t)s.st_size;
    m->bytes = mmap(NULL, m->n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (m->bytes == MAP_FAILED) {
        m->bytes = NULL;
        return err_errno(e, errno, "cannot map %s", path);
    }
    return 0;
}

void mapped_close(mapped *m)
{
    if (m->bytes)
        munmap(m->bytes, m->n);
    *m = (mapped){0};
}
