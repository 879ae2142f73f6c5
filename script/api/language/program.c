// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/os/path.h"
#include "base/os/spawn.h"
#include "script/api/language/language.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 20, PIECE = 16 << 10 };

struct talk {
    int in, out, said; // our ends; -1: closed
    const char *input;
    size_t left;
    buf *printed, *complained;
};

static void close_end(int *fd)
{
    fd_close_at(fd);
    *fd = -1;
}

static void hear(int *fd, buf *to)
{
    char piece[PIECE];
    ssize_t n = read(*fd, piece, sizeof piece);
    if (n > 0 && to->len < MOST)
        buf_add(to, piece, (size_t)n);
    else if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        close_end(fd);
}

static void tell(struct talk *t)
{
    ssize_t n = t->left ? write(t->in, t->input, t->left) : 0;
    if (n > 0) {
        t->input += n;
        t->left -= (size_t)n;
    }
    if (!t->left || (n < 0 && errno != EINTR && errno != EAGAIN))
        close_end(&t->in);
}

// false: it took too long.
static bool talk(struct talk *t, int64_t deadline)
{
    while (t->out >= 0 || t->said >= 0) {
        struct pollfd fds[] = {{t->in, POLLOUT, 0}, {t->out, POLLIN, 0}, {t->said, POLLIN, 0}};
        int64_t left = (deadline - clock_mono()) / CLOCK_MS;
        if (left <= 0 || (poll(fds, 3, (int)(left < 60000 ? left : 60000)) < 0 && errno != EINTR))
            return false;
        if (t->in >= 0 && fds[0].revents)
            tell(t);
        if (t->out >= 0 && fds[1].revents)
            hear(&t->out, t->printed);
        if (t->said >= 0 && fds[2].revents)
            hear(&t->said, t->complained);
    }
    return true;
}

static int reap(pid_t pid, bool ended)
{
    int status;
    if (!ended)
        kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int language_program(const char *const *argv, const char *input, size_t n,
    const struct language_world *w, buf *out, buf *said)
{
    enum { READ, WRITE };
    int ends[3][2];
    for (int i = 0; i < 3; i++)
        if (pipe2(ends[i], O_CLOEXEC) < 0) {
            while (i-- > 0) {
                close(ends[i][READ]);
                close(ends[i][WRITE]);
            }
            return -1;
        }
    const struct spawn_fd fds[] = {{ends[0][READ], 0}, {ends[1][WRITE], 1}, {ends[2][WRITE], 2}};
    const struct spawn_spec spec = {.argv = argv,
        .env = w->env,
        .cwd = "/",
        .fds = fds,
        .fd_n = 3,
        .place = SPAWN_SESSION,
        .death_signal = SIGKILL};
    pid_t pid = 0;
    int started = spawn(&spec, &pid, NULL);
    close(ends[0][READ]);
    close(ends[1][WRITE]);
    close(ends[2][WRITE]);
    struct talk t = {ends[0][WRITE], ends[1][READ], ends[2][READ], input, n, out, said};
    fcntl(t.in, F_SETFL, O_NONBLOCK);
    bool ended = started == 0 && talk(&t, w->deadline);
    fd_close_at(&t.in);
    fd_close_at(&t.out);
    fd_close_at(&t.said);
    return started == 0 ? reap(pid, ended) : -1;
}
