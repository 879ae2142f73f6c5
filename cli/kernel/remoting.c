// SPDX-License-Identifier: MIT
//
//   stdin ── a thread that reads ──> the loop ── remote ──> container
//   stdout, stderr <── the loop, which waits for the terminal <── remote
//   SIGWINCH ──> its size
//
// A terminal is raw while the command has it, so Ctrl-C and Ctrl-Z are the container's. It is put
// back before anything else is printed, and before a signal ends us.
#include "cli/kernel/remoting.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/printable.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "cli/kernel/acts.h"
#include "cli/kernel/link.h"
#include "cli/kernel/podverbs.h"
#include "cli/say.h"
#include "k8s/client/connect/remote.h"
#include "script/api/pods/pod.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { SHOWN = 60, PIECE = 32 << 10, ENOUGH = 256 << 10, ROWS = 24, COLUMNS = 80 };
static const int ends[] = {SIGINT, SIGTERM, SIGHUP}; // a raw terminal sends no SIGINT

struct session {
    struct link link;
    const struct pod_choice *pod;
    const struct remoting *what;
    bool tty, raw;
    struct termios before;
    remote *remote;
    loop_pending *pending;
    loop_signal *resized, *ended[ARRAY_LEN(ends)];
    int code, signal;
    buf carry[2]; // of stdout and stderr: last bytes that the next ones decide on (half a
                  // character, \r)
    err error;
    // Between the reader and the loop.
    pthread_mutex_t lock;
    pthread_cond_t room;
    bool full, over;
};

static void put_back(struct session *s)
{
    if (s->raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &s->before);
    s->raw = false;
}

static void make_raw(struct session *s)
{
    struct termios raw;
    if (!s->tty || tcgetattr(STDIN_FILENO, &s->before) != 0)
        return;
    raw = s->before;
    cfmakeraw(&raw);
    s->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

// Bytes that the reader has read; n 0: the end.
struct piece {
    struct session *session;
    size_t n;
    char bytes[PIECE];
};

static void set_full(struct session *s, bool full)
{
    pthread_mutex_lock(&s->lock);
    s->full = full;
    pthread_cond_signal(&s->room);
    pthread_mutex_unlock(&s->lock);
}

static void on_piece(void *arg)
{
    struct piece *p = arg;
    struct session *s = p->session;
    if (s->remote && p->n)
        remote_input(s->remote, p->bytes, p->n);
    else if (s->remote)
        remote_end_input(s->remote);
    set_full(s, s->remote && remote_queued(s->remote) > ENOUGH);
    free(p);
}

static bool wait_for_room(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->full && !s->over)
        pthread_cond_wait(&s->room, &s->lock);
    bool over = s->over;
    pthread_mutex_unlock(&s->lock);
    return !over;
}

// It may block in read when the command ends: the process then ends anyway.
static void *read_input(void *arg)
{
    struct session *s = arg;
    for (ssize_t n = 1; n > 0 && wait_for_room(s);) {
        struct piece *p = mem_alloc(sizeof *p);
        do
            n = read(STDIN_FILENO, p->bytes, PIECE);
        while (n < 0 && errno == EINTR);
        p->session = s;
        p->n = n > 0 ? (size_t)n : 0;
        set_full(s, true); // until the loop has taken it
        loop_post(s->link.loop, on_piece, p);
    }
    return NULL;
}

static void send_size(struct session *s)
{
    struct winsize size = {.ws_row = ROWS, .ws_col = COLUMNS};
    ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
    if (size.ws_row && size.ws_col)
        remote_resize(s->remote, size.ws_row, size.ws_col);
}

static void on_resized(void *arg, int signum)
{
    struct session *s = arg;
    if (s->remote)
        send_size(s);
}

static void finish(struct session *s)
{
    loop_signal_free(STEAL(s->resized));
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        loop_signal_free(STEAL(s->ended[i]));
    remote_close(STEAL(s->remote));
    loop_call_finish(s->pending);
}

static void on_end_signal(void *arg, int signum)
{
    struct session *s = arg;
    s->signal = signum;
    finish(s);
}

static void on_open(void *arg)
{
    struct session *s = arg;
    pthread_t reader;
    if (s->tty) {
        make_raw(s);
        send_size(s);
        s->resized = loop_signal_new(s->link.loop, SIGWINCH, on_resized, s, NULL);
    }
    if (s->what->input && pthread_create(&reader, NULL, read_input, s) == 0)
        pthread_detach(reader);
}

// If the command has no terminal, its output is ordinary text, in which the person's terminal must
// not obey anything. Incomplete parts wait: a character, or the return before a line break.
static void add_printable(buf *carry, const char *bytes, size_t n, bool all, buf *out)
{
    buf_add(carry, bytes, n);
    size_t keep = all ? 0 : utf8_partial(buf_cstr(carry), carry->len);
    keep = !all && carry->len && carry->data[carry->len - 1] == '\r' ? 1 : keep;
    printable(out, buf_cstr(carry), carry->len - keep);
    buf_consume(carry, carry->len - keep);
}

static bool is_foreign_text(const struct session *s, int fd)
{
    return !s->tty && isatty(fd);
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct session *s = arg;
    AUTO_BUF text = {0};
    if (is_foreign_text(s, fd)) {
        add_printable(&s->carry[fd == STDERR_FILENO], bytes, n, false, &text);
        bytes = buf_cstr(&text);
        n = text.len;
    }
    if (fd_write_all(fd, bytes, n, &s->error) == 0)
        return;
    err_wrap(&s->error, "the output");
    finish(s);
}

static void on_drained(void *arg)
{
    set_full(arg, false);
}

static void print_rest(struct session *s)
{
    for (int i = 0; i < 2; i++) {
        AUTO_BUF text = {0};
        add_printable(&s->carry[i], "", 0, true, &text);
        fd_write_all(i ? STDERR_FILENO : STDOUT_FILENO, text.data, text.len, NULL);
        buf_done(&s->carry[i]);
    }
}

static void on_done(void *arg, int code, const err *e)
{
    struct session *s = arg;
    print_rest(s);
    s->remote = NULL;
    s->code = code;
    s->error = *e;
    finish(s);
}

static const struct remote_ops remote_callbacks = {
    .open = on_open, .output = on_output, .drained = on_drained, .done = on_done};

static void start(loop_pending *pending, void *arg)
{
    struct session *s = arg;
    s->pending = pending;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        s->ended[i] = link_signal(&s->link, ends[i], on_end_signal, s);
    s->remote = remote_open(s->link.client,
        &(struct remote_spec){.ns = s->pod->ns,
            .pod = s->pod->name,
            .container = s->pod->container,
            .command = (const char *const *)s->what->command,
            .input = s->what->input,
            .tty = s->tty},
        &remote_callbacks, s);
}

static const struct loop_call_ops session_ops = {.start = start};

// As kubectl: without a terminal here there is none there.
static bool has_terminal(const struct remoting *what)
{
    if (!what->tty || isatty(STDIN_FILENO))
        return what->tty;
    say(stderr, "firesteel: the input is no terminal, so the command gets none\n");
    return false;
}

// The start of the command, as in a run's ledger: masked before it is cut, since a cut secret would
// not be recognised.
static char *first_words(const struct remoting *what, mask *m)
{
    AUTO_BUF all = {0}, text = {0};
    for (char **word = what->command; word && *word; word++)
        buf_fmt(&all, "%s%s", all.len ? " " : "", *word);
    mask_text(m, buf_cstr(&all), all.len, &text);
    return str_fmt("run `%s`", str_short_line(buf_cstr(&text), SHOWN).text);
}

static int run(struct session *s, const struct kernel_options *options, err *e)
{
    struct pod_choice pod;
    CLEANUP(act_done) struct act act = {.verb = "exec", .effect = "cluster", .error = e};
    act_mask(&act, options, s->what->command);
    AUTO_FREE char *where = str_fmt("exec in %s", s->what->pod);
    AUTO_FREE char *words = first_words(s->what, act.mask);
    if (link_start(&s->link, e) != 0 || link_client(&s->link, options, e) != 0 ||
        act_allow(&act, options, client_config(s->link.client), where, e) != 0 ||
        podverb_find(s->link.client, s->what->pod, s->what->container, &pod, e) != 0)
        return -1;
    s->pod = &pod;
    if (act_begin(&act, options, &pod, words, e) != 0) {
        k8s_pod_done(&pod);
        return -1;
    }
    loop_call(s->link.loop, NULL, &session_ops, s, 0, e);
    put_back(s);
    if (s->signal)
        err_set(&s->error, ERR_CANCELLED, "signal %d", s->signal);
    act_end(&act, s->code, &s->error);
    pthread_mutex_lock(&s->lock);
    s->over = true;
    pthread_cond_signal(&s->room);
    pthread_mutex_unlock(&s->lock);
    k8s_pod_done(&pod);
    return s->error.code ? err_set(e, s->error.code, "%s", s->error.text) : 0;
}

int remoting_run(const struct kernel_options *options, const struct remoting *what)
{
    // Static: the reader may still block in read, using it, when main returns.
    static struct session s;
    err e = {0};
    s = (struct session){.what = what,
        .tty = has_terminal(what),
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .room = PTHREAD_COND_INITIALIZER};
    int done = run(&s, options, &e);
    link_end(&s.link);
    if (s.signal)
        return 128 + s.signal;
    if (done == 0)
        return s.code;
    say(stderr, "firesteel: %s\n", e.text);
    return err_exit_code(e.code);
}
