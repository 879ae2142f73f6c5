// SPDX-License-Identifier: MIT
#include "cli/git/head.h"

#include "base/buf.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/os/git.h"
#include "base/os/path.h"
#include "base/str.h"

#include <string.h>

enum { MOST = 64 << 20, PATIENCE_MS = 5000 };

struct headfile {
    loop *loop;
    void (*found)(void *arg, const char *path, const char *bytes, size_t n);
    void *arg;
    char *path;
    char commit[sizeof(((struct git_head *)0)->commit)]; // the commit that this file was read from
    child *git;
    loop_timer *late;
    buf bytes;
};

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    headfile *h = arg;
    if (fd == 1 && h->bytes.len + n <= MOST)
        buf_add(&h->bytes, bytes, n);
    else if (fd == 1)
        child_kill(h->git, 9);
}

static void on_exited(void *arg, int code, int signal)
{
    headfile *h = arg;
    loop_timer_stop(h->late);
    h->found(h->arg, h->path, code == 0 ? buf_cstr(&h->bytes) : NULL, h->bytes.len);
    buf_clear(&h->bytes);
}

static void on_late(void *arg)
{
    child_kill(((headfile *)arg)->git, 9);
}

headfile *headfile_new(
    loop *l, void (*found)(void *arg, const char *path, const char *bytes, size_t n), void *arg)
{
    headfile *h = mem_alloc(sizeof *h);
    *h = (headfile){.loop = l, .found = found, .arg = arg};
    h->late = loop_timer_new(l, on_late, h);
    return h;
}

void headfile_free(headfile *h)
{
    if (!h)
        return;
    child_free(h->git);
    loop_timer_free(h->late);
    buf_done(&h->bytes);
    free(h->path);
    free(h);
}

// The repository may be a stranger's: cat-file gives the bytes that are stored, without any filter
// or program of its settings, and no transport is allowed that could fetch what is missing.
static child *start(headfile *h, const char *folder, const char *object)
{
    static const struct child_ops ops = {.output = on_output, .exited = on_exited};
    err e = {0};
    const char *const argv[] = {
        "git", "-c", "protocol.allow=never", "cat-file", "blob", object, NULL};
    const struct child_spec spec = {.argv = argv, .cwd = folder};
    return child_spawn(h->loop, &spec, &ops, h, &e);
}

void headfile_read(headfile *h, const char *path)
{
    err e = {0};
    CLEANUP(git_head_done) struct git_head head = {0};
    AUTO_FREE char *folder = path_dirname(path), *name = path_basename(path);
    bool any = git_head_read(folder, &head, &e) == 0 && *head.commit;
    if (any && str_eq(path, h->path) && str_eq(head.commit, h->commit))
        return; // it was told already
    child_free(STEAL(h->git));
    loop_timer_stop(h->late);
    buf_clear(&h->bytes);
    char *own = mem_strdup(path); // it may be the one that goes
    free(h->path);
    h->path = own;
    memcpy(h->commit, head.commit, sizeof h->commit);
    AUTO_FREE char *object = str_fmt("%s:./%s", head.commit, name);
    h->git = any ? start(h, folder, object) : NULL;
    if (h->git)
        loop_timer_start(h->late, PATIENCE_MS, 0);
    else
        h->found(h->arg, h->path, NULL, 0);
}
