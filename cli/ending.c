// SPDX-License-Identifier: MIT
#include "cli/ending.h"

#include "base/clock.h"
#include "base/loop/loop.h"
#include "script/protocol/client.h"

#include <errno.h>
#include <signal.h>

enum { PATIENCE_MS = 15000 };

struct stopping {
    loop *loop;
    bool unsaved; // unsaved text is only in the journal
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

static int ask_to_stop(const struct kernel *k, struct stopping *s, err *e)
{
    loop *l = s->loop = loop_new(e);
    client *c = l ? client_connect(l, k->socket, &callbacks, s, e) : NULL;
    if (c) {
        loop_timer *timer = loop_timer_new(l, on_timeout, s);
        client_hello(c, -1, false, false, NULL);
        client_send(c, message_new(MESSAGE_shutdown));
        loop_timer_start(timer, PATIENCE_MS, 0);
        loop_run(l);
        client_free(c);
        loop_timer_free(timer);
    }
    if (l)
        loop_free(l);
    return c ? 0 : -1;
}

int ending_stop(const struct kernel *k, bool force, bool *unsaved, err *e)
{
    struct stopping s = {.unsaved = force && k->unsaved};
    if (force || k->refused)
        kill(k->pid, force ? SIGKILL : SIGTERM); // its guard kills the rest
    else if (ask_to_stop(k, &s, e) < 0)
        return -1;
    *unsaved = s.unsaved;
    if (wait_until_gone(k->pid, k->refused ? PATIENCE_MS : 5000))
        return 0;
    return err_set(e, ERR_TIMEOUT,
        "%s (process %d) does not end; `firesteel stop --force %s` kills it", k->run, k->pid,
        k->run);
}
