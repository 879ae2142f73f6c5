// SPDX-License-Identifier: MIT
//
//   treetar (a thread of its own) ── socket pair ── stream (the loop) ── remote: tar in the pod
//
// Each side waits while the other has more than ENOUGH bytes in its queue, so files of any size
// need no memory.
#include "script/api/pods/copying.h"

#include "base/loop/stream.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/connect/remote.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// If tar ends early, it leaves input unread, and the server would wait for ever until somebody
// reads it (kubectl has the same problem). So the container's shell reads the rest, and prints
// ENDED, after which we send no more.
#define ENDED "tar has ended early"
static const char unpack[] =
    "tar -xmf - -C \"$0\" && exit; code=$?; echo '" ENDED "' >&2; cat >/dev/null; exit $code";

enum {
    ENOUGH = 256 << 10,
    REST = 4 << 10,
    WORDS_MOST = 4096,
    WORDS_KEPT = 2048,
    NOT_FOUND = 127,
    NOT_EXECUTABLE = 126
};

struct copy {
    const struct pod_choice *pod;
    bool up; // into the pod
    const char *here, *name;
    const char *const *command;
    struct work *work;
    const char *const *plain; // the same for a container without a shell; NULL: there is no other
    // The thread's.
    int fd;
    struct treetar_told told;
    err error;
    // The loop's.
    loop *loop;
    int loop_fd; // -1: the stream has it
    stream *local;
    remote *remote;
    loop_pending *pending;
    bool open, ended; // ended: the remote has; what is queued for the thread is all
    int code;
    err remote_error;
    buf words; // tar's stderr
    bool over; // tar has ended before its input did
};

static void finish(struct copy *x)
{
    stream_close(STEAL(x->local));
    remote_close(STEAL(x->remote));
    loop_call_finish(x->pending);
}

static void on_open(void *arg)
{
    struct copy *x = arg;
    x->open = true;
    stream_pause(x->local, false);
}

// The beginning, with the mark of a cut as the end of its line, and as much of the end as may have
// a part of ENDED.
static void shorten(buf *words)
{
    if (words->len <= WORDS_MOST)
        return;
    char end[sizeof ENDED - 1];
    memcpy(end, words->data + words->len - sizeof end, sizeof end);
    words->len = WORDS_KEPT;
    while ((words->data[words->len] & 0xC0) == 0x80) // in whole characters
        words->len--;
    buf_str(words, STR_CUT "\n");
    buf_add(words, end, sizeof end);
}

static void on_words(struct copy *x, const char *bytes, size_t n)
{
    if (x->over)
        return;
    buf_add(&x->words, bytes, n);
    const char *mark = x->up ? strstr(buf_cstr(&x->words), ENDED) : NULL;
    if (!mark) {
        shorten(&x->words);
        return;
    }
    x->words.len = (size_t)(mark - x->words.data);
    x->words.data[x->words.len] = '\0';
    x->over = true;
    remote_end_input(x->remote);
    stream_close(STEAL(x->local)); // nobody reads what is left
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct copy *x = arg;
    if (fd == 2)
        on_words(x, bytes, n);
    if (fd == 2 || x->up)
        return;
    work_step(x->work, (int64_t)n);
    stream_write(x->local, bytes, n);
    if (stream_queued(x->local) > ENOUGH)
        remote_pause(x->remote, true);
}

static void on_remote_drained(void *arg)
{
    struct copy *x = arg;
    if (!x->over)
        stream_pause(x->local, false);
}

static void on_remote_done(void *arg, int code, const err *e)
{
    struct copy *x = arg;
    x->remote = NULL;
    x->ended = true;
    x->code = code;
    x->remote_error = *e;
    if (x->over || !stream_queued(x->local))
        finish(x);
}

static const struct remote_ops remote_callbacks = {
    .open = on_open, .output = on_output, .drained = on_remote_drained, .done = on_remote_done};

static void on_data(void *arg, const char *bytes, size_t n)
{
    struct copy *x = arg;
    if (!x->remote)
        return;
    remote_input(x->remote, bytes, n);
    work_step(x->work, (int64_t)n);
    if (remote_queued(x->remote) > ENOUGH)
        stream_pause(x->local, true);
}

// The thread is done: it has written all, or cannot go on reading.
static void on_closed(void *arg, const err *reason)
{
    struct copy *x = arg;
    if (x->up && x->remote)
        remote_end_input(x->remote);
    else
        finish(x);
}

static void on_drained(void *arg)
{
    struct copy *x = arg;
    if (x->ended)
        finish(x);
    else
        remote_pause(x->remote, false);
}

static const struct stream_ops local_callbacks = {
    .data = on_data, .closed = on_closed, .drained = on_drained};

static void start(loop_pending *pending, void *arg)
{
    struct copy *x = arg;
    x->pending = pending;
    x->local = stream_from_fd(x->loop, x->loop_fd, &local_callbacks, x, &x->remote_error);
    if (!x->local) {
        loop_call_finish(pending);
        return;
    }
    x->loop_fd = -1; // the stream's now
    stream_pause(x->local, true);
    x->remote = remote_open(x->pod->target.client,
        &(struct remote_spec){.ns = x->pod->ns,
            .pod = x->pod->name,
            .container = x->pod->container,
            .command = x->command,
            .input = x->up},
        &remote_callbacks, x);
}

static void cancel(loop_pending *pending, void *arg)
{
    finish(arg);
}

static const struct loop_call_ops copy_ops = {.start = start, .cancel = cancel};

// Reads on behind the end of the archive, which may come although tar has failed in the container:
// how tar has ended is known only at the end of the stream.
static void read_rest(int fd)
{
    char rest[REST];
    ssize_t n;
    do
        n = read(fd, rest, sizeof rest);
    while (n > 0 || (n < 0 && errno == EINTR));
}

static void *work(void *arg)
{
    struct copy *x = arg;
    if (x->up)
        treetar_write(x->fd, x->here, x->name, &x->told, &x->error);
    else
        treetar_read(x->fd, x->name, x->here, &x->told, &x->error);
    if (!x->up && (!x->error.code || x->error.code == ERR_NOT_FOUND))
        read_rest(x->fd);
    close(x->fd);
    return NULL;
}

static int start_thread(struct copy *x, pthread_t *thread, err *e)
{
    int fds[2];
    sigset_t all, before; // the loop's thread takes the signals
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return err_errno(e, errno, "cannot make a socket");
    x->fd = fds[0];
    x->loop_fd = fds[1];
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(thread, NULL, work, x);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number == 0)
        return 0;
    close(fds[0]);
    close(fds[1]);
    return err_start(e, number, "cannot start a thread");
}

// The first line of what tar printed. What goes on in the next one, as a name with a newline does,
// has the mark of a cut.
static char *words_of(struct copy *x)
{
    AUTO_BUF clean = {0};
    utf8_clean(&clean, buf_cstr(&x->words), x->words.len);
    const char *text = buf_cstr(&clean);
    size_t n = strcspn(text, "\n");
    bool more = text[n] && text[n + 1] && !str_starts(text + n + 1, "tar: ");
    return more ? str_fmt("%.*s" STR_CUT, (int)n, text) : str_trim(text, n);
}

// Chooses the error to report. The container's comes first, since a tar that ends early also breaks
// the stream that we write, and sometimes the connection; ours comes second.
static int judge(struct copy *x, int waited, err *e)
{
    AUTO_FREE char *where = k8s_pod_text(x->pod), *words = words_of(x);
    bool missing = x->code == NOT_FOUND || x->code == NOT_EXECUTABLE ||
                   (x->remote_error.code == ERR_FAILED && strstr(x->remote_error.text, "\"tar\""));
    if (waited != 0)
        return err_wrap(e, "%s: the copy is not whole", where);
    if (missing)
        return err_set(e, ERR_FAILED,
            "container %s of %s has no tar, which copying needs (kubectl cp does, too): k8s.exec "
            "with stdin= and cat can carry a text",
            x->pod->container, where);
    if (x->remote_error.code && *words)
        return err_set(e, x->remote_error.code, "%s: %s (%s)", where, words, x->remote_error.text);
    if (x->remote_error.code)
        return err_set(e, x->remote_error.code, "%s", x->remote_error.text);
    bool theirs = x->up || !x->error.code || x->error.code == ERR_NOT_FOUND;
    if (theirs && *words && (x->code != 0 || x->error.code))
        return err_set(e, ERR_FAILED, "%s: %s", where, words);
    if (theirs && x->code != 0)
        return err_set(e, ERR_FAILED, "%s: tar exited with %d", where, x->code);
    return x->error.code ? err_set(e, x->error.code, "%s", x->error.text) : 0;
}

// The container has no shell, so nothing was done.
static bool lacks_shell(const struct copy *x)
{
    return x->code == NOT_FOUND || x->code == NOT_EXECUTABLE ||
           (x->remote_error.code == ERR_FAILED && strstr(x->remote_error.text, "\"sh\""));
}

static int run(const struct copying *w, struct copy *x, struct treetar_told *told, err *e)
{
    pthread_t thread;
    x->loop = w->loop;
    x->pod = w->pod;
    x->here = w->here;
    x->work = w->work;
    if (start_thread(x, &thread, e) != 0)
        return -1;
    int waited = loop_call(w->loop, w->patience->canceller, &copy_ops, x, w->patience->deadline, e);
    if (x->loop_fd >= 0)
        close(x->loop_fd); // the call has not started: without this end the thread would wait on
    pthread_join(thread, NULL);
    if (waited == 0 && x->plain && lacks_shell(x)) {
        struct copy again = {.up = true, .name = x->name, .command = x->plain};
        buf_done(&x->words);
        return run(w, &again, told, e);
    }
    int done = judge(x, waited, e);
    buf_done(&x->words);
    *told = x->told;
    return done;
}

struct question {
    const struct pod_choice *pod;
    const char *const *command;
    remote *remote;
    loop_pending *pending;
    int code;
    err error;
};

static void no_output(void *arg, int fd, const char *bytes, size_t n)
{
}

static void on_answer(void *arg, int code, const err *e)
{
    struct question *q = arg;
    q->remote = NULL;
    q->code = code;
    q->error = *e;
    loop_call_finish(q->pending);
}

static void ask(loop_pending *pending, void *arg)
{
    static const struct remote_ops ops = {.output = no_output, .done = on_answer};
    struct question *q = arg;
    q->pending = pending;
    q->remote = remote_open(q->pod->target.client,
        &(struct remote_spec){.ns = q->pod->ns,
            .pod = q->pod->name,
            .container = q->pod->container,
            .command = q->command},
        &ops, q);
}

static void stop_asking(loop_pending *pending, void *arg)
{
    struct question *q = arg;
    remote_close(q->remote);
    loop_call_finish(pending);
}

static const struct loop_call_ops question_ops = {.start = ask, .cancel = stop_asking};

// 1: it is a folder in the container; 0: it is not, or nobody there can tell.
static int is_folder(const struct copying *w, const char *path, err *e)
{
    const char *const words[] = {"test", "-d", path, NULL};
    struct question q = {.pod = w->pod, .command = words};
    const struct patience *p = w->patience;
    if (loop_call(w->loop, p->canceller, &question_ops, &q, p->deadline, e) != 0)
        return -1;
    if (q.error.code && q.error.code != ERR_FAILED)
        return err_set(e, q.error.code, "%s", q.error.text);
    return !q.error.code && q.code == 0;
}

// The folder and the last name of a path in the container, of which tar sees neither as an option.
static void split(const char *path, char **folder, char **name)
{
    AUTO_FREE char *above = path_dirname(path);
    *folder = *above == '/' ? mem_strdup(above) : str_fmt("./%s", above);
    *name = path_basename(path);
}

int copying_up(const struct copying *w, struct treetar_told *told, err *e)
{
    AUTO_FREE char *own = path_basename(w->here), *into = str_fmt("%s/%s", w->there, own);
    struct stat st;
    if (stat(w->here, &st) && lstat(w->here, &st))
        return err_set(e, ERR_NOT_FOUND, "there is no %s", w->here);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
        return err_set(e, ERR_FAILED, "nothing was copied: %s is no file, folder or link", w->here);
    int folder = str_ends(w->there, "/") ? 1 : is_folder(w, w->there, e);
    if (folder < 0)
        return -1;
    if (S_ISREG(st.st_mode)) // of a tree nobody has counted the bytes
        work_total(w->work, st.st_size);
    AUTO_FREE char *above = NULL, *name = NULL;
    split(folder ? into : w->there, &above, &name);
    const char *const words[] = {"sh", "-c", unpack, above, NULL};
    const char *const plain[] = {"tar", "-xmf", "-", "-C", above, NULL};
    struct copy x = {.up = true, .name = name, .command = words, .plain = plain};
    return run(w, &x, told, e);
}

int copying_down(const struct copying *w, struct treetar_told *told, err *e)
{
    AUTO_FREE char *above = NULL, *name = NULL;
    split(w->there, &above, &name);
    AUTO_FREE char *member = str_fmt("./%s", str_eq(name, "/") ? "." : name);
    const char *const words[] = {"tar", "cf", "-", "-C", above, member, NULL};
    struct copy x = {.name = member, .command = words};
    return run(w, &x, told, e);
}

char *copying_left_out(const struct treetar_told *told)
{
    return told->left_out ? str_fmt("-- left out: %s%s, no file, folder or link inside --\n",
                                told->first, told->left_out > 1 ? " and others" : "")
                          : NULL;
}
