// SPDX-License-Identifier: MIT
// Conducts a run: prints what its kernel reports, passes interrupts on, writes reports.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/report.h"
#include "cli/run/run_private.h"
#include "script/journal/file/reader.h"
#include "script/journal/runs/runs.h"
#include "script/report/junit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 10000, // the wait after an interrupt, before a stronger signal
    MOVED = 5,           // exit code: with --from, results differ
    PRINTED_ROWS = 100,  // the widest rows of a live table that are kept, to align later ones with
};

// Interrupts the run. why: the reason for which the run fails; NULL: a person interrupts it.
static void interrupt(struct run *r, const char *why)
{
    static const message_type means[] = {MESSAGE_interrupt, MESSAGE_shutdown};
    int step = r->interrupts++;
    if (step < 2 && r->client) {
        cJSON *message = message_new(means[step]);
        json_set_str(message, "why", step == 0 ? why : NULL);
        client_send(r->client, message);
    } else if (r->kernel > 0)
        kill(r->kernel, SIGKILL); // its guard kills the rest
    loop_timer_start(r->patience, PATIENCE_MS, 0);
}

static void on_signal(void *arg, int signum)
{
    struct run *r = arg;
    if (r->form == FORM_PLAIN) {
        printer_clear(r->printer);
        bar_clear(r->bar);
        static const char *const said[] = {
            "interrupting; once more stops the kernel", "stopping", "killing it"};
        say(stderr, "firesteel: %s\n", said[r->interrupts < 2 ? r->interrupts : 2]);
    }
    interrupt(r, NULL);
}

static void on_patience(void *arg)
{
    interrupt(arg, NULL);
}

static void on_welcome(struct run *r, const cJSON *message)
{
    r->welcome = true;
    r->kernel = (pid_t)json_int_or(message, "pid", 0);
    const char *file = json_str_or(message, "journal", "");
    size_t n = strlen(file);
    r->spool_dir = mem_strndup(file, n > 6 ? n - 6 : n); // without ".jsonl"
    printer_spools(r->printer, r->spool_dir);
    if (!r->detach)
        return;
    const char *run = json_str_or(message, "run", "");
    AUTO_JSON *json = cJSON_CreateObject();
    json_set_str(json, "run", run);
    if (r->form == FORM_JSON)
        say_json(json, 0);
    else
        say(stdout, "%s\n", run);
    loop_stop(r->loop);
}

// Long work is no part of the run. As JSON it is printed once a second, and its end.
static void on_progress(struct run *r, const cJSON *message)
{
    size_t n;
    const char *line = client_line(r->client, &n);
    int64_t id = json_int_or(message, "id", 0), now = clock_mono();
    bool ended = json_bool_or(message, "ended", false);
    if (r->form == FORM_JSON) {
        if (ended || now - r->told_working >= CLOCK_SEC) {
            say_json_line(line, n);
            r->told_working = ended ? r->told_working : now;
        }
        return;
    }
    if (ended) {
        bar_end(r->bar, id);
        return;
    }
    printer_clear(r->printer);
    bar_show(r->bar, id,
        &(struct bar_work){json_str_or(message, "what", ""), json_str_or(message, "text", ""),
            (double)json_int_or(message, "done", 0), (double)json_int_or(message, "total", 0),
            json_get(message, "elapsed") ? json_get(message, "elapsed")->valuedouble : 0});
}

static void on_event(void *arg, message_type type, const cJSON *message)
{
    struct run *r = arg;
    if (type == MESSAGE_welcome) {
        on_welcome(r, message);
        return;
    }
    if (type == MESSAGE_progress) {
        on_progress(r, message);
        return;
    }
    if (!json_get(message, "seq") || r->detach)
        return; // a reply to us, not an event of the run
    fold_event(r->fold, message, NULL);
    size_t n;
    const char *line = client_line(r->client, &n);
    if (r->form == FORM_JSON)
        say_json_line(line, n);
    else if (r->form == FORM_PLAIN) {
        bar_clear(r->bar);
        printer_event(r->printer, message);
    }
    r->ended = fold_state(r->fold) != RUN_RUNNING; // a resumed run ends again
    r->unsaved |= type == MESSAGE_state && r->reports;
    if (type == MESSAGE_end) {
        runs_entry_free(r->entry);
        r->entry = runs_entry_new(r->fold); // the kernel is about to end
    }
    bool tells = type == MESSAGE_state || type == MESSAGE_kernel;
    int64_t limit = tells ? json_int_or(message, "limit", 0) : 0;
    if (limit > 0 && r->interrupts == 1) // a clean-up runs, and will end by itself
        loop_timer_start(r->patience, (uint64_t)limit + PATIENCE_MS, 0);
}

// Reports as they are now; a tenth of the time at most goes into it.
static void save_reports(struct run *r)
{
    int64_t began = clock_mono();
    if (!r->unsaved || r->saved || !r->spool_dir || r->ended)
        return;
    r->unsaved = false;
    r->saved = true;
    reports_save(r->reports, r->fold, r->spool_dir);
    loop_timer_start(r->saver, (uint64_t)((clock_mono() - began) / CLOCK_MS * 10 + 1), 0);
}

static void on_saver(void *arg)
{
    struct run *r = arg;
    r->saved = false;
    save_reports(r);
}

// stdio does not keep the error of a write; a pipe is recognised by itself.
static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP));
}

static void on_paused(void *arg)
{
    struct run *r = arg;
    int why = fflush(stdout) ? errno : 0;
    save_reports(r);
    if (!ferror(stdout) || r->interrupts > 0)
        return;
    if (why == EPIPE || reader_is_gone()) { // `| head` has all it wants
        interrupt(r, NULL);
        return;
    }
    AUTO_FREE char *words =
        str_fmt("cannot write to standard output%s%s", why ? ": " : "", why ? strerror(why) : "");
    r->gave_up = true;
    interrupt(r, words);
}

static void on_closed(void *arg, const err *reason)
{
    struct run *r = arg;
    on_paused(r);
    r->lost = *reason;
    loop_stop(r->loop);
}

static const struct client_ops client_callbacks = {
    .event = on_event, .paused = on_paused, .closed = on_closed};

static bool listen_to_signals(struct run *r, err *e)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction hang_up;
    sigaction(SIGHUP, NULL, &hang_up);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        // as nohup expects
        if ((signals[i] != SIGHUP || hang_up.sa_handler != SIG_IGN) &&
            !(r->signals[i] = loop_signal_new(r->loop, signals[i], on_signal, r, e)))
            return false;
    return true;
}

void run_close(struct run *r)
{
    client_free(r->client);
    for (size_t i = 0; i < ARRAY_LEN(r->signals); i++)
        loop_signal_free(r->signals[i]);
    loop_timer_free(r->patience);
    loop_timer_free(r->saver);
    if (r->loop)
        loop_free(r->loop);
    printer_free(r->printer);
    bar_free(r->bar);
    fold_free(r->fold);
    notebook_free(r->checked);
    free(r->spool_dir);
    if (r->said >= 0)
        close(r->said);
}

// Waits for the guard, which ends when no process of the kernel is left.
static int wait_for(pid_t guard)
{
    int status;
    while (waitpid(guard, &status, 0) < 0)
        if (errno != EINTR)
            return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int write_reports(struct run *r)
{
    err e = {0};
    return reports_write(r->reports, r->fold, r->spool_dir, &e) < 0 ? cli_error(r->cli, &e) : 0;
}

// A detached kernel does not have our standard error.
static void tell_said(const struct run *r)
{
    char text[4096];
    ssize_t n = r->said >= 0 ? pread(r->said, text, sizeof text, 0) : 0;
    say(stderr, "%.*s", n > 0 ? (int)n : 0, text);
}

// " (signal 9, Killed)": for the guard's exit code.
static void add_signal(int code, buf *out)
{
    if (code <= 128 || code >= 128 + NSIG)
        return;
    buf_fmt(out, " (signal %d, %s)", code - 128, strsignal(code - 128));
    if (code - 128 == SIGKILL)
        buf_str(out, ": somebody killed it, or the system did for want of memory");
}

static int finish(struct run *r, int code)
{
    bar_clear(r->bar);
    if (!r->welcome && code > 0 && code < 128) { // it never began: the kernel itself has printed
                                                 // why
        tell_said(r);
        return code;
    }
    if (r->form == FORM_PLAIN && r->ended) {
        print_summary(r->cli, r->fold);
    } else if (r->form == FORM_JUNIT) {
        AUTO_BUF xml = {0};
        junit_print(r->fold, r->spool_dir, &xml);
        say(stdout, "%s", buf_cstr(&xml));
    } else if (r->ended && code && fold_message(r->fold)) {
        say(stderr, "firesteel: %s\n", fold_message(r->fold));
    }
    if (!r->ended) {
        err e = {0};
        AUTO_BUF how = {0};
        add_signal(code, &how);
        err_set(&e, ERR_FAILED, "the kernel ended before the run did%s%s%s", buf_cstr(&how),
            r->lost.code ? ": " : "", r->lost.text);
        if (fold_run(r->fold))
            err_set(&e, ERR_FAILED, "%s\n`firesteel show %s` shows what was journaled", e.text,
                fold_run(r->fold));
        cli_error(r->cli, &e);
        code = code ? code : 1;
        if (r->interrupts && !r->gave_up)
            code = 130;
        fold_abandon(r->fold);
    }
    int reported = write_reports(r);
    bool moved =
        r->again && r->ended &&
        again_compare(r->again, r->fold, r->spool_dir, r->form == FORM_PLAIN ? stdout : stderr);
    return code ? code : reported ? reported : moved ? MOVED : 0;
}

// The fold to start with: it contains the earlier part of a resumed run, which is not printed
// again.
static fold *fold_before(const struct run *r, const struct launch *launch, err *e)
{
    if (!launch->resume || r->form == FORM_JSON) // the JSON form prints the whole journal
        return fold_new();
    AUTO_FREE char *path = journal_file(launch->cwd, launch->resume);
    return fold_file(path, NULL, e);
}

int run_conduct(struct run *r, const struct launch *launch, err *e)
{
    int fd;
    signal(SIGPIPE, SIG_IGN); // a reader that goes away interrupts the run; it must not kill us
    r->fold = fold_before(r, launch, e);
    if (!r->fold)
        return cli_error(r->cli, e);
    if (r->form == FORM_PLAIN && !r->reports && !r->again)
        fold_keep_rows(r->fold, PRINTED_ROWS);
    if (r->checked)
        fold_expect(r->fold, STEAL(r->checked));
    r->printer = printer_new(r->cli, r->fold);
    r->bar = bar_new(r->cli);
    r->loop = loop_new(e);
    if (!r->loop || !listen_to_signals(r, e) || launch_kernel(launch, &r->guard, &fd, e) < 0)
        return cli_error(r->cli, e);
    r->patience = loop_timer_new(r->loop, on_patience, r);
    r->saver = loop_timer_new(r->loop, on_saver, r);
    r->client = client_from_fd(r->loop, fd, &client_callbacks, r, e);
    if (!r->client) {
        kill(r->guard, SIGTERM);
        return cli_error(r->cli, e);
    }
    client_hello(r->client, (int64_t)fold_seq(r->fold), !r->detach, false, NULL);
    loop_run(r->loop);
    if (r->detach && r->welcome)
        return 0;
    int code = finish(r, wait_for(r->guard));
    runs_heard(STEAL(r->entry), launch->cwd);
    return code;
}
