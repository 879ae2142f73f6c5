// SPDX-License-Identifier: MIT
#include "cli/jupyter/serve.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/jupyter/serve_private.h"
#include "cli/say.h"
#include "script/journal/file/writer.h"
#include "script/protocol/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WATCH_MS = 1000,    // between two looks whether Jupyter is there
    PATIENCE_MS = 3000, // for the end of the session, then again for the sockets
};

// The session.

static void on_welcome(struct serve *s, const cJSON *message)
{
    const char *file = json_str_or(message, "journal", "");
    size_t n = strlen(file);
    s->kernel = (pid_t)json_int_or(message, "pid", 0);
    s->run = mem_strdup(json_str_or(message, "run", ""));
    s->spool_dir = mem_strndup(file, n > 6 ? n - 6 : n); // without ".jsonl"
    s->shown = shown_new(s->peer, s->fold, s->run, s->spool_dir);
    requests_go_on(s);
}

static void on_event(void *arg, message_type type, const cJSON *message)
{
    struct serve *s = arg;
    if (type == MESSAGE_welcome)
        on_welcome(s, message);
    if (type == MESSAGE_progress && s->shown)
        shown_event(s->shown, type, message);
    if (!json_get(message, "seq") || !s->shown)
        return;
    fold_event(s->fold, message, NULL);
    shown_event(s->shown, type, message);
    if (type == MESSAGE_ask || type == MESSAGE_answered)
        questions_event(s, type, message);
    else
        cells_event(s, type, message);
}

static void on_closed(void *arg, const err *reason)
{
    struct serve *s = arg;
    client *c = STEAL(s->client);
    cells_lost(s);
    client_free(c);
    if (!s->ending)
        say(stderr, "firesteel: firesteel-kernel has ended%s%s\n", reason->code ? ": " : "",
            reason->text);
    s->code = s->ending ? s->code : 1;
    s->ending = true;
    loop_timer_start(s->patience, PATIENCE_MS, 0);
    peer_finish(s->peer);
}

static int launch(struct serve *s, err *e)
{
    static const struct client_ops callbacks = {.event = on_event, .closed = on_closed};
    const struct serve_options *o = s->options;
    int fd;
    bool moved;
    // JupyterLab's server says which notebook it is for.
    const char *file = cli_getenv(s->cli, "JPY_SESSION_NAME");
    AUTO_FREE char *program = cli_program(s->cli, "firesteel-kernel", e);
    AUTO_FREE char *sockets = program ? cli_runtime_dir(s->cli, e) : NULL;
    AUTO_FREE char *images = sockets ? cli_images_dir(s->cli, e) : NULL;
    AUTO_FREE char *cwd = images ? cli_work_folder(s->cli, NULL, "jupyter.lua", &moved, e) : NULL;
    if (!cwd)
        return -1;
    AUTO_FREE char *name = cli_notebook_name(file ? file : "jupyter.lua");
    AUTO_FREE char *socket = NULL;
    AUTO_FREE char *run = cli_new_run(sockets, cwd, name, &socket);
    AUTO_FREE char *data = cli_data_dir(s->cli);
    AUTO_FREE char *document = str_fmt("%s.lua", socket); // is never written
    struct launch l = {.program = program,
        .notebook = document,
        .name = name,
        .cwd = cwd,
        .run = run,
        .socket = socket,
        .memory = o->memory,
        .bound = true,
        .allow = o->allow,
        .context = o->context,
        .namespace_ = o->namespace_,
        .kubeconfig = o->kubeconfig,
        .registry = o->registry,
        .images = images,
        .data = data,
        .output = STDERR_FILENO,
        .protect = (const char *const *)o->protect,
        .read_only = o->read_only,
        .sandbox = o->sandbox,
        .processes = o->processes};
    if (launch_kernel(&l, &s->guard, &fd, e) < 0)
        return -1;
    s->client = client_from_fd(s->loop, fd, &callbacks, s, e);
    if (!s->client)
        return -1;
    client_hello(s->client, 0, true, true, NULL);
    return 0;
}

// The end.

void serve_end(struct serve *s, int code)
{
    if (s->ending)
        return;
    s->ending = true;
    s->code = code;
    loop_timer_start(s->patience, PATIENCE_MS, 0);
    cJSON *message = message_new(MESSAGE_shutdown);
    json_set_bool(message, "discard", true);
    client_send(s->client, message);
}

static void on_patience(void *arg)
{
    struct serve *s = arg;
    if (!s->client) {
        loop_stop(s->loop);
        return;
    }
    if (s->kernel > 0)
        kill(s->kernel, SIGKILL); // its guard kills the rest
    client_free(STEAL(s->client));
    loop_timer_start(s->patience, PATIENCE_MS, 0);
    peer_finish(s->peer);
}

static void on_peer_ended(void *arg, const char *why)
{
    struct serve *s = arg;
    peer *p = STEAL(s->peer);
    if (!s->ending) {
        say(stderr, "firesteel: %s\n", why);
        s->code = 1;
    }
    s->ending = true;
    loop_stop(s->loop);
    peer_free(p);
}

static void on_signal(void *arg, int signum)
{
    struct serve *s = arg;
    if (signum != SIGINT)
        serve_end(s, 0);
    else if (s->client)
        client_send(s->client, message_new(MESSAGE_interrupt));
}

// Jupyter's server was killed: nobody will ever say that it is enough.
static void on_watch(void *arg)
{
    struct serve *s = arg;
    if (getppid() != s->parent)
        serve_end(s, 0);
}

static void on_request(void *arg, struct request *r)
{
    struct serve *s = arg;
    if (!s->ending) {
        requests_take(s, r);
        return;
    }
    request_free(r);
}

// Life.

static int begin(struct serve *s, err *e)
{
    static const struct peer_ops callbacks = {.request = on_request, .ended = on_peer_ended};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    AUTO_FREE char *program = cli_program(s->cli, "firesteel-jupyter", e);
    if (!program)
        return err_set(
            e, ERR_NOT_FOUND, "firesteel-jupyter is not here: firesteel was built without libzmq");
    s->loop = loop_new(e);
    for (size_t i = 0; s->loop && i < ARRAY_LEN(signals); i++)
        if (!(s->signals[i] = loop_signal_new(s->loop, signals[i], on_signal, s, e)))
            return -1;
    if (!s->loop)
        return -1;
    s->patience = loop_timer_new(s->loop, on_patience, s);
    s->peer = peer_start(s->loop, program, s->options->connection, &callbacks, s, e);
    if (!s->peer || launch(s, e) < 0)
        return -1;
    if (cli_getenv(s->cli, "JPY_PARENT_PID")) {
        s->parent = getppid();
        s->watch = loop_timer_new(s->loop, on_watch, s);
        loop_timer_start(s->watch, WATCH_MS, WATCH_MS);
    }
    return 0;
}

static void done(struct serve *s)
{
    client_free(s->client);
    peer_free(s->peer);
    for (size_t i = 0; i < ARRAY_LEN(s->signals); i++)
        loop_signal_free(s->signals[i]);
    loop_timer_free(s->watch);
    loop_timer_free(s->patience);
    if (s->loop)
        loop_free(s->loop);
    for (struct request *r; (r = s->queue);) {
        s->queue = r->next;
        request_free(r);
    }
    request_free(s->current);
    shown_free(s->shown);
    fold_free(s->fold);
    cJSON_Delete(s->history);
    cJSON_Delete(s->speakers);
    cJSON_Delete(s->asks);
    cJSON_Delete(s->job.error);
    cJSON_Delete(s->job.values);
    free(s->job.cell);
    free(s->last);
    free(s->run);
    free(s->spool_dir);
}

int serve_jupyter(struct cli *cli, const struct serve_options *o)
{
    struct serve s = {.cli = cli,
        .options = o,
        .fold = fold_new(),
        .history = cJSON_CreateArray(),
        .speakers = cJSON_CreateObject(),
        .asks = cJSON_CreateArray()};
    err e = {0};
    signal(SIGPIPE, SIG_IGN);
    if (begin(&s, &e) == 0)
        loop_run(s.loop);
    int code = e.code ? cli_error(cli, &e) : s.code;
    done(&s);
    while (s.guard > 0 && waitpid(s.guard, NULL, 0) < 0 && errno == EINTR)
        continue;
    return code;
}
