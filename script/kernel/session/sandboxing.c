// SPDX-License-Identifier: MIT
#include "script/kernel/session/sandboxing.h"

#include "base/mem.h"
#include "script/kernel/process/sandbox.h"
#include "script/kernel/session/life.h"
#include "script/kernel/session/running.h"

// A client's request that waits until the sandbox is ready; the client may be gone by then.
struct sandbox_request {
    int64_t peer;
    cJSON *message;
};

static void forget_request(kernel *k)
{
    if (k->sandbox_request)
        cJSON_Delete(k->sandbox_request->message);
    free(STEAL(k->sandbox_request));
}

bool sandboxing_starts(const kernel *k)
{
    return k->sandbox_request != NULL;
}

static void drop_sandbox(void *arg)
{
    kernel *k = arg;
    k->sandbox = NULL;
}

// Tells the client that asked: why NULL: the sandbox is the cluster now.
static void answer_request(kernel *k, const err *why)
{
    peer *p = server_peer(k->server, k->sandbox_request->peer);
    if (p && why)
        server_refuse(p, k->sandbox_request->message, why);
    else if (p)
        server_reply(p, k->sandbox_request->message, NULL);
    forget_request(k);
}

// An action may have had an effect while the sandbox started.
static int check_reached(const kernel *k, err *e)
{
    const char *reached = effects_reached(k->effects);
    if (!reached)
        return 0;
    return err_set(e, ERR_REFUSED,
        "this kernel has had an effect elsewhere already (%s), and stays with that cluster; after "
        "00 a new kernel can have a sandbox",
        reached);
}

// What was queued meanwhile was meant for the sandbox.
static void give_up(kernel *k, const err *why)
{
    k->waiting_for_sandbox = false;
    sandbox_stop(k->sandbox, drop_sandbox, k);
    answer_request(k, why);
    running_interrupt(k, FAILURE_INTERRUPTED);
    running_go_on(k);
}

static void on_ready(void *arg, const char *kubeconfig, const err *why)
{
    kernel *k = arg;
    err e = {0};
    if (!kubeconfig && !sandboxing_starts(k)) {
        life_end(k, 1, why->text);
        return;
    }
    if (sandboxing_starts(k) && (!kubeconfig || check_reached(k, &e) < 0)) {
        give_up(k, kubeconfig ? &e : why);
        return;
    }
    k->waiting_for_sandbox = false;
    effects_use_sandbox(k->effects, kubeconfig);
    if (sandboxing_starts(k))
        answer_request(k, NULL);
    running_go_on(k);
}

static void on_died(void *arg, const err *why)
{
    kernel *k = arg;
    place_lost(k->effects->place, why->text);
}

static int start(kernel *k, bool processes, err *e)
{
    static const struct sandbox_ops ops = {.ready = on_ready, .died = on_died};
    const struct kernel_options *o = k->options;
    struct sandbox_spec spec = {.loop = k->loop,
        .program = o->sandbox_program,
        .images = o->paths.images,
        .runtime = o->runtime,
        .env = (const char *const *)k->effects->env,
        .processes = processes};
    if (!spec.program)
        return err_set(e, ERR_NOT_FOUND, "firesteel-sandbox is not installed beside firesteel");
    k->effects->plain_pods = processes;
    k->sandbox = sandbox_start(&spec, &ops, k, e);
    k->waiting_for_sandbox = k->sandbox != NULL;
    return k->sandbox ? 0 : -1;
}

int sandboxing_open(kernel *k, err *e)
{
    return k->options->sandbox ? start(k, k->options->processes, e) : 0;
}

// Nothing may be between two clusters: no cell, no question, no table, no effect.
static int check_still(const kernel *k, err *e)
{
    if (k->options->headless)
        return err_set(e, ERR_USAGE, "a headless run gets a sandbox by --sandbox");
    if (check_reached(k, e) < 0)
        return -1;
    if (running_busy(k))
        return err_set(
            e, ERR_UNAVAILABLE, "a cell runs: a sandbox can be started when it has ended");
    if (asks_open_now(k->asks))
        return err_set(e, ERR_UNAVAILABLE, "a question is open: A answers it; then again");
    if (displays_any(k->displays))
        return err_set(e, ERR_UNAVAILABLE,
            "something is live from the cluster that the kernel has now: q leaves tables and logs "
            "on the full screen, D ends those below cells; then again");
    return 0;
}

static int check_images(const kernel *k, err *e)
{
    const struct kernel_options *o = k->options;
    err why = {0};
    if (!o->takes_images || o->takes_images(o->images_arg, &why) == 0)
        return 0;
    err_set(e, ERR_REFUSED, ":sandbox processes runs pods as plain processes; %s", why.text);
    return -1;
}

int sandboxing_ask(kernel *k, peer *p, const cJSON *message, cJSON **reply, err *e)
{
    bool processes = json_bool_or(message, "processes", false);
    err lost = {0};
    place_why_lost(k->effects->place, &lost);
    if (k->stopping)
        return err_set(e, ERR_UNAVAILABLE, "the run is over");
    if (k->sandbox && lost.code)
        return err_set(
            e, ERR_FAILED, "%s; 00 starts another kernel, with a new sandbox", lost.text);
    if (k->sandbox && k->waiting_for_sandbox)
        return err_set(e, ERR_UNAVAILABLE, "the sandbox is starting");
    if (k->sandbox) {
        *reply = cJSON_CreateObject();
        json_set_bool(*reply, "there", true);
        return 0;
    }
    if (check_still(k, e) < 0 || (!processes && check_images(k, e) < 0) ||
        start(k, processes, e) < 0)
        return -1;
    k->sandbox_request = mem_alloc(sizeof *k->sandbox_request);
    *k->sandbox_request =
        (struct sandbox_request){server_number(p), cJSON_Duplicate(message, true)};
    return 1;
}

void sandboxing_close(kernel *k)
{
    forget_request(k);
    sandbox_stop(k->sandbox, drop_sandbox, k);
}
