// SPDX-License-Identifier: MIT
#include "base/os/owner.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 100 };        // 10 ms apart; a sweep holds a lock for a shorter time
enum { CLAIM_SECONDS = 10 }; // a claim that nobody takes expires after this time

char *owner_file(const char *path)
{
    return str_fmt("%s.owner", path);
}

// Opens and locks the file; -1 with errno, EWOULDBLOCK when another process holds the lock.
static int lock(const char *file, int flags)
{
    AUTO_FD fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    struct stat st;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
        return -1;
    if (st.st_nlink == 0) { // a sweep removed it between open and flock
        errno = EWOULDBLOCK;
        return -1;
    }
    int locked = fd;
    fd = -1;
    return locked;
}

int owner_take(const char *path, err *e)
{
    AUTO_FREE char *file = owner_file(path);
    for (int i = 0; i < TRIES; i++) {
        int fd = lock(file, O_CREAT);
        if (fd >= 0)
            return fd;
        if (errno != EWOULDBLOCK)
            return err_errno(e, errno, "cannot lock %s", file);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return err_set(e, ERR_EXISTS, "%s belongs to another process that is alive", path);
}

bool owner_claim(const char *path)
{
    AUTO_FREE char *file = owner_file(path);
    AUTO_FD fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 || errno != EEXIST; // other errors are left to the process that takes it
}

bool owner_alive(const char *path)
{
    AUTO_FREE char *file = owner_file(path);
    AUTO_FD fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

char *owner_make_folder(const char *parent, const char *prefix, int *owner, err *e)
{
    char hex[17];
    random_hex(hex, 8);
    AUTO_FREE char *path = str_fmt("%s/%s%s", parent, prefix, hex);
    *owner = owner_take(path, e);
    if (*owner < 0)
        return NULL;
    if (mkdir(path, 0700) == 0)
        return STEAL(path);
    err_errno(e, errno, "cannot make %s", path);
    owner_remove(path, owner);
    return NULL;
}

// Removes the folder of ours that a link leads to. false: it is still there.
static bool remove_temp(const char *link)
{
    char to[PATH_MAX];
    struct stat st;
    ssize_t n = readlink(link, to, sizeof to - 1);
    to[n > 0 ? n : 0] = '\0';
    bool ours = *to == '/' && lstat(to, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
    return !ours || path_remove(to, NULL) == 0;
}

// Removes the folder first: as long as it exists, its owner file must say whose it is.
static void remove_owned(const char *path, const char *file, int fd)
{
    if (remove_temp(path) && path_remove(path, NULL) == 0)
        unlink(file);
    close(fd);
}

void owner_remove(const char *path, int *owner)
{
    AUTO_FREE char *file = owner_file(path);
    if (*owner >= 0)
        remove_owned(path, file, *owner);
    *owner = -1;
}

// Makes the link first, so that a sweep can find the folder at any moment.
int owner_temp_make(
    struct owner_temp *t, const char *folder, const char *parent, const char *prefix, err *e)
{
    char hex[17];
    random_hex(hex, 8);
    *t = (struct owner_temp){.owner = -1};
    AUTO_FREE char *whole = path_absolute(parent, e);
    if (!whole)
        return -1;
    t->path = str_fmt("%s/%s%s", *parent == '/' ? parent : whole, prefix, hex);
    t->link = folder ? str_fmt("%s/temp-%s", folder, hex) : NULL;
    if (!folder || (t->owner = owner_take(t->link, e)) >= 0) {
        if ((!folder || symlink(t->path, t->link) == 0) && mkdir(t->path, 0700) == 0)
            return 0;
        err_errno(e, errno, "cannot make the folder %s", t->path);
    }
    owner_temp_remove(t);
    return -1;
}

void owner_temp_remove(struct owner_temp *t)
{
    if (t->link)
        owner_remove(t->link, &t->owner);
    else if (t->path)
        path_remove(t->path, NULL);
    free(t->path);
    free(t->link);
    *t = (struct owner_temp){.owner = -1};
}

// Is the path claimed for a process that is about to take it?
static bool is_claim(const char *path, int fd)
{
    struct stat st, other;
    return fstat(fd, &st) == 0 && lstat(path, &other) < 0 &&
           time(NULL) - st.st_mtime < CLAIM_SECONDS;
}

void owner_sweep(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (!str_ends(entry->d_name, ".owner"))
            continue;
        AUTO_FREE char *file = path_join(folder, entry->d_name);
        int fd = lock(file, 0);
        if (fd < 0)
            continue;
        AUTO_FREE char *path = mem_strndup(file, strlen(file) - strlen(".owner"));
        if (is_claim(path, fd))
            close(fd);
        else
            remove_owned(path, file, fd);
    }
    if (d)
        closedir(d);
}
