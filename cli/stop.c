// SPDX-License-Identifier: MIT
// firesteel stop: ends a kernel in order, and returns when the kernel is gone.
#include "base/clock.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/kernels.h"
#include "cli/options.h"
#include "cli/say.h"
#include "script/protocol/client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

enum { PATIENCE_MS = 15000 };

struct stopping {
    loop *loop;
    bool unsaved; // what was typed is only in the journal
};

static void on_event(void *arg, message_type type, const cJSON *message)
{
    struct stopping *s = arg;
    if (type == MESSAGE_end)
        s->unsaved = json_bool_or(message, "unsaved", false);
}

static void on_closed(void *arg, const err *reason)
{
    loop_stop(((struct stopping *)arg)->loop);
}

static void on_timeout(void *arg)
{
    loop_stop(((struct stopping *)arg)->loop);
}

static const struct client_ops callbacks = {.event = on_event, .closed = on_closed};

static bool is_gone(int pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

static bool wait_until_gone(int pid, int64_t ms)
{
    canceller *c = canceller_new();
    for (int64_t waited = 0; waited < ms && !is_gone(pid); waited += 20)
        canceller_sleep(c, 20 * CLOCK_MS, NULL);
    canceller_free(c);
    return is_gone(pid);
}

static int stop_kernel(struct cli *cli, const struct kernel *k, bool force)
{
    err e = {0};
    loop *l = force ? NULL : loop_new(&e);
    struct stopping s = {l, force && k->unsaved};
    client *c = l ? client_connect(l, k->socket, &callbacks, &s, &e) : NULL;
    if (c) {
        loop_timer *timer = loop_timer_new(l, on_timeout, &s);
        client_hello(c, -1, false, false);
        client_send(c, message_new(MESSAGE_shutdown));
        loop_timer_start(timer, PATIENCE_MS, 0);
        loop_run(l);
        client_free(c);
        loop_timer_free(timer);
    }
    if (l)
        loop_free(l);
    if (force)
        kill(k->pid, SIGKILL); // its guard ends the rest
    else if (e.code)
        return cli_error(cli, &e);
    if (wait_until_gone(k->pid, 5000)) {
        say(stdout, "%s stopped%s\n", k->run,
            s.unsaved ? "; its unsaved changes are back when the notebook is opened again" : "");
        return 0;
    }
    err_set(&e, ERR_TIMEOUT, "%s (process %d) does not end; `firesteel stop --force %s` kills it",
        k->run, k->pid, k->run);
    return cli_error(cli, &e);
}

static int stop(struct cli *cli, const char *name, bool force)
{
    struct kernels kernels;
    err e = {0};
    if (kernels_find(cli, &kernels, &e) < 0)
        return cli_error(cli, &e);
    const struct kernel *k = kernels_get(&kernels, name, &e);
    int code = k ? stop_kernel(cli, k, force) : cli_error(cli, &e);
    kernels_done(&kernels);
    return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
    bool force = false;
    const struct option options[] = {
        {"force", 0, NULL, "kill it instead of asking it to stop", .given = &force},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &stop_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest && strv_len(rest) > 1)
            code = cli_usage(cli, &stop_verb, "one kernel at a time");
        else
            code = stop(cli, rest ? rest[0] : NULL, force);
    }
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb stop_verb = {
    .name = "stop",
    .summary = "stop a kernel and all that it started",
    .usage =
        "[RUN] [--force]\n\nRUN is a name from `firesteel ls`, its beginning or end; without it, "
        "the only one.",
    .run = run,
};
