// SPDX-License-Identifier: MIT
#include "cli/kernel/podverbs.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/bar.h"
#include "cli/kernel/acts.h"
#include "cli/kernel/link.h"
#include "cli/say.h"
#include "k8s/client/connect/forward.h"
#include "script/api/pods/copying.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { PORTS_MOST = 64 };
static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};

int podverb_find(client *c, const char *name, const char *container, struct pod_choice *out, err *e)
{
    const char *slash = strchr(name, '/');
    AUTO_FREE char *kind = slash ? mem_strndup(name, (size_t)(slash - name)) : mem_strdup("pods");
    AUTO_BUF note = {0};
    struct target t = {.client = c,
        .name = slash ? slash + 1 : name,
        .patience.retry_ns = -1}; // a person tries again sooner
    t.ns = client_config(c)->namespace_;
    t.resource = client_resource(c, &t.patience, kind, e);
    if (!t.resource)
        return -1;
    cJSON *object = client_get(c, &t.patience, t.resource, t.ns, t.name, e);
    if (k8s_pod_choose(&t, object, container, &note, out, e) != 0)
        return -1;
    say(stderr, "%s", buf_cstr(&note));
    return 0;
}

static int print(const err *e)
{
    say(stderr, "firesteel: %s\n", e->text);
    return err_exit_code(e->code);
}

// cp.

// A path in a container, as kubectl writes it.
struct there {
    char *ns, *pod; // ns NULL: the chosen one
    const char *path;
};

static void there_done(struct there *t)
{
    free(t->ns);
    free(t->pod);
}

static int parse(const char *word, struct there *out, err *e)
{
    const char *colon = strchr(word, ':'), *slash = strchr(word, '/');
    *out = (struct there){0};
    if (!colon || (slash == word) || *word == '.')
        return 0; // a path here
    bool has_ns = slash && slash < colon;
    const char *name = has_ns ? slash + 1 : word;
    if (colon == name || !colon[1])
        return err_set(e, ERR_USAGE, "%s: it is written POD:PATH or NAMESPACE/POD:PATH", word);
    out->ns = has_ns ? mem_strndup(word, (size_t)(slash - word)) : NULL;
    out->pod = mem_strndup(name, (size_t)(colon - name));
    out->path = colon + 1;
    return 0;
}

struct copier {
    struct cli *cli;
    struct link link;
    canceller *canceller;
    loop_signal *ends[ARRAY_LEN(end_signals)];
    int signal;
};

static void on_copy_signal(void *arg, int signum)
{
    struct copier *c = arg;
    c->signal = signum;
    canceller_cancel(c->canceller);
}

static void hear_signals(void *arg)
{
    struct copier *c = arg;
    for (size_t i = 0; i < ARRAY_LEN(end_signals); i++)
        c->ends[i] = link_signal(&c->link, end_signals[i], on_copy_signal, c);
}

static void hear_no_signals(void *arg)
{
    struct copier *c = arg;
    for (size_t i = 0; i < ARRAY_LEN(end_signals); i++)
        loop_signal_free(STEAL(c->ends[i]));
}

static void copier_done(struct copier *c)
{
    if (c->link.runs)
        loop_post(c->link.loop, hear_no_signals, c);
    link_end(&c->link);
    canceller_free(c->canceller);
}

static int copy(struct copier *c, const struct kernel_options *options, const struct podverb *what,
    const struct there *there, const char *here, bool up, err *e)
{
    struct link *l = &c->link;
    struct pod_choice pod;
    struct treetar_told told = {0};
    CLEANUP(act_done)
    struct act act = {.verb = "cp", .effect = up ? "cluster" : "local", .error = e};
    act_mask(&act, options, NULL);
    AUTO_FREE char *own = path_absolute(here, e), *where = str_fmt("copy to %s", there->pod);
    if (!own || act_allow(&act, options, client_config(l->client), where, e) != 0 ||
        podverb_find(l->client, there->pod, what->container, &pod, e) != 0)
        return -1;
    AUTO_FREE char *words = up ? str_fmt("copy %s to %s", own, there->path)
                               : str_fmt("copy %s to %s here", there->path, own);
    pod.target.patience.canceller = c->canceller;
    loop_post(l->loop, hear_signals, c); // an interrupted end is recorded, too
    AUTO_FREE char *shown = str_fmt("copy %s", up ? here : there->path);
    own_work *work = own_work_begin(c->cli, shown, WORK_BYTES, NULL);
    const struct copying w = {.loop = l->loop,
        .pod = &pod,
        .patience = &pod.target.patience,
        .here = own,
        .there = there->path,
        .work = own_work_watch(work)->work};
    int done = act_begin(&act, options, &pod, words, e);
    if (done == 0) {
        done = up ? copying_up(&w, &told, e) : copying_down(&w, &told, e);
        act_end(&act, 0, e);
    }
    own_work_end(work);
    AUTO_FREE char *left = copying_left_out(&told);
    say(stderr, "%s", left ? left : "");
    k8s_pod_done(&pod);
    return done;
}

int podverb_copy(struct cli *cli, const struct kernel_options *options, const struct podverb *what)
{
    err e = {0};
    struct copier c = {.cli = cli, .canceller = canceller_new()};
    CLEANUP(there_done) struct there from, to;
    int done = parse(what->copy_from, &from, &e);
    done = parse(what->copy_to, &to, &e) || done ? -1 : 0;
    if (done == 0 && !from.pod == !to.pod)
        done = err_set(&e, ERR_USAGE,
            "one of the two places is in a container, as POD:PATH or NAMESPACE/POD:PATH");
    bool up = to.pod != NULL;
    struct kernel_options own = *options;
    const struct there *there = up ? &to : &from;
    if (done == 0 && there->ns)
        own.cluster.namespace_ = there->ns;
    if (done == 0)
        done = link_start(&c.link, &e) || link_client(&c.link, &own, &e) ? -1 : 0;
    if (done == 0)
        done = copy(&c, &own, what, there, up ? what->copy_from : what->copy_to, up, &e);
    copier_done(&c);
    if (done != 0 && c.signal)
        return 128 + c.signal;
    return done == 0 ? 0 : print(&e);
}

// port-forward.

struct forwarding {
    struct link link;
    const struct pod_choice *pod;
    const char *address;
    size_t n;
    int here[PORTS_MOST], remote[PORTS_MOST];
    forward *forwards[PORTS_MOST];
    loop_signal *ends[ARRAY_LEN(end_signals)];
    loop_pending *pending;
    int signal;
    err error;
};

static void on_failed(void *arg, const char *why)
{
    say(stderr, "firesteel: %s\n", why);
}

static void finish(struct forwarding *f)
{
    for (size_t i = 0; i < ARRAY_LEN(f->ends); i++)
        loop_signal_free(STEAL(f->ends[i]));
    for (size_t i = 0; i < f->n; i++)
        forward_close(STEAL(f->forwards[i]));
    loop_call_finish(f->pending);
}

static void on_signal(void *arg, int signum)
{
    struct forwarding *f = arg;
    f->signal = signum;
    finish(f);
}

static int listen_all(struct forwarding *f)
{
    for (size_t i = 0; i < f->n; i++) {
        f->forwards[i] = forward_open(f->link.client,
            &(struct forward_spec){.ns = f->pod->ns,
                .pod = f->pod->name,
                .remote_port = f->remote[i],
                .address = f->address,
                .port = f->here[i]},
            on_failed, f, &f->error);
        if (!f->forwards[i])
            return -1;
        f->here[i] = forward_port(f->forwards[i]);
    }
    for (size_t i = 0; i < f->n; i++)
        say(stdout, "Forwarding from %s:%d -> %d\n", f->address, f->here[i], f->remote[i]);
    fflush(stdout);
    return 0;
}

static void start(loop_pending *pending, void *arg)
{
    struct forwarding *f = arg;
    f->pending = pending;
    for (size_t i = 0; i < ARRAY_LEN(end_signals); i++)
        f->ends[i] = link_signal(&f->link, end_signals[i], on_signal, f);
    if (listen_all(f) != 0)
        finish(f);
}

static const struct loop_call_ops forwarding_ops = {.start = start};

static int take_ports(struct forwarding *f, char **words, buf *text, err *e)
{
    for (; *words; words++, f->n++) {
        if (f->n == PORTS_MOST)
            return err_set(e, ERR_USAGE, "more than %d ports", PORTS_MOST);
        if (k8s_pod_port(f->pod, *words, &f->here[f->n], &f->remote[f->n], e) != 0)
            return -1;
        buf_fmt(text, "%s%s", f->n ? ", " : "", *words);
    }
    return 0;
}

static int forward_all(
    struct forwarding *f, const struct kernel_options *options, const struct podverb *what, err *e)
{
    CLEANUP(act_done) struct act act = {.verb = "port-forward", .effect = "cluster", .error = e};
    act_mask(&act, options, NULL);
    AUTO_BUF ports = {0};
    AUTO_FREE char *where = str_fmt("port-forward to %s", what->forward);
    struct pod_choice pod;
    if (link_start(&f->link, e) != 0 || link_client(&f->link, options, e) != 0 ||
        act_allow(&act, options, client_config(f->link.client), where, e) != 0 ||
        podverb_find(f->link.client, what->forward, NULL, &pod, e) != 0)
        return -1;
    f->pod = &pod;
    int done = take_ports(f, what->ports, &ports, e);
    AUTO_FREE char *words = str_fmt("open %s of this machine", buf_cstr(&ports));
    if (done == 0)
        done = act_begin(&act, options, &pod, words, e);
    if (done == 0) {
        loop_call(f->link.loop, NULL, &forwarding_ops, f, 0, e);
        act_end(&act, 0, &f->error);
        done = f->error.code ? err_set(e, f->error.code, "%s", f->error.text) : 0;
    }
    k8s_pod_done(&pod);
    return done;
}

int podverb_forward(const struct kernel_options *options, const struct podverb *what)
{
    err e = {0};
    const char *address = what->address ? what->address : "127.0.0.1";
    struct forwarding f = {.address = str_eq(address, "localhost") ? "127.0.0.1" : address};
    int done = forward_all(&f, options, what, &e);
    link_end(&f.link);
    if (f.signal)
        return 128 + f.signal;
    return done == 0 ? 0 : print(&e);
}
