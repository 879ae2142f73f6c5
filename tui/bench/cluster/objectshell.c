// SPDX-License-Identifier: MIT
#include "tui/bench/cluster/objectshell.h"

#include "base/mem.h"
#include "tui/bench/bench_private.h"

struct asked {
    void (*choose)(bench *b, const cJSON *reply);
};

static void on_allowed(bench *b, void *arg, const cJSON *reply)
{
    err e = {0};
    AUTO_FREE struct asked *asked = arg;
    if (json_get(reply, "display")) {
        asked->choose(b, reply);
        return;
    }
    const cJSON *where = json_get(reply, "result");
    if (!json_bool_or(reply, "ok", false) || !json_str(where, "pod")) {
        bench_complain(
            b, "%s", json_str_or(json_get(reply, "error"), "message", "the kernel has gone"));
        return;
    }
    bench_hush(b);
    if (!b->ops->shell)
        bench_complain(b, "there is no terminal for a shell here");
    else if (b->ops->shell(b->arg, where, &e) != 0)
        bench_complain(b, "no shell: %s", e.text);
    else
        bench_say(b, "the shell in %s has ended", json_str(where, "pod"));
}

void object_shell(
    bench *b, int64_t display, const char *row, void (*choose)(bench *b, const cJSON *reply))
{
    if (!remote_ready(b, false))
        return;
    struct asked *asked = mem_alloc(sizeof *asked);
    asked->choose = choose;
    cJSON *m = message_new(MESSAGE_act);
    json_set_int(m, "display", display);
    json_set_str(m, "action", "shell");
    json_set_str(m, "row", row);
    bench_say(b, "a shell …");
    remote_ask(b, m, on_allowed, asked);
}
