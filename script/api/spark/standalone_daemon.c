// SPDX-License-Identifier: MIT
// A process of a standalone cluster: started, listened to until it says that it works, and told
// about when it ends by itself.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/spark/standalone_private.h"

#include <string.h>

enum { LINE_MOST = 4096, DEATH_MOST = 400 };
#define START_IN (120 * CLOCK_SEC)

static void finish(struct daemon *d)
{
    loop_pending *pending = STEAL(d->pending);
    if (pending)
        loop_call_finish(pending);
}

static void take_line(struct daemon *d)
{
    const char *line = buf_cstr(&d->line);
    if (d->until && !d->said && strstr(line, d->until)) {
        d->said = mem_strdup(line);
        finish(d);
    }
    if (d->words.len > LINE_MOST)
        buf_clear(&d->words);
    buf_fmt(&d->words, "%s\n", line);
    buf_clear(&d->line);
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct daemon *d = arg;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == '\n')
            take_line(d);
        else if (d->line.len < LINE_MOST)
            buf_char(&d->line, bytes[i]);
}

cJSON *standalone_picture(struct cluster *s, const char *more)
{
    cJSON *data = cJSON_CreateObject();
    size_t alive = 0;
    pthread_mutex_lock(&s->all->lock);
    for (size_t i = 1; i < s->n; i++)
        alive += !s->daemons[i]->ended;
    pthread_mutex_unlock(&s->all->lock);
    AUTO_FREE char *of = alive < s->n - 1 ? str_fmt(" of %zu", s->n - 1) : NULL;
    AUTO_FREE char *text =
        str_fmt("%s: %zu%s worker%s%s", s->master, alive, of ? of : "", s->n == 2 ? "" : "s", more);
    json_set_str(data, "text/plain", text);
    return data;
}

// Below the cell that has started it, at once.
static void tell_death(struct cluster *s, const struct daemon *d)
{
    AUTO_FREE char *words = str_last(buf_cstr(&d->words), d->words.len, DEATH_MOST);
    AUTO_FREE char *who = d->i ? str_fmt("worker %zu", d->i) : mem_strdup("the master");
    AUTO_FREE char *more = str_fmt("; %s has died%s%s", who, d->words.len ? ":\n" : "", words);
    size_t end = strlen(more);
    while (end && more[end - 1] == '\n')
        more[--end] = '\0';
    display_replace(s->shown, standalone_picture(s, more));
}

static void on_exited(void *arg, int code, int signum)
{
    struct daemon *d = arg;
    pthread_mutex_lock(&d->of->all->lock);
    d->ended = true;
    pthread_mutex_unlock(&d->of->all->lock);
    if (d->of->shown)
        tell_death(d->of, d);
    finish(d);
}

static const struct child_ops daemon_ops = {.output = on_output, .exited = on_exited};

static void start(loop_pending *pending, void *arg)
{
    struct starting *s = arg;
    struct child_spec spec = {.argv = s->argv, .env = s->env, .cwd = s->cwd, .merge_output = true};
    s->daemon->pending = pending;
    s->daemon->child = child_spawn(s->loop, &spec, &daemon_ops, s->daemon, &s->error);
    if (!s->daemon->child)
        finish(s->daemon);
}

static void cancel(loop_pending *pending, void *arg)
{
    struct starting *s = arg;
    finish(s->daemon);
}

static const struct loop_call_ops start_ops = {.start = start, .cancel = cancel};

void standalone_daemon_free(struct daemon *d)
{
    child_free(d->child);
    buf_done(&d->line);
    buf_done(&d->words);
    free(d->said);
    free(d);
}

int standalone_daemon(
    call *c, struct cluster *s, struct starting *how, const char *until, const char *what, err *e)
{
    struct daemon *d = mem_alloc(sizeof *d);
    d->until = until;
    d->of = s;
    d->i = s->n;
    s->daemons = mem_resize(s->daemons, s->n + 1, sizeof *s->daemons);
    s->daemons[s->n++] = d;
    how->daemon = d;
    how->loop = call_loop(c);
    int64_t deadline = clock_add(clock_mono(), START_IN);
    if (loop_call(how->loop, call_canceller(c), &start_ops, how, deadline, e) < 0)
        return err_wrap(e, "spark.standalone: the %s does not start", what);
    if (how->error.code)
        return err_set(e, how->error.code, "spark.standalone: %s", how->error.text);
    if (!d->said)
        return err_set(e, ERR_FAILED, "spark.standalone: the %s has ended: %s", what,
            d->words.len ? str_short(buf_cstr(&d->words), 600).text : "it said nothing");
    return 0;
}
