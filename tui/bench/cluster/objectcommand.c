// SPDX-License-Identifier: MIT
#include "tui/bench/cluster/objectcommand.h"

#include "tui/bench/bench_private.h"

static void on_allowed(bench *b, void *arg, const cJSON *reply)
{
    err e = {0};
    const cJSON *what = json_get(reply, "result");
    const char *program = cJSON_GetStringValue(cJSON_GetArrayItem(json_get(what, "command"), 0));
    if (!json_bool_or(reply, "ok", false) || !program) {
        bench_complain(
            b, "%s", json_str_or(json_get(reply, "error"), "message", "the kernel has gone"));
        return;
    }
    bench_hush(b);
    if (!b->ops->command)
        bench_complain(b, "there is no terminal for a command here");
    else if (b->ops->command(b->arg, what, &e) != 0)
        bench_complain(b, "%s", e.text);
    else
        bench_say(b, "%s has ended", program);
}

void object_command(bench *b, int64_t display, const char *row, const cJSON *words)
{
    if (!remote_ready(b, false))
        return;
    cJSON *m = message_new(MESSAGE_act), *with = json_object_at(m, "with");
    json_set_int(m, "display", display);
    json_set_str(m, "action", "command");
    json_set_str(m, "row", row);
    json_set(with, "command", cJSON_Duplicate(words, true));
    bench_say(b, "a command …");
    remote_ask(b, m, on_allowed, NULL);
}
