// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "k8s/client/connect/request.h"
#include "k8s/client/logs/tail.h"

#include <string.h>

// A thread that reads everything.
struct collector {
    client *client;
    const struct tail_spec *spec;
    const struct tail_ops *ops;
    void *arg;
    tail *tail;
    loop_pending *call;
    err error;
};

static void pass_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct collector *c = arg;
    c->ops->line(c->arg, kind, text, n);
}

static void pass_told(void *arg)
{
    struct collector *c = arg;
    if (c->ops->told)
        c->ops->told(c->arg);
}

static void pass_note(void *arg, const char *text)
{
    struct collector *c = arg;
    if (c->ops->note)
        c->ops->note(c->arg, text);
}

static void collected(void *arg, const err *e)
{
    struct collector *c = arg;
    c->error = *e;
    loop_call_finish(c->call);
}

static const struct tail_ops collector_ops = {
    .line = pass_line, .told = pass_told, .note = pass_note, .done = collected};

static void collector_start(loop_pending *call, void *arg)
{
    struct collector *c = arg;
    c->call = call;
    c->tail = tail_open(c->client, c->spec, &collector_ops, c, &c->error);
    if (!c->tail)
        loop_call_finish(call);
}

static void collector_cancel(loop_pending *call, void *arg)
{
    struct collector *c = arg;
    tail_close(c->tail);
    loop_call_finish(call);
}

static const struct loop_call_ops call_ops = {.start = collector_start, .cancel = collector_cancel};

int tail_read_to(client *from, const struct patience *p, const struct tail_spec *spec,
    const struct tail_ops *ops, void *arg, err *e)
{
    struct tail_spec once = *spec;
    once.follow = false;
    struct collector c = {.client = from, .spec = &once, .ops = ops, .arg = arg};
    if (loop_call(client_loop(from), p->canceller, &call_ops, &c, p->deadline, e) != 0)
        return err_wrap(e, "read logs in namespace %s", spec->ns);
    return c.error.code == ERR_NONE ? 0 : err_set(e, c.error.code, "%s", c.error.text);
}

struct keeper {
    struct tail_text *out;
    size_t limit;
};

static void keep(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct keeper *k = arg;
    buf *all = &k->out->text;
    buf_add(all, text, n);
    buf_char(all, '\n');
    if (all->len < 2 * k->limit)
        return;
    size_t cut = all->len - k->limit;
    const char *end = memchr(all->data + cut - 1, '\n', all->len - cut + 1);
    cut = (size_t)(end + 1 - all->data);
    for (const char *p = all->data; (p = memchr(p, '\n', (size_t)(all->data + cut - p))); p++)
        k->out->left_out++;
    buf_consume(all, cut);
}

static void keep_note(void *arg, const char *text)
{
    struct keeper *k = arg;
    k->out->note = mem_strdup(text);
}

static const struct tail_ops keeper_ops = {.line = keep, .note = keep_note};

void tail_text_done(struct tail_text *t)
{
    buf_done(&t->text);
    free(t->note);
    *t = (struct tail_text){0};
}

int tail_read(client *c, const struct patience *p, const struct tail_spec *spec, size_t limit,
    struct tail_text *out, err *e)
{
    struct keeper k = {.out = out, .limit = limit};
    *out = (struct tail_text){0};
    if (tail_read_to(c, p, spec, &keeper_ops, &k, e) == 0)
        return 0;
    tail_text_done(out);
    return -1;
}
