// SPDX-License-Identifier: MIT
#include "tui/bench/cluster/objectlogs.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/views.h"

#include <string.h>

struct reading {
    cJSON *wish;
    const view *from; // the view on top then; only compared
};

static void on_open(bench *b, void *arg, const cJSON *reply)
{
    struct reading *r = arg;
    int64_t display = json_int_or(reply, "display", 0);
    const char *why = json_str_or(json_get(reply, "error"), "message", "the kernel has gone");
    if (!json_bool_or(reply, "ok", false) || !display) {
        bench_complain(b, "%s", why);
    } else if (b->top != r->from) {
        remote_drop(b, display);
    } else {
        bench_hush(b);
        page_push_log(b, display, STEAL(r->wish));
    }
    cJSON_Delete(r->wish);
    free(r);
}

void object_logs(bench *b, cJSON *wish)
{
    if (!remote_ready(b, false)) {
        cJSON_Delete(wish);
        return;
    }
    cJSON *m = message_new(MESSAGE_act);
    json_set_int(m, "display", json_int_or(wish, "display", 0));
    json_set_str(m, "action", "logs");
    json_set(m, "rows", cJSON_Duplicate(json_get(wish, "rows"), true));
    json_set(m, "with", cJSON_Duplicate(json_get(wish, "with"), true));
    struct reading *r = mem_alloc(sizeof *r);
    *r = (struct reading){wish, b->top};
    bench_say(b, "logs …");
    remote_ask(b, m, on_open, r);
}

// Options with a value, and those that are switches.
static const struct {
    const char *brief, *name, *field;
    bool is_switch;
} options[] = {
    {NULL, "--since", "since", false},
    {NULL, "--tail", "tail", false},
    {"-c", "--container", "container", false},
    {"-p", "--previous", "previous", true},
    {NULL, "--timestamps", "timestamps", true},
};

static void set_option(cJSON *with, size_t i, const char *value)
{
    int64_t number;
    if (options[i].is_switch)
        json_set_bool(with, options[i].field, !str_eq(value, "false"));
    else if (str_eq(options[i].field, "tail") && str_to_int(value, &number))
        json_set_int(with, "tail", number);
    else
        json_set_str(with, options[i].field, value);
}

// Returns how many words the option has; 0: there is no such option, or its value is missing.
static size_t take_option(char *const *words, cJSON *with)
{
    size_t n = strcspn(words[0], "=");
    const char *value = words[0][n] ? words[0] + n + 1 : NULL;
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        bool is = (strlen(options[i].name) == n && memcmp(options[i].name, words[0], n) == 0) ||
                  (!value && str_eq(options[i].brief, words[0]));
        if (!is)
            continue;
        if (options[i].is_switch || value) {
            set_option(with, i, value ? value : "true");
            return 1;
        }
        if (words[1])
            set_option(with, i, words[1]);
        return words[1] ? 2 : 0;
    }
    return 0;
}

int object_logs_options(bench *b, cJSON *wish, const char *words)
{
    cJSON *with = json_object_at(wish, "with");
    AUTO_FREE char *line = str_trim(words, strlen(words));
    char **all = strv_split(line, ' ');
    size_t n = 1;
    for (size_t i = 0; all[i] && n; i += n)
        if (*all[i] && !(n = take_option(all + i, with)))
            bench_complain(b,
                "%s: no such option, or its value is missing (--since, --tail, -c, --previous, "
                "--timestamps)",
                all[i]);
        else if (!*all[i])
            n = 1;
    if (n && json_get(with, "tail") && !cJSON_IsNumber(json_get(with, "tail"))) {
        bench_complain(b, "--tail is a number of lines, and not \"%s\"", json_str(with, "tail"));
        n = 0;
    }
    strv_free(all);
    return n ? 0 : -1;
}

void object_logs_say(const cJSON *wish, buf *out)
{
    const cJSON *with = json_get(wish, "with");
    const char *since = json_str(with, "since");
    if (since)
        buf_fmt(out, ", since %s", since);
    if (json_int_or(with, "tail", -1) >= 0)
        buf_fmt(out, ", the last %lld lines", (long long)json_int_or(with, "tail", -1));
    if (json_bool_or(with, "previous", false))
        buf_str(out, ", of the container before it was started again");
    if (out->len)
        buf_consume(out, 2);
}
