// SPDX-License-Identifier: MIT
// image_copy_tree: the private parts of a pod's root.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy_bytes(int from, int to, const char *path, err *e)
{
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    char chunk[64 << 10];
    ssize_t n;
    while ((n = read(from, chunk, sizeof chunk)) > 0)
        if (fd_write_all(to, chunk, (size_t)n, e))
            return err_wrap(e, "cannot copy to %s", path);
    return n == 0 ? 0 : err_errno(e, errno, "cannot copy to %s", path);
}

static int copy_file(const char *from, const char *to, mode_t mode, err *e)
{
    AUTO_FD in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0)
        return err_errno(e, errno, "cannot read %s", from);
    AUTO_FD out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0)
        return err_errno(e, errno, "cannot make %s", to);
    if (copy_bytes(in, out, to, e))
        return -1;
    return fchmod(out, mode & 0777) ? err_errno(e, errno, "cannot make %s", to) : 0;
}

static int copy_link(const char *from, const char *to, err *e)
{
    char target[4096];
    ssize_t n = readlink(from, target, sizeof target - 1);
    if (n < 0)
        return err_errno(e, errno, "cannot read %s", from);
    target[n] = '\0';
    return symlink(target, to) ? err_errno(e, errno, "cannot make %s", to) : 0;
}

static int copy_dir(const char *from, const char *to, mode_t mode, err *e)
{
    if (mkdir(to, 0700) && errno != EEXIST)
        return err_errno(e, errno, "cannot make %s", to);
    DIR *d = opendir(from);
    if (!d)
        return err_errno(e, errno, "cannot read %s", from);
    int status = 0;
    for (struct dirent *f; status == 0 && (f = readdir(d));) {
        if (str_eq(f->d_name, ".") || str_eq(f->d_name, ".."))
            continue;
        AUTO_FREE char *a = path_join(from, f->d_name), *b = path_join(to, f->d_name);
        status = image_copy_tree(a, b, e);
    }
    closedir(d);
    if (status == 0 && chmod(to, mode & 01777))
        return err_errno(e, errno, "cannot make %s", to);
    return status;
}

int image_copy_tree(const char *from, const char *to, err *e)
{
    struct stat st;
    if (lstat(from, &st))
        return err_errno(e, errno, "cannot read %s", from);
    if (S_ISDIR(st.st_mode))
        return copy_dir(from, to, st.st_mode, e);
    if (S_ISLNK(st.st_mode))
        return copy_link(from, to, e);
    return S_ISREG(st.st_mode) ? copy_file(from, to, st.st_mode, e) : 0;
}
