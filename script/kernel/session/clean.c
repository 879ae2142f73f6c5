// SPDX-License-Identifier: MIT
#include "script/kernel/session/clean.h"

#include "base/mem.h"
#include "script/journal/file/reader.h"
#include "script/journal/runs/runs.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/session/state.h"

#include <pthread.h>

struct found {
    struct entry **list;
    size_t n;
};

static int collect(void *arg, struct entry *entry)
{
    struct found *found = arg;
    found->list = mem_resize(found->list, found->n + 1, sizeof(struct entry *));
    found->list[found->n++] = entry;
    return 0;
}

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

static int settle(
    kernel *k, turn *t, struct entry *entry, const struct clean_ops *ops, void *arg, err *e)
{
    CLEANUP(remains_done) struct remains remains = {0};
    if (call_find(k->effects, t, entry, &remains, e) < 0 ||
        call_remove(k->effects, t, entry, &remains, e) < 0)
        return -1;
    ops->settled(arg, entry, remains.found != NULL, remains.text);
    return 0;
}

// After such an error the other entries would fail, too.
static bool is_hopeless(const err *e)
{
    return e->code == ERR_REFUSED || e->code == ERR_UNAVAILABLE || e->code == ERR_UNAUTHORIZED;
}

static int settle_each(
    kernel *k, const struct found *found, const struct clean_ops *ops, void *arg, err *e)
{
    err first = {0}, why = {0};
    turn cleaning;
    turn_init(&cleaning, "", 0);
    for (size_t i = 0; i < found->n; i++) {
        if (!is_hopeless(&why)) {
            why = (err){0};
            settle(k, &cleaning, found->list[i], ops, arg, &why);
        }
        if (why.code)
            ops->unknown(arg, found->list[i], &why);
        if (!first.code)
            first = why;
    }
    turn_done(&cleaning);
    return first.code ? err_set(e, first.code, "%s", first.text) : 0;
}

// Undo blocks and needs the loop, so the loop runs on its own thread meanwhile.
static int remove_all(
    kernel *k, const struct found *found, const struct clean_ops *ops, void *arg, err *e)
{
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, run_loop, k->loop);
    if (failed)
        return err_start(e, failed, "cannot start a thread");
    int result = settle_each(k, found, ops, arg, e);
    loop_post(k->loop, stop_loop, k->loop);
    pthread_join(thread, NULL);
    return result;
}

static int clean(kernel *k, const char *run, const struct clean_ops *ops, void *arg, err *e)
{
    struct found found = {0};
    if (kernel_load_past(k, run, e) < 0)
        return -1;
    k->effects->run = mem_strdup(run);
    ledger_each_stale(k->effects->ledger, collect, &found);
    int result = 0;
    if (ops->left(arg, found.list, found.n) && found.n > 0) {
        journal *j = journal_continue(k->options->cwd, run, port_mask(k->port), e);
        if (j)
            port_open(k->port, j);
        result = j ? remove_all(k, &found, ops, arg, e) : -1;
    }
    free(found.list);
    return result;
}

int kernel_clean(const struct kernel_options *options, const char *run, const struct clean_ops *ops,
    void *arg, err *e)
{
    AUTO_FREE char *name = runs_pick(options->cwd, NULL, run, e);
    kernel *k = name ? kernel_new(options, e) : NULL;
    if (!k)
        return -1;
    int result = clean(k, name, ops, arg, e);
    kernel_free(k);
    return result;
}
