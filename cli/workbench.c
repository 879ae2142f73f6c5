// SPDX-License-Identifier: MIT
// firesteel NOTEBOOK, firesteel attach: the workbench on a terminal, beside a kernel that outlives
// it.
//
//   terminal ── term ── keys ──> bench ──> client ── socket ── kernel
//       └────── grid <── draw ─────┘ <── messages ──┘
#include "base/clock.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/kernels.h"
#include "cli/options.h"
#include "script/journal/writer.h"
#include "script/notebook/notebook.h"
#include "script/protocol/launch.h"
#include "tui/term/term.h"
#include "tui/view/bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FRAME_MS = 16, // between pictures while messages come in
    LEAVE_MS = 50, // for the last messages to go out
    RECONNECT_MS = 50,
    RECONNECT_TRIES = 200,
};

// A connection to a kernel. After a restart the old one stays open until the new one has begun, for
// the next kernel takes over the socket pair of its first client and would miss it.
struct link {
    struct workbench *workbench;
    client *client;
};

struct workbench {
    struct cli *cli;
    struct term_options terminal;
    loop *loop;
    term *term;
    bench *bench;
    grid *grid;
    struct link *link, *old;
    loop_poll *input;
    loop_timer *frame, *wake, *escape, *leave, *reconnect;
    loop_signal *signals[4];
    char *socket; // of its kernel, for after a restart
    int tries;
    bool frame_waits, leaving;
    bool watching;     // somebody else's run
    int kernel_output; // what a kernel of ours prints itself: why it could not start
    err failed;
};

static void present(struct workbench *w)
{
    int columns, rows;
    term_size(w->term, &columns, &rows);
    rect now = grid_area(w->grid);
    if (now.w != columns || now.h != rows)
        grid_resize(w->grid, columns, rows);
    if (bench_draw(w->bench, w->grid))
        term_present(w->term, w->grid);
    int wait = bench_wait_ms(w->bench);
    loop_timer_stop(w->wake);
    if (wait >= 0)
        loop_timer_start(w->wake, (uint64_t)wait, 0);
}

static void on_frame(void *arg)
{
    struct workbench *w = arg;
    w->frame_waits = false;
    present(w);
}

static void present_soon(struct workbench *w)
{
    if (!w->frame_waits)
        loop_timer_start(w->frame, FRAME_MS, 0);
    w->frame_waits = true;
}

static void on_wake(void *arg)
{
    struct workbench *w = arg;
    bench_tick(w->bench);
    present(w);
}

static void on_leave(void *arg)
{
    loop_stop(((struct workbench *)arg)->loop);
}

// What was typed and not sent goes to the kernel first.
static void leave(struct workbench *w)
{
    if (w->leaving)
        return;
    w->leaving = true;
    bench_flush(w->bench);
    loop_timer_start(w->leave, LEAVE_MS, 0);
}

static void read_terminal(void *arg)
{
    struct workbench *w = arg;
    for (;;) {
        struct term_event event = term_read(w->term);
        if (event.kind == EVENT_NONE || w->leaving)
            break;
        if (event.kind == EVENT_KEY)
            bench_key(w->bench, event.key);
        else if (event.kind == EVENT_PASTE)
            bench_paste(w->bench, event.text, event.n);
        else if (event.kind == EVENT_CLOSED)
            leave(w);
    }
    if (w->leaving) {
        loop_poll_set(w->input, 0);
        return;
    }
    int wait = term_wait_ms(w->term);
    if (wait >= 0)
        loop_timer_start(w->escape, (uint64_t)wait, 0);
    present(w);
}

static void on_input(void *arg, int events)
{
    read_terminal(arg);
}

static void on_signal(void *arg, int signum)
{
    struct workbench *w = arg;
    if (signum != SIGWINCH) {
        leave(w);
        return;
    }
    term_resized(w->term);
    read_terminal(w);
}

static void link_free(struct link *l)
{
    if (l)
        client_close(l->client);
    free(l);
}

static void on_message(void *arg, message_type type, const cJSON *message)
{
    struct link *l = arg;
    struct workbench *w = l->workbench;
    if (l != w->link)
        return;
    w->tries = 0;
    bench_message(w->bench, type, message);
    if (type == MESSAGE_welcome && !bench_restarting(w->bench))
        link_free(STEAL(w->old));
    if (type == MESSAGE_end && bench_restarting(w->bench)) {
        link_free(w->old);
        w->old = STEAL(w->link);
        bench_lost(w->bench, "");
        loop_timer_start(w->reconnect, RECONNECT_MS, 0);
    }
    present_soon(w);
}

// Why a kernel of ours ended: the last line that it printed.
static void last_words(struct workbench *w, char *out, size_t size)
{
    char text[600] = "";
    ssize_t n = w->kernel_output > 0 ? pread(w->kernel_output, text, sizeof text - 1, 0) : 0;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n > 0 ? n : 0] = '\0';
    const char *line = strrchr(text, '\n');
    snprintf(out, size, "%s", line ? line + 1 : text);
}

static void on_closed(void *arg, const err *reason)
{
    struct link *l = arg;
    struct workbench *w = l->workbench;
    char why[600];
    if (l != w->link)
        return;
    link_free(STEAL(w->link));
    last_words(w, why, sizeof why);
    bool restarting = bench_restarting(w->bench);
    bench_lost(w->bench, restarting        ? ""
                         : *why            ? why
                         : reason->text[0] ? reason->text
                                           : "the kernel has ended; open the notebook again");
    if (restarting && !w->leaving)
        loop_timer_start(w->reconnect, RECONNECT_MS, 0);
    present_soon(w);
}

static const struct client_ops client_callbacks = {.event = on_message, .closed = on_closed};

static int link_open(struct workbench *w, int fd, err *e)
{
    struct link *l = mem_alloc(sizeof *l);
    l->workbench = w;
    l->client = fd >= 0 ? client_from_fd(w->loop, fd, &client_callbacks, l, e)
                        : client_open(w->loop, w->socket, &client_callbacks, l, e);
    if (l->client) {
        w->link = l;
        return 0;
    }
    free(l);
    return -1;
}

static void reconnect(void *arg)
{
    struct workbench *w = arg;
    err e = {0};
    if (w->link)
        return;
    if (w->socket && link_open(w, -1, &e) == 0)
        bench_connect(w->bench, w->link->client, !w->watching);
    else if (++w->tries < RECONNECT_TRIES)
        loop_timer_start(w->reconnect, RECONNECT_MS, 0);
    else {
        char why[600];
        last_words(w, why, sizeof why);
        bench_lost(w->bench, *why ? why : e.text);
    }
    present_soon(w);
}

static void quit(void *arg, bool stop_kernel)
{
    struct workbench *w = arg;
    if (stop_kernel && w->link)
        client_send(w->link->client, message_new(MESSAGE_shutdown));
    leave(w);
}

static void suspend(void *arg)
{
    struct workbench *w = arg;
    err e = {0};
    if (term_suspend(w->term, &e) < 0) {
        w->failed = e;
        leave(w);
    }
}

static void redraw(void *arg)
{
    term_redraw(((struct workbench *)arg)->term);
}

// The editor has the terminal, and this process waits for it; the kernel goes on meanwhile.
static int edit_file(void *arg, const char *path, err *e)
{
    struct workbench *w = arg;
    const char *editor = cli_getenv(w->cli, "VISUAL");
    editor = editor ? editor : cli_getenv(w->cli, "EDITOR");
    AUTO_FREE char *command = str_fmt("%s \"$1\"", editor ? editor : "vi");
    int status = -1;
    term_leave(w->term);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, "sh", path, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int entered = term_enter(w->term, e);
    term_redraw(w->term);
    if (entered < 0)
        return -1;
    if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(
            e, ERR_FAILED, "%s did not end well; the cell is as it was", editor ? editor : "vi");
    return 0;
}

static const struct bench_ops bench_callbacks = {
    .quit = quit, .suspend = suspend, .redraw = redraw, .edit_file = edit_file};

static int open_screen(struct workbench *w, const struct bench_about *about, err *e)
{
    static const int signals[] = {SIGHUP, SIGTERM, SIGINT, SIGWINCH};
    signal(SIGPIPE, SIG_IGN);
    w->terminal = (struct term_options){.type = cli_getenv(w->cli, "TERM"),
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
        .utf8 = w->cli->utf8,
        .no_color = cli_getenv(w->cli, "NO_COLOR") != NULL};
    if (!(w->loop = loop_new(e)) || !(w->term = term_open(&w->terminal, e)))
        return -1;
    struct bench_about all = *about;
    all.ascii = term_ascii(w->term);
    all.temporary = cli_getenv(w->cli, "TMPDIR") ? cli_getenv(w->cli, "TMPDIR") : "/tmp";
    w->bench = bench_new(&all, &bench_callbacks, w);
    w->grid = grid_new(80, 24);
    w->frame = loop_timer_new(w->loop, on_frame, w);
    w->wake = loop_timer_new(w->loop, on_wake, w);
    w->escape = loop_timer_new(w->loop, read_terminal, w);
    w->leave = loop_timer_new(w->loop, on_leave, w);
    w->reconnect = loop_timer_new(w->loop, reconnect, w);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (!(w->signals[i] = loop_signal_new(w->loop, signals[i], on_signal, w, e)))
            return -1;
    w->input = loop_poll_new(w->loop, term_fd(w->term), on_input, w, e);
    if (!w->input)
        return -1;
    loop_poll_set(w->input, LOOP_READ);
    return 0;
}

static void close_screen(struct workbench *w)
{
    link_free(w->link);
    link_free(w->old);
    loop_timer *timers[] = {w->frame, w->wake, w->escape, w->leave, w->reconnect};
    for (size_t i = 0; i < ARRAY_LEN(timers); i++)
        loop_timer_free(timers[i]);
    for (size_t i = 0; i < ARRAY_LEN(w->signals); i++)
        if (w->signals[i])
            loop_signal_free(w->signals[i]);
    if (w->input)
        loop_poll_free(w->input);
    term_close(w->term);
    if (w->bench && bench_farewell(w->bench))
        printf("%s\n", bench_farewell(w->bench));
    bench_free(w->bench);
    grid_free(w->grid);
    if (w->loop)
        loop_free(w->loop);
    if (w->kernel_output > 0)
        close(w->kernel_output);
    free(w->socket);
}

static int work(struct workbench *w)
{
    bench_connect(w->bench, w->link->client, !w->watching);
    present(w);
    loop_run(w->loop);
    return w->failed.code ? -1 : 0;
}

struct open_options {
    const char *cwd, *context, *namespace_, *kubeconfig, *memory;
    char **parameters;
    bool sandbox;
};

static char *target_name(const struct open_options *o)
{
    if (o->sandbox)
        return mem_strdup("sandbox");
    if (!o->context && !o->namespace_)
        return NULL;
    return str_fmt("%s%s%s", o->context ? o->context : "", o->context && o->namespace_ ? "/" : "",
        o->namespace_ ? o->namespace_ : "");
}

// The kernel that has this notebook open already: its run is named after it, in the same folder.
static char *living_kernel(struct cli *cli, const char *name, const char *cwd)
{
    struct kernels all;
    char *found = NULL;
    AUTO_FREE char *like = journal_run_name(name, clock_wall());
    AUTO_FREE char *prefix = str_fmt("%s-", name);
    if (kernels_find(cli, &all, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < all.n && !found; i++)
        if (!all.list[i].headless && str_eq(all.list[i].cwd, cwd) &&
            str_starts(all.list[i].run, prefix) && strlen(all.list[i].run) == strlen(like))
            found = mem_strdup(all.list[i].socket);
    kernels_done(&all);
    return found;
}

static int launch(struct workbench *w, const struct open_options *o, const char *path,
    const char *name, const char *cwd, err *e)
{
    struct cli *cli = w->cli;
    pid_t guard;
    int fd;
    AUTO_FREE char *program = cli_program(cli, "firesteel-kernel", e);
    AUTO_FREE char *sockets = program ? cli_socket_dir(cli, e) : NULL;
    if (!sockets)
        return -1;
    AUTO_FREE char *run = journal_run_name(name, clock_wall());
    AUTO_FREE char *images = cli_images_dir(cli);
    const char *data = cli_getenv(cli, "FIRESTEEL_DATA");
    w->socket = str_fmt("%s/%s.sock", sockets, run);
    w->kernel_output = memfd_create("kernel", MFD_CLOEXEC);
    if (launch_kernel(&(struct launch){.program = program,
                          .notebook = path,
                          .name = name,
                          .cwd = cwd,
                          .run = run,
                          .socket = w->socket,
                          .memory = o->memory,
                          .context = o->context,
                          .namespace_ = o->namespace_,
                          .kubeconfig = o->kubeconfig,
                          .images = images,
                          .data = data                           ? data
                                  : path_is_dir(DATADIR "/data") ? DATADIR "/data"
                                                                 : NULL,
                          .parameters = (const char *const *)o->parameters,
                          .output = w->kernel_output > 0 ? w->kernel_output : 0,
                          .sandbox = o->sandbox},
            &guard, &fd, e) < 0)
        return -1;
    return link_open(w, fd, e);
}

// The file first, so that there is something to see before any kernel answers.
static int open_notebook(struct workbench *w, const struct open_options *o, const char *file)
{
    err e = {0};
    AUTO_BUF printed = {0};
    bool moved;
    notebook *nb = notebook_load(file, &e);
    AUTO_FREE char *path = nb ? path_absolute(file, &e) : NULL;
    AUTO_FREE char *cwd = path ? cli_work_folder(w->cli, o->cwd, file, &moved, &e) : NULL;
    AUTO_FREE char *name = cli_notebook_name(file), *target = target_name(o);
    if (nb)
        notebook_print(nb, &printed);
    notebook_free(nb);
    if (!cwd || open_screen(w, &(struct bench_about){.path = path, .target = target}, &e) < 0)
        return cli_error(w->cli, &e);
    if (bench_show(w->bench, buf_cstr(&printed), printed.len, &e) == 0)
        present(w);
    w->socket = living_kernel(w->cli, name, cwd);
    if (w->socket)
        link_open(w, -1, &e);
    else
        launch(w, o, path, name, cwd, &e);
    if (!w->link || work(w) < 0) {
        term_close(STEAL(w->term));
        return cli_error(w->cli, e.code ? &e : &w->failed);
    }
    return 0;
}

static int open_run(struct cli *cli, int argc, char **argv)
{
    struct open_options o = {0};
    const struct option options[] = {
        {"param", 'p', "NAME=VALUE", "a parameter of the notebook; may be repeated",
            .list = &o.parameters},
        {"sandbox", 0, NULL, "with a private cluster that ends with the kernel",
            .given = &o.sandbox},
        {"context", 0, "NAME", "context of the kubeconfig", .text = &o.context},
        {"namespace", 'n', "NAME", "namespace", .text = &o.namespace_},
        {"kubeconfig", 0, "FILE", "another kubeconfig", .text = &o.kubeconfig},
        {"cwd", 0, "DIR", "working folder, instead of the notebook's own", .text = &o.cwd},
        {"memory", 0, "SIZE", "limit of the cells' memory: 512M, 2G", .text = &o.memory},
        {0},
    };
    char **rest = NULL;
    int code;
    struct workbench w = {.cli = cli};
    if (options_parse(cli, &open_verb, options, argc, argv, &rest, &code) == 0) {
        if (!rest || strv_len(rest) != 1)
            code = cli_usage(cli, &open_verb, rest ? "one notebook at a time" : "which notebook?");
        else if (o.sandbox && (o.context || o.kubeconfig))
            code = cli_usage(
                cli, &open_verb, "--sandbox has a cluster of its own: leave --context out");
        else
            code = open_notebook(&w, &o, rest[0]);
    }
    close_screen(&w);
    if (rest)
        strv_free(rest);
    if (o.parameters)
        strv_free(o.parameters);
    return code;
}

// Without a name: the newest of this folder, else the only one there is.
static const struct kernel *choose(
    struct cli *cli, const struct kernels *all, const char *name, err *e)
{
    const struct kernel *newest = NULL;
    for (size_t i = 0; i < all->n && !name; i++)
        if (str_eq(all->list[i].cwd, cli->cwd) &&
            (!newest || strcmp(all->list[i].run + strlen(all->list[i].run) - 20,
                            newest->run + strlen(newest->run) - 20) > 0))
            newest = &all->list[i];
    return newest ? newest : kernels_get(all, name, e);
}

static int attach(struct workbench *w, const char *name)
{
    err e = {0};
    struct kernels all;
    if (kernels_find(w->cli, &all, &e) < 0)
        return cli_error(w->cli, &e);
    const struct kernel *k = choose(w->cli, &all, name, &e);
    w->socket = mem_strdup(k ? k->socket : NULL);
    w->watching = k && k->headless;
    kernels_done(&all);
    if (!w->socket || open_screen(w, &(struct bench_about){0}, &e) < 0)
        return cli_error(w->cli, &e);
    if (link_open(w, -1, &e) < 0 || work(w) < 0) {
        term_close(STEAL(w->term));
        return cli_error(w->cli, e.code ? &e : &w->failed);
    }
    return 0;
}

static int attach_run(struct cli *cli, int argc, char **argv)
{
    const struct option options[] = {{0}};
    char **rest = NULL;
    int code;
    struct workbench w = {.cli = cli};
    if (options_parse(cli, &attach_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest && strv_len(rest) > 1)
            code = cli_usage(cli, &attach_verb, "one run at a time");
        else
            code = attach(&w, rest ? rest[0] : NULL);
    }
    close_screen(&w);
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb open_verb = {
    .name = "NOTEBOOK",
    .summary = "open a notebook in the workbench",
    .usage = "[-p NAME=VALUE]… [--sandbox | --context NAME] [-n NAMESPACE]\n\n"
             "Opens the notebook; its kernel goes on when the terminal goes. ? shows the keys.",
    .run = open_run,
};
const struct verb attach_verb = {
    .name = "attach",
    .summary = "open the workbench on a kernel that is alive",
    .usage = "[RUN]\n\nWithout RUN: this folder's newest, or the only one there is.",
    .run = attach_run,
};
