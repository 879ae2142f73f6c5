// SPDX-License-Identifier: MIT
#include "script/kernel/session/file/filewatch.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <sys/inotify.h>
#include <unistd.h>

struct filewatch {
    int fd;
    char *name;
    loop_poll *poll;
    void (*changed)(void *arg);
    void *arg;
};

static void on_readable(void *arg, int events)
{
    struct filewatch *w = arg;
    _Alignas(struct inotify_event) char bytes[4096];
    bool ours = false;
    for (ssize_t n; (n = read(w->fd, bytes, sizeof bytes)) > 0;)
        for (const char *at = bytes; at < bytes + n;) {
            const struct inotify_event *event = (const void *)at;
            ours |= event->len > 0 && str_eq(event->name, w->name);
            at += sizeof *event + event->len;
        }
    if (ours)
        w->changed(w->arg);
}

struct filewatch *filewatch_open(loop *l, const char *path, void (*changed)(void *arg), void *arg)
{
    AUTO_FREE char *folder = path_dirname(path);
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0 || inotify_add_watch(fd, folder, IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    struct filewatch *w = mem_alloc(sizeof *w);
    *w = (struct filewatch){.fd = fd, .name = path_basename(path), .changed = changed, .arg = arg};
    w->poll = loop_poll_new(l, fd, on_readable, w, NULL);
    if (w->poll) {
        loop_poll_set(w->poll, LOOP_READ);
        return w;
    }
    filewatch_close(w);
    return NULL;
}

void filewatch_close(struct filewatch *w)
{
    if (!w)
        return;
    if (w->poll)
        loop_poll_free(w->poll);
    close(w->fd);
    free(w->name);
    free(w);
}
