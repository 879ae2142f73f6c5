// SPDX-License-Identifier: MIT
//   terminal ── term ── keys ──> bench ──> client ── socket ── kernel
//       └────── grid <── draw ─────┘ <── messages ──┘
#include "cli/workbench/workbench.h"

#include "base/clock.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/os/login.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/config/config.h"
#include "cli/git/head.h"
#include "cli/say.h"
#include "cli/terminal/editor.h"
#include "cli/terminal/foreground.h"
#include "cli/terminal/owncommand.h"
#include "cli/terminal/podshell.h"
#include "cli/workbench/joining.h"
#include "cli/workbench/looking.h"
#include "cli/workbench/offers.h"
#include "cli/workbench/rundeeds.h"
#include "cli/workbench/svgs.h"
#include "script/journal/file/writer.h"
#include "tui/term/term.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    FRAME_MS = 16, // between two pictures while messages arrive
    LEAVE_MS = 50, // for sending the last messages
    RECONNECT_MS = 50,
    RECONNECT_TRIES = 200,
};

// A connection to a kernel. After a restart the old one stays open until the new one has begun: the
// next kernel takes over the socket pair of its first client, and needs it.
struct link {
    workbench *workbench;
    client *client;
};

static const struct bench_ops past_callbacks;

struct workbench {
    struct cli *cli;
    struct term_options terminal;
    album *album;
    svgs *svgs; // NULL: not made yet
    loop *loop;
    term *term;
    bench *bench;
    bench *past;    // a run that is shown on top of it; or NULL
    char *to_open;  // the journal of a run to be shown next
    bool past_left; // its person has left it
    struct bench_about about;
    grid *grid;
    struct link *link, *old;
    loop_poll *input;
    struct settings *settings;
    enum background background;
    looking *looking; // for files that cells have read; NULL: not made yet
    headfile *head;   // reads the notebook in git's HEAD; NULL: not yet
    loop_timer *frame, *wake, *escape, *leave, *reconnect;
    loop_signal *signals[5];
    char *socket; // the kernel's socket, to connect again after a restart
    int tries;
    int64_t framed; // mono ns of the last picture that showed messages
    bool frame_waits, leaving, welcomed;
    bool watching; // it is a headless run
    int picked;    // chosen row of a list
    int (*starter)(void *arg, workbench *w, const char *recover, err *e);
    void *starter_arg;
    char *runtime;                // the run-time folder
    struct owner_temp recovering; // folder with the document for another kernel
    int kernel_output;            // our kernel's output: why it could not start
    err failed;
};

static bench *front(const workbench *w)
{
    return w->past ? w->past : w->bench;
}

static void retitle(workbench *w)
{
    AUTO_BUF title = {0};
    bench_title(front(w), &title);
    term_title(w->term, buf_cstr(&title));
}

// Keys that wait for their rest, and pictures that are shown when they have stopped moving.
static void listen_later(workbench *w)
{
    int wait = w->leaving ? -1 : term_wait_ms(w->term);
    if (wait >= 0)
        loop_timer_start(w->escape, (uint64_t)wait, 0);
}

static void present(workbench *w)
{
    int columns, rows;
    term_size(w->term, &columns, &rows);
    rect now = grid_area(w->grid);
    if (now.w != columns || now.h != rows)
        grid_resize(w->grid, columns, rows);
    do {
        if (bench_draw(front(w), w->grid))
            term_present(w->term, w->grid);
    } while (!w->leaving && bench_go_on(front(w)));
    if (!w->leaving)
        retitle(w);
    int wait = w->leaving ? -1 : bench_wait_ms(w->bench),
        also = w->past ? bench_wait_ms(w->past) : -1;
    wait = wait < 0 || (also >= 0 && also < wait) ? also : wait;
    loop_timer_stop(w->wake);
    if (wait >= 0)
        loop_timer_start(w->wake, (uint64_t)wait, 0);
    listen_later(w);
}

static void on_frame(void *arg)
{
    workbench *w = arg;
    w->frame_waits = false;
    w->framed = clock_mono();
    present(w);
}

// Draws once after messages that arrive together, and not too soon after the last picture.
static void present_soon(workbench *w)
{
    int64_t left = w->framed + FRAME_MS * CLOCK_MS - clock_mono();
    if (!w->frame_waits)
        loop_timer_start(w->frame, left > CLOCK_MS ? (uint64_t)(left / CLOCK_MS) : 1, 0);
    w->frame_waits = true;
}

static void on_wake(void *arg)
{
    workbench *w = arg;
    bench_tick(w->bench);
    if (w->past)
        bench_tick(w->past);
    present(w);
}

static void on_leave(void *arg)
{
    loop_stop(((workbench *)arg)->loop);
}

// Sends text that was typed and not sent yet to the kernel first.
static void leave(workbench *w)
{
    if (w->leaving)
        return;
    w->leaving = true;
    bench_flush(w->bench);
    loop_timer_start(w->leave, LEAVE_MS, 0);
}

// Opens or closes the view on top of the bench, after the key that asked for it was handled.
static void turn_to_past(workbench *w)
{
    err e = {0};
    if (w->past && (w->past_left || w->to_open)) {
        bench_free(STEAL(w->past));
        bench_redraw(w->bench);
    }
    w->past_left = false;
    if (!w->to_open)
        return;
    replay *run = replay_open(w->to_open, &e);
    if (run) {
        w->past = bench_new(&w->about, &past_callbacks, w);
        bench_background(w->past, w->background);
        bench_show_run(w->past, run, w->to_open);
    } else {
        bench_notice(w->bench, e.text);
    }
    free(STEAL(w->to_open));
}

static void set_background(workbench *w, enum background background)
{
    w->background = background;
    bench_background(w->bench, background);
    if (w->past)
        bench_background(w->past, background);
}

static void redraw_all(workbench *w)
{
    bench_redraw(w->bench);
    if (w->past)
        bench_redraw(w->past);
}

static void read_terminal(void *arg)
{
    workbench *w = arg;
    for (;;) {
        struct term_event event = term_read(w->term);
        if (event.kind == EVENT_NONE || w->leaving)
            break;
        if (event.kind == EVENT_KEY)
            bench_key(front(w), event.key);
        else if (event.kind == EVENT_PASTE)
            bench_paste(front(w), event.text, event.n);
        else if (event.kind == EVENT_MOUSE)
            bench_mouse(front(w), &event.mouse);
        else if (event.kind == EVENT_BACKGROUND)
            set_background(w, event.on ? BACKGROUND_LIGHT : BACKGROUND_DARK);
        else if (event.kind == EVENT_PICTURES)
            redraw_all(w);
        else if (event.kind == EVENT_CLOSED)
            leave(w);
        turn_to_past(w);
    }
    if (w->leaving) {
        loop_poll_set(w->input, 0);
        return;
    }
    present(w);
}

static void on_input(void *arg, int events)
{
    read_terminal(arg);
}

static void on_signal(void *arg, int signum)
{
    workbench *w = arg;
    if (signum == SIGWINCH)
        term_resized(w->term);
    else if (signum == SIGCONT)
        term_continued(w->term);
    else
        leave(w);
    if (!w->leaving)
        read_terminal(w);
}

static void link_free(struct link *l)
{
    if (l)
        client_free(l->client);
    free(l);
}

static void forget_recovered(workbench *w)
{
    owner_temp_remove(&w->recovering);
}

static void on_message(void *arg, message_type type, const cJSON *message)
{
    struct link *l = arg;
    workbench *w = l->workbench;
    if (l != w->link)
        return;
    w->tries = 0;
    w->welcomed = w->welcomed || type == MESSAGE_welcome;
    bench_message(w->bench, type, message);
    if (type == MESSAGE_welcome && !bench_restarting(w->bench)) {
        link_free(STEAL(w->old));
        forget_recovered(w);
    }
    if (type == MESSAGE_end && bench_restarting(w->bench)) {
        link_free(w->old);
        w->old = STEAL(w->link);
        bench_lost(w->bench, "");
        loop_timer_start(w->reconnect, RECONNECT_MS, 0);
    }
    present_soon(w);
}

// Why our kernel ended: the last line of its output.
static void last_words(workbench *w, char *out, size_t size)
{
    char text[600] = "";
    ssize_t n = w->kernel_output > 0 ? pread(w->kernel_output, text, sizeof text - 1, 0) : 0;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n > 0 ? n : 0] = '\0';
    const char *line = strrchr(text, '\n');
    const char *words = line ? line + 1 : text;
    const char *own = "firesteel: ";
    str_fit(out, size, words + (str_starts(words, own) ? strlen(own) : 0));
}

static void on_closed(void *arg, const err *reason)
{
    struct link *l = arg;
    workbench *w = l->workbench;
    char why[600];
    if (l != w->link)
        return;
    link_free(STEAL(w->link));
    last_words(w, why, sizeof why);
    bool restarting = bench_restarting(w->bench);
    if (!w->welcomed && *why) { // nothing was shown yet, and nothing can be lost
        err_set(&w->failed, ERR_FAILED, "%s", why);
        leave(w);
        return;
    }
    bench_lost(w->bench, restarting        ? ""
                         : *why            ? why
                         : reason->text[0] ? reason->text
                                           : "the kernel has ended; open the notebook again");
    if (restarting && !w->leaving)
        loop_timer_start(w->reconnect, RECONNECT_MS, 0);
    present_soon(w);
}

static const struct client_ops client_callbacks = {.event = on_message, .closed = on_closed};

static int link_open(workbench *w, int fd, err *e)
{
    struct link *l = mem_alloc(sizeof *l);
    l->workbench = w;
    l->client = fd >= 0 ? client_from_fd(w->loop, fd, &client_callbacks, l, e)
                        : client_connect(w->loop, w->socket, &client_callbacks, l, e);
    if (l->client) {
        w->link = l;
        return 0;
    }
    free(l);
    return -1;
}

static void reconnect(void *arg)
{
    workbench *w = arg;
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
    workbench *w = arg;
    if (stop_kernel && w->link) {
        cJSON *m = message_new(MESSAGE_shutdown);
        json_set_bool(m, "discard", true); // the person asked for it, or nothing is unsaved
        client_send(w->link->client, m);
    }
    leave(w);
}

static void suspend(void *arg)
{
    workbench *w = arg;
    err e = {0};
    if (term_suspend(w->term, &e) < 0) {
        w->failed = e;
        leave(w);
    }
}

static void redraw(void *arg)
{
    term_redraw(((workbench *)arg)->term);
}

// Takes the terminal back from a program, which ended with this result.
static int come_back(workbench *w, int ended, err *e)
{
    err why = {0};
    int entered = term_enter(w->term, &why);
    term_redraw(w->term);
    if (entered == 0)
        return ended;
    return err_give(e, &why);
}

// The editor has the terminal, and this process waits for it; the kernel goes on meanwhile.
static int edit_file(void *arg, const char *path, err *e)
{
    workbench *w = arg;
    term_leave(w->term);
    return come_back(w, editor_run(w->cli, path, e), e);
}

static int shell(void *arg, const cJSON *where, err *e)
{
    workbench *w = arg;
    term_leave(w->term);
    return come_back(w, podshell_run(w->cli, where, e), e);
}

static int command(void *arg, const cJSON *what, err *e)
{
    workbench *w = arg;
    term_leave(w->term);
    return come_back(w, owncommand_run(w->cli, what, e), e);
}

static int browse(void *arg, const char *url, err *e)
{
    workbench *w = arg;
    AUTO_FREE char *browser = owncommand_browser(w->cli);
    if (!browser)
        return err_set(e, ERR_NOT_FOUND, "there is no browser here");
    term_leave(w->term);
    return come_back(w, foreground_run(w->cli, (const char *[]){browser, url, NULL}, 2, e), e);
}

static int run_deed(
    void *arg, enum run_deed deed, const char *folder, const char *run, buf *said, err *e)
{
    workbench *w = arg;
    if (deed != RUN_ATTACH)
        return rundeeds_do(w->cli, deed, folder, run, said, e);
    term_leave(w->term);
    return come_back(w, rundeeds_do(w->cli, deed, folder, run, said, e), e);
}

static int write_picture(void *arg, const char *path, const cJSON *plot, err *e)
{
    return rundeeds_picture(((workbench *)arg)->cli, path, plot, e);
}

static int start_kernel(void *arg, const char *words, size_t n, const char *run, err *e)
{
    workbench *w = arg;
    if (!w->starter)
        return err_set(e, ERR_UNAVAILABLE,
            "the kernel that was attached to is gone: :w saves, and opening the notebook starts "
            "one");
    if (workbench_start(w, words, n, run, e) < 0)
        return -1;
    w->watching = false;
    bench_connect(w->bench, w->link->client, true);
    return 0;
}

static int copy(void *arg, const char *text, size_t n, err *e)
{
    return term_copy(((workbench *)arg)->term, text, n, e);
}

static bool mouse(void *arg, bool on)
{
    return term_mouse(((workbench *)arg)->term, on);
}

// A person who looks at the terminal sees it anyway.
static void notify(void *arg, const char *title, const char *words)
{
    workbench *w = arg;
    if (term_focus(w->term) != FOCUS_HERE)
        term_notify(w->term, title, words);
}

static void on_picture(void *arg)
{
    redraw_all(arg);
    present_soon(arg);
}

static void changed(void *arg)
{
    present_soon(arg);
}

static void open_run(void *arg, const char *path)
{
    workbench *w = arg;
    free(w->to_open);
    w->to_open = mem_strdup(path);
}

static void quit_past(void *arg, bool stop_kernel)
{
    ((workbench *)arg)->past_left = true;
}

static int start_nothing(void *arg, const char *words, size_t n, const char *run, err *e)
{
    return err_set(e, ERR_UNAVAILABLE, "a run that has ended has no kernel");
}

// For a run that is shown on top of a notebook: leaving it returns to the notebook.
static const struct bench_ops past_callbacks = {.quit = quit_past,
    .suspend = suspend,
    .redraw = redraw,
    .changed = changed,
    .start = start_nothing,
    .edit_file = edit_file,
    .copy = copy,
    .mouse = mouse,
    .open_run = open_run,
    .run_deed = run_deed,
    .picture = write_picture,
    .notify = notify};

static void on_looked(void *arg, cJSON *outside)
{
    workbench *w = arg;
    bench_looked(w->bench, outside);
    present_soon(w);
}

static void look(void *arg, cJSON *list)
{
    workbench *w = arg;
    if (!w->looking)
        w->looking = looking_new(w->loop, on_looked, w);
    looking_start(w->looking, list);
}

// The editor has the terminal meanwhile.
static int configure(void *arg, err *e)
{
    workbench *w = arg;
    AUTO_BUF fault = {0};
    term_leave(w->term);
    if (come_back(w, config_edit(w->cli, e), e) < 0)
        return -1;
    struct settings *was = w->settings;
    w->settings = config_read(w->cli);
    w->about.settings = w->settings;
    bench_set(w->bench, w->settings);
    if (w->past)
        bench_set(w->past, w->settings);
    settings_free(was);
    if (config_fault(w->settings, &fault))
        return err_set(e, ERR_INVALID, "%s", buf_cstr(&fault));
    bench_notice(front(w), "your settings count now; some only when the workbench is opened again");
    return 0;
}

static void on_headed(void *arg, const char *path, const char *bytes, size_t n)
{
    workbench *w = arg;
    bench_headed(w->bench, path, bytes, n);
    present_soon(w);
}

static void head(void *arg, const char *path)
{
    workbench *w = arg;
    if (!w->head)
        w->head = headfile_new(w->loop, on_headed, w);
    headfile_read(w->head, path);
}

static const struct bench_ops bench_callbacks = {.quit = quit,
    .suspend = suspend,
    .redraw = redraw,
    .changed = changed,
    .start = start_kernel,
    .edit_file = edit_file,
    .shell = shell,
    .command = command,
    .browse = browse,
    .copy = copy,
    .mouse = mouse,
    .open_run = open_run,
    .run_deed = run_deed,
    .picture = write_picture,
    .look = look,
    .head = head,
    .configure = configure,
    .notify = notify};

// The command line goes before the environment, and that before the person's settings.
static int read_notify(struct cli *cli, const struct settings *s, enum notify *out, err *e)
{
    static const char *const names[] = {"auto", "bell", "osc9", "osc777", "none"};
    const char *name = cli->notify ? cli->notify : cli_getenv(cli, "FIRESTEEL_NOTIFY");
    *out = (enum notify)s->notify;
    if (!name || !*name)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(name, names[i])) {
            *out = (enum notify)i;
            return 0;
        }
    return err_set(e, ERR_USAGE, "%s is no way to notify: auto, bell, osc9, osc777, none", name);
}

static int read_pictures(struct cli *cli, const struct settings *s, enum picture_way *out, err *e)
{
    static const char *const names[] = {
#define X(symbol, name) name,
        PICTURE_WAYS(X)
#undef X
    };
    const char *name = cli_getenv(cli, "FIRESTEEL_PICTURES");
    *out = (enum picture_way)s->pictures;
    if (!name || !*name)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(name, names[i])) {
            *out = (enum picture_way)i;
            return 0;
        }
    return err_set(e, ERR_USAGE,
        "FIRESTEEL_PICTURES: %s is no way to show pictures: auto, kitty, sixel, iterm2, blocks, "
        "none",
        name);
}

// "off" of an environment's variable; where that says nothing, as the setting has it.
static bool is_off(struct cli *cli, const char *name, bool setting)
{
    const char *said = cli_getenv(cli, name);
    return said ? str_eq(said, "off") : !setting;
}

// workbench_close leaves alone what does not exist yet.
static int open_screen(workbench *w, const struct bench_about *about, err *e)
{
    static const int signals[] = {SIGHUP, SIGTERM, SIGINT, SIGWINCH, SIGCONT};
    signal(SIGPIPE, SIG_IGN);
    const struct settings *s = w->settings = config_read(w->cli);
    w->background = background_of_colorfgbg(cli_getenv(w->cli, "COLORFGBG"));
    w->terminal = (struct term_options){.type = cli_getenv(w->cli, "TERM"),
        .terminfo = {w->cli->terminfo, cli_getenv(w->cli, "TERMINFO")},
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
        .utf8 = w->cli->utf8,
        .no_color = cli_getenv(w->cli, "NO_COLOR") != NULL,
        .program = cli_getenv(w->cli, "TERM_PROGRAM"),
        .vte = cli_getenv(w->cli, "VTE_VERSION") != NULL,
        .tmux = cli_getenv(w->cli, "TMUX") != NULL,
        .screen = cli_getenv(w->cli, "STY") != NULL,
        .no_mouse = w->cli->no_mouse || is_off(w->cli, "FIRESTEEL_MOUSE", s->mouse),
        .asks_background = w->background == BACKGROUND_UNKNOWN &&
                           (s->theme == THEME_AUTO || s->theme == THEME_HIGH_CONTRAST)};
    w->terminal.album = w->album = album_new();
    if (read_notify(w->cli, s, &w->terminal.notify, e) < 0 ||
        read_pictures(w->cli, s, &w->terminal.pictures, e) < 0)
        return -1;
    if (!(w->loop = loop_new(e)) || !(w->term = term_open(&w->terminal, e)))
        return -1;
    struct bench_about all = *about;
    all.album = w->album;
    all.ascii = term_ascii(w->term);
    all.mono = term_colors(w->term) == 0;
    all.settings = s;
    all.no_mouse = w->terminal.no_mouse;
    all.looks = about->looks;
    AUTO_FREE char *gallery = recipes_folder(w->cli);
    all.gallery = gallery;
    all.no_outputs = about->no_outputs || is_off(w->cli, "FIRESTEEL_OUTPUTS", s->outputs);
    all.no_ask = w->cli->no_ask || is_off(w->cli, "FIRESTEEL_ASK", s->ask);
    all.temporary = cli_getenv(w->cli, "TMPDIR") ? cli_getenv(w->cli, "TMPDIR") : "/tmp";
    all.runtime = w->runtime = cli_runtime_dir(w->cli, NULL);
    w->about = (struct bench_about){.ascii = all.ascii,
        .mono = all.mono,
        .album = w->album,
        .settings = s,
        .no_mouse = all.no_mouse,
        .temporary = all.temporary,
        .runtime = all.runtime};
    w->bench = bench_new(&all, &bench_callbacks, w);
    bench_background(w->bench, w->background);
    AUTO_BUF fault = {0};
    if (config_fault(s, &fault))
        bench_notice(w->bench, buf_cstr(&fault));
    AUTO_JSON *greeting = joining_greeting(w->cli, e);
    bench_greets(w->bench, greeting);
    w->svgs = svgs_new(w->loop, w->album, on_picture, w);
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

workbench *workbench_open(struct cli *cli, const struct bench_about *about, err *e)
{
    workbench *w = mem_alloc(sizeof *w);
    w->cli = cli;
    if (open_screen(w, about, e) == 0)
        return w;
    workbench_close(w);
    return NULL;
}

// Prints what is still running, and whether the system lets it run on.
static void say_farewell(const workbench *w)
{
    AUTO_BUF remedy = {0};
    say(stdout, "%s\n", bench_farewell(w->bench));
    const char *reason = login_end_reason(login_end_here(&remedy));
    if (reason)
        say(stdout, "But %s; so that it outlives that: %s\n", reason, buf_cstr(&remedy));
}

void workbench_close(workbench *w)
{
    if (!w)
        return;
    link_free(w->link);
    link_free(w->old);
    looking_free(w->looking);
    headfile_free(w->head);
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
        say_farewell(w);
    bench_free(w->past);
    bench_free(w->bench);
    svgs_free(w->svgs);
    album_free(w->album);
    grid_free(w->grid);
    if (w->loop)
        loop_free(w->loop);
    if (w->kernel_output > 0)
        close(w->kernel_output);
    free(w->socket);
    free(w->to_open);
    forget_recovered(w);
    settings_free(w->settings);
    free(w->runtime);
    free(w);
}

static void on_picked(void *arg, size_t row)
{
    workbench *w = arg;
    w->picked = (int)row;
    loop_stop(w->loop);
}

int workbench_pick(workbench *w, const char *title, const struct pick_row *rows, size_t n)
{
    w->picked = -1;
    pick_push(w->bench, title, rows, n, on_picked, w);
    present(w);
    loop_run(w->loop);
    return w->picked;
}

void workbench_show(workbench *w, const char *path, const char *words, size_t n)
{
    err e = {0};
    if (bench_show(w->bench, path, words, n, &e) == 0)
        present(w);
}

void workbench_remember(workbench *w, const char *folder, char *const *given)
{
    bench_remember(w->bench, folder, (const char *const *)given);
}

void workbench_only_looks(workbench *w)
{
    bench_only_looks(w->bench);
}

int workbench_join(workbench *w, const char *socket, bool watching, err *e)
{
    w->socket = mem_strdup(socket);
    w->watching = watching;
    return link_open(w, -1, e);
}

void workbench_select(workbench *w, const char *id)
{
    bench_go(w->bench, id);
}

bool workbench_in_sandbox(const workbench *w, bool *processes)
{
    return bench_in_sandbox(w->bench, processes);
}

void workbench_starter(
    workbench *w, int (*start)(void *arg, workbench *w, const char *recover, err *e), void *arg)
{
    w->starter = start;
    w->starter_arg = arg;
}

// Passes the document in a journal of one record, which a kernel reads as after a restart.
int workbench_start(workbench *w, const char *words, size_t n, const char *before, err *e)
{
    const char *tmp = cli_getenv(w->cli, "TMPDIR");
    AUTO_BUF line = {0};
    AUTO_JSON *record = message_new(MESSAGE_run);
    AUTO_FREE char *text = mem_strndup(words, n);
    json_set_int(record, "format", JOURNAL_FORMAT);
    json_set_str(record, "run", "");
    json_set_str(record, "notebook", text);
    json_set_str(record, "before", before);
    json_print(&line, record);
    buf_char(&line, '\n');
    forget_recovered(w);
    AUTO_FREE char *runtime = cli_runtime_dir(w->cli, e);
    if (!runtime ||
        owner_temp_make(&w->recovering, runtime, tmp ? tmp : "/tmp", "firesteel-", e) < 0)
        return -1;
    AUTO_FREE char *path = str_fmt("%s/document.jsonl", w->recovering.path);
    if (path_write(path, line.data, line.len, 0600, e) < 0)
        return -1;
    return w->starter(w->starter_arg, w, path, e);
}

void workbench_joined(workbench *w, const char *words)
{
    bench_joined(w->bench, words);
}

void workbench_say(workbench *w, const char *words)
{
    bench_notice(w->bench, words);
}

int workbench_launch(workbench *w, const struct launch *kernel, err *e)
{
    struct launch options = *kernel;
    pid_t guard;
    int fd;
    free(w->socket);
    w->socket = mem_strdup(kernel->socket);
    if (w->kernel_output > 0)
        close(w->kernel_output);
    w->kernel_output = fd_memory("kernel");
    options.output = w->kernel_output > 0 ? w->kernel_output : 0;
    if (launch_kernel(&options, &guard, &fd, e) < 0)
        return -1;
    return link_open(w, fd, e);
}

static int stay(workbench *w, err *e)
{
    present(w);
    loop_run(w->loop);
    return err_give(e, &w->failed);
}

int workbench_run(workbench *w, err *e)
{
    bench_connect(w->bench, w->link->client, !w->watching);
    return stay(w, e);
}

int workbench_look(workbench *w, replay *run, const char *path, err *e)
{
    bench_show_run(w->bench, run, path);
    return stay(w, e);
}

int workbench_view(workbench *w, const char *path, err *e)
{
    return bench_view_file(w->bench, path, e) < 0 ? -1 : stay(w, e);
}
