// SPDX-License-Identifier: MIT
#include "k8s/image/dockerfile/context.h"

#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int context_open(struct context *c, const char *path, err *e)
{
    *c = (struct context){open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), mem_strdup(path)};
    return c->folder < 0 ? err_errno(e, errno, "cannot open the folder %s", path) : 0;
}

void context_done(struct context *c)
{
    if (c->folder >= 0)
        close(c->folder);
    free(c->path);
    *c = (struct context){.folder = -1};
}

// The target of the link with this name, as it is written; new. NULL: it is not a link.
static char *link_text(const struct context *c, const char *name)
{
    char to[PATH_MAX];
    AUTO_FD fd = inside_open(c->folder, name, O_PATH | O_NOFOLLOW, INSIDE_ROOT);
    ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", to, sizeof to);
    return n > 0 ? mem_strndup(to, (size_t)n) : NULL;
}

int context_misses(const struct context *c, const char *name, err *e)
{
    int number = errno == EXDEV ? ENOENT : errno;
    AUTO_FREE char *to = link_text(c, name);
    if (!to && number == ENOENT)
        return err_set(e, ERR_NOT_FOUND, "there is no %s in %s", name, c->path);
    if (!to)
        return err_errno(e, number, "%s in %s", name, c->path);
    return err_set(e, ERR_INVALID,
        "%s in %s is a link to %s, which is not in that folder: nothing outside of it is read. Put "
        "what is meant into the folder",
        name, c->path, to);
}

int context_read(const struct context *c, const char *name, buf *out, size_t limit, err *e)
{
    struct stat st;
    AUTO_FD fd = inside_open(c->folder, name, O_RDONLY | O_NONBLOCK, INSIDE_BENEATH);
    if (fd < 0)
        return context_misses(c, name, e);
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(e, ERR_INVALID, "%s in %s is no file", name, c->path);
    return fd_read_all(fd, out, limit, e) ? err_wrap(e, "%s in %s", name, c->path) : 0;
}

// A part of a pattern without its backslashes; new.
static char *unescaped(const char *part)
{
    AUTO_BUF out = {0};
    for (; *part; part++) {
        part += *part == '\\' && part[1];
        buf_char(&out, *part);
    }
    return mem_strdup(buf_cstr(&out));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The entries of a folder that the part matches, sorted.
static char **entries(const struct context *c, const char *folder, const char *part)
{
    char **found = mem_array(1, sizeof *found);
    int fd = inside_open(c->folder, folder, O_RDONLY | O_DIRECTORY, INSIDE_ROOT);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    size_t n = 0, room = 1;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (str_eq(f->d_name, ".") || str_eq(f->d_name, "..") || fnmatch(part, f->d_name, 0) != 0)
            continue;
        if (n + 1 == room)
            found = mem_resize(found, room *= 2, sizeof *found);
        found[n++] = mem_strdup(f->d_name);
        found[n] = NULL;
    }
    if (d)
        closedir(d);
    qsort(found, n, sizeof *found, by_name);
    return found;
}

static bool is_there(const struct context *c, const char *name)
{
    AUTO_FD fd = inside_open(c->folder, name, O_PATH | O_NOFOLLOW, INSIDE_ROOT);
    return fd >= 0;
}

// Adds the names that the remaining parts match below `name`. matched: an earlier part was a
// pattern.
static void expand(
    const struct context *c, const char *name, char *const *parts, bool matched, char ***names)
{
    while (*parts && (!**parts || str_eq(*parts, ".")))
        parts++;
    if (!*parts) {
        if (!matched || is_there(c, name))
            *names = strv_add(*names, name);
        return;
    }
    bool pattern = strpbrk(*parts, "*?[");
    char **found = pattern ? entries(c, name, *parts) : strv_add(NULL, *parts);
    for (char **f = found; *f; f++) {
        AUTO_FREE char *part = pattern ? mem_strdup(*f) : unescaped(*f),
                       *next = path_join(name, part);
        expand(c, next, parts + 1, matched || pattern, names);
    }
    strv_free(found);
}

char **context_names(const struct context *c, const char *pattern)
{
    char **parts = strv_split(pattern, '/'), **names = mem_array(1, sizeof *names);
    expand(c, "", parts, false, &names);
    strv_free(parts);
    return names;
}
