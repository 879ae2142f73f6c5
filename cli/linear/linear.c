// SPDX-License-Identifier: MIT
//   stdin ── lines ──> commands ──> client ── socket ── kernel
//   stdout <── sentences ── printer <── events ──┘
#include "cli/linear/linear.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/config/config.h"
#include "cli/linear/linear_private.h"
#include "cli/say.h"
#include "cli/workbench/joining.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TELL_MS = 3000, LEAVE_MS = 50, CHUNK = 4096 };

void linear_say(linear *l, const char *fmt, ...)
{
    AUTO_BUF words = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&words, fmt, args);
    va_end(args);
    buf_char(&words, '\n');
    say_text(&l->spoken, stdout, buf_cstr(&words), words.len);
    fflush(stdout);
}

void linear_wrong(linear *l, const char *fmt, ...)
{
    AUTO_BUF words = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&words, fmt, args);
    va_end(args);
    l->failed = true;
    linear_say(l, "error: %s", buf_cstr(&words));
}

void linear_hide(linear *l, bool hides)
{
    if (hides == l->hides || (hides && tcgetattr(STDIN_FILENO, &l->shown) < 0))
        return;
    struct termios now = l->shown;
    if (hides)
        now.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
    l->hides = hides;
}

static void on_left(void *arg)
{
    loop_stop(((linear *)arg)->loop);
}

void linear_leave(linear *l, bool stop)
{
    if (l->leaving)
        return;
    l->leaving = true;
    l->stops = stop;
    if (stop && l->client) {
        cJSON *m = message_new(MESSAGE_shutdown);
        json_set_bool(m, "discard", true);
        client_send(l->client, m);
    }
    loop_timer_start(l->leave, LEAVE_MS, 0);
}

// A script's next line is done when the one before is over; a person's at once.
static void next_lines(linear *l)
{
    char *newline;
    bool answers = l->asks->child != NULL;
    while (l->ready && !l->leaving && l->typed.len &&
           (!l->script || answers ||
               (!l->waiting && !l->busy && !l->peek.display && l->rev >= l->wanted)) &&
           (newline = memchr(l->typed.data, '\n', l->typed.len))) {
        AUTO_FREE char *line = str_trim(l->typed.data, (size_t)(newline - l->typed.data));
        buf_consume(&l->typed, (size_t)(newline + 1 - l->typed.data));
        l->interrupts = 0;
        linear_command(l, line);
        answers = l->asks->child != NULL;
    }
    if (l->ready && l->ended && l->script && answers && !l->typed.len && !l->waiting) {
        linear_wrong(l, "a question is open, and no line answers it");
        linear_leave(l, false);
    }
    bool over = !l->waiting && !l->busy && !l->peek.display && !answers;
    if (l->ready && l->ended && !l->typed.len && (over || !l->script))
        linear_leave(l, false);
}

struct asking {
    linear *linear;
    void (*done)(void *arg, const cJSON *reply);
};

static void on_reply(void *arg, const cJSON *reply)
{
    struct asking *a = arg;
    linear *l = a->linear;
    l->waiting--;
    if (!json_bool_or(reply, "ok", false))
        linear_wrong(
            l, "%s", json_str_or(json_get(reply, "error"), "message", "the kernel has gone"));
    a->done(l, reply);
    free(a);
    next_lines(l);
}

void linear_done(void *arg, const cJSON *reply)
{
}

void linear_ask(linear *l, cJSON *message, void (*done)(void *arg, const cJSON *reply))
{
    struct asking *a = mem_alloc(sizeof *a);
    *a = (struct asking){l, done};
    l->waiting++;
    client_request(l->client, message, on_reply, a);
}

static void on_welcome(linear *l, const cJSON *m)
{
    const char *journal = json_str_or(m, "journal", "");
    size_t n = strlen(journal);
    free(l->spools);
    l->spools = mem_strndup(journal, n > 6 ? n - 6 : n); // without ".jsonl"
    printer_spools(l->printer, l->spools);
    l->caught_up = (uint64_t)json_int_or(m, "seq", 0);
    l->saved = !json_bool_or(m, "unsaved", false);
    l->busy = str_eq(json_str(m, "state"), "busy");
}

// All of the past is here: what happens from now on is told.
static void catch_up(linear *l)
{
    if (l->ready || !l->document || fold_seq(l->fold) < l->caught_up)
        return;
    fold_event(l->fold, l->document, NULL);
    l->ready = true;
    size_t n = notebook_count(fold_notebook(l->fold));
    linear_say(l, "%s, %zu cell%s%s%s. Type help for the commands.", l->path, n, n == 1 ? "" : "s",
        l->joined ? "; " : "", l->joined ? l->joined : "");
    next_lines(l);
}

static void on_ask(linear *l, const cJSON *event)
{
    cJSON_AddItemToArray(l->asks, cJSON_Duplicate(event, true));
    if (l->ready)
        linear_tell_question(l);
}

static void on_answered(linear *l, const cJSON *event)
{
    int n = cJSON_GetArraySize(l->asks);
    for (int i = n - 1; i >= 0; i--)
        if (json_int_or(cJSON_GetArrayItem(l->asks, i), "ask", -1) == json_int_or(event, "ask", -2))
            cJSON_DeleteItemFromArray(l->asks, i);
}

static void on_kernel(linear *l, const cJSON *event)
{
    const char *state = json_str_or(event, "state", "");
    bool was = l->busy;
    l->busy = str_eq(state, "busy") || str_eq(state, "asking") || str_eq(state, "interrupting");
    if (was && !l->busy && l->ready && str_eq(state, "idle")) {
        printer_tell(l->printer);
        linear_say(l, "the kernel is idle");
    }
}

static void keep_rows(linear *l, const cJSON *rows)
{
    const cJSON *row;
    l->peek.rows = l->peek.rows ? l->peek.rows : cJSON_CreateObject();
    cJSON_ArrayForEach(row, rows)
    {
        const char *uid = json_str_or(row, "uid", "");
        cJSON_DeleteItemFromObjectCaseSensitive(l->peek.rows, uid);
        if (!json_bool_or(row, "deleted", false))
            json_set(l->peek.rows, uid, cJSON_Duplicate(row, true));
    }
}

static void on_peek(linear *l, const cJSON *event)
{
    if (!l->peek.display && !l->waiting)
        return;
    const cJSON *part, *first = json_get(event, "data") ? json_get(event, "data")->child : NULL;
    for (part = first; part; part = part->next)
        if (json_get(part, "columns")) {
            cJSON_Delete(l->peek.table);
            l->peek.table = cJSON_Duplicate(part, true);
            keep_rows(l, json_get(part, "rows"));
        }
    keep_rows(l, json_get(event, "rows"));
}

static void on_event(void *arg, message_type type, const cJSON *m)
{
    linear *l = arg;
    bool counted = json_get(m, "seq") != NULL;
    if (type == MESSAGE_welcome) {
        on_welcome(l, m);
    } else if (type == MESSAGE_document && !counted) {
        l->rev = json_int_or(m, "rev", l->rev);
        l->saved = json_bool_or(m, "saved", true);
        cJSON_Delete(l->document);
        l->document = cJSON_Duplicate(m, true);
    } else if (!counted && (type == MESSAGE_display || type == MESSAGE_update)) {
        on_peek(l, m);
    } else if (counted) {
        fold_event(l->fold, m, NULL);
        if (type == MESSAGE_edited || type == MESSAGE_document) {
            l->rev = json_int_or(m, "rev", l->rev);
            l->saved = type == MESSAGE_edited && str_eq(json_str(m, "change"), "save");
        }
        if (type == MESSAGE_ask)
            on_ask(l, m);
        else if (type == MESSAGE_answered)
            on_answered(l, m);
        if (l->ready)
            printer_event(l->printer, m);
        if (type == MESSAGE_kernel)
            on_kernel(l, m);
    }
    catch_up(l);
    if (printer_holds(l->printer))
        loop_timer_start(l->tell, TELL_MS, 0);
    fflush(stdout);
    next_lines(l);
}

static void on_peeked(void *arg)
{
    linear *l = arg;
    linear_peeked(l);
    next_lines(l);
}

static void on_tell(void *arg)
{
    linear *l = arg;
    printer_tell(l->printer);
    fflush(stdout);
}

static void on_closed(void *arg, const err *reason)
{
    linear *l = arg;
    client_free(STEAL(l->client));
    char words[600] = "";
    ssize_t n = l->output > 0 ? pread(l->output, words, sizeof words - 1, 0) : 0;
    while (n > 0 && words[n - 1] == '\n')
        words[--n] = '\0';
    const char *why = n > 0 ? words : reason->text;
    if (!l->leaving)
        err_set(&l->lost, ERR_FAILED, "the kernel has ended%s%s", *why ? ": " : "", why);
    loop_stop(l->loop);
}

static const struct client_ops callbacks = {.event = on_event, .closed = on_closed};

static void on_input(void *arg, int events)
{
    linear *l = arg;
    char bytes[CHUNK];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n > 0) {
        buf_add(&l->typed, bytes, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        if (l->typed.len && l->typed.data[l->typed.len - 1] != '\n')
            buf_char(&l->typed, '\n');
        l->ended = true;
        if (l->input)
            loop_poll_set(l->input, 0);
    }
    next_lines(l);
}

// C-c interrupts what runs; where nothing runs, or once more, it says how to leave.
static void on_signal(void *arg, int signum)
{
    linear *l = arg;
    if (signum != SIGINT) {
        linear_leave(l, false);
    } else if (l->busy && l->interrupts++ == 0 && l->client) {
        linear_say(l, "interrupting; once more says how to leave");
        linear_ask(l, message_new(MESSAGE_interrupt), linear_done);
    } else {
        linear_say(l, "quit leaves, and the kernel goes on; stop ends it, too");
    }
}

static bool is_file(void)
{
    struct stat st;
    return fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

// A file cannot be waited for: all of it is read at once.
static int listen(linear *l, err *e)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (!(l->signals[i] = loop_signal_new(l->loop, signals[i], on_signal, l, e)))
            return -1;
    while (is_file() && !l->ended)
        on_input(l, 0);
    if (l->ended)
        return 0;
    l->input = loop_poll_new(l->loop, STDIN_FILENO, on_input, l, e);
    if (!l->input)
        return -1;
    loop_poll_set(l->input, LOOP_READ);
    return 0;
}

linear *linear_open(struct cli *cli, const char *path, err *e)
{
    linear *l = mem_alloc(sizeof *l);
    signal(SIGPIPE, SIG_IGN);
    l->cli = cli;
    l->spoken = *cli;
    l->spoken.out_tty = l->spoken.colour = false;
    l->script = !isatty(STDIN_FILENO);
    l->path = mem_strdup(path);
    l->saved = true;
    l->asks = cJSON_CreateArray();
    l->fold = fold_new();
    l->printer = printer_new(&l->spoken, l->fold);
    printer_speak(l->printer);
    l->loop = loop_new(e);
    if (!l->loop) {
        linear_close(l);
        return NULL;
    }
    l->tell = loop_timer_new(l->loop, on_tell, l);
    l->leave = loop_timer_new(l->loop, on_left, l);
    l->peeked = loop_timer_new(l->loop, on_peeked, l);
    return l;
}

void linear_close(linear *l)
{
    if (!l)
        return;
    linear_hide(l, false);
    client_free(l->client);
    for (size_t i = 0; i < ARRAY_LEN(l->signals); i++)
        if (l->signals[i])
            loop_signal_free(l->signals[i]);
    if (l->input)
        loop_poll_free(l->input);
    loop_timer_free(l->tell);
    loop_timer_free(l->leave);
    loop_timer_free(l->peeked);
    if (l->loop)
        loop_free(l->loop);
    printer_free(l->printer);
    fold_free(l->fold);
    cJSON_Delete(l->peek.table);
    cJSON_Delete(l->peek.rows);
    free(l->peek.action);
    free(l->peek.kind);
    cJSON_Delete(l->document);
    cJSON_Delete(l->asks);
    buf_done(&l->typed);
    if (l->output > 0)
        close(l->output);
    free(l->path);
    free(l->spools);
    free(l->joined);
    free(l);
}

int linear_join(linear *l, const char *socket, const char *words, err *e)
{
    l->joined = mem_strdup(words);
    l->client = client_connect(l->loop, socket, &callbacks, l, e);
    return l->client ? 0 : -1;
}

int linear_launch(linear *l, const struct launch *kernel, err *e)
{
    struct launch options = *kernel;
    pid_t guard;
    int fd;
    l->output = fd_memory("kernel"); // it outlives us, and must not keep our pipe
    options.output = l->output > 0 ? l->output : 0;
    if (launch_kernel(&options, &guard, &fd, e) < 0)
        return -1;
    l->client = client_from_fd(l->loop, fd, &callbacks, l, e);
    return l->client ? 0 : -1;
}

int linear_run(linear *l, err *e)
{
    AUTO_JSON *greeting = joining_greeting(l->cli, e);
    if (l->cli->read_only)
        client_hello_looking(l->client);
    else
        client_hello(l->client, 0, true, true, greeting);
    if (listen(l, e) < 0)
        return -1;
    loop_run(l->loop);
    printer_tell(l->printer);
    if (l->lost.code)
        return err_give(e, &l->lost);
    if (l->stops)
        linear_say(l, "the kernel is stopped");
    else
        linear_say(l,
            "the kernel of %s goes on%s; firesteel --linear %s comes back, firesteel "
            "stop ends it",
            l->path, l->saved ? "" : ", with what is unsaved", l->path);
    return l->script && l->failed ? 1 : 0;
}

bool linear_wanted(struct cli *cli)
{
    const char *said = cli_getenv(cli, "FIRESTEEL_LINEAR");
    if (cli->linear || said)
        return cli->linear || !(str_eq(said, "0") || str_eq(said, "off"));
    struct settings *s = config_read(cli);
    bool wanted = s->linear;
    settings_free(s);
    return wanted;
}
