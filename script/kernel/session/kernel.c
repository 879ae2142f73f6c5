// SPDX-License-Identifier: MIT
#include "script/kernel/session/kernel.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "script/journal/reader.h"
#include "script/kernel/cells/interp.h"
#include "script/kernel/effects/actions.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/port/display.h"
#include "script/kernel/port/secrets.h"
#include "script/kernel/process/guard.h"
#include "script/kernel/process/sandbox.h"
#include "script/kernel/session/filewatch.h"
#include "script/kernel/session/life.h"
#include "script/kernel/session/requests.h"
#include "script/kernel/session/running.h"
#include "script/notebook/params.h"
#include "script/protocol/message.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Clients go on with the cells that they know.
static void keep_ids(notebook *nb, const notebook *from)
{
    size_t n = notebook_count(from);
    AUTO_FREE const char **ids = mem_array(n + 1, sizeof *ids);
    for (size_t i = 0; i < n; i++)
        ids[i] = notebook_cell(from, i)->id;
    notebook_set_ids(nb, ids, n, NULL);
}

// The notebook, from its file or from a journal whose kernel was restarted, with the parameters
// given.
static notebook *load_notebook(const struct kernel_options *o, bool *saved, err *e)
{
    *saved = true;
    if (!o->recover)
        return o->headless ? notebook_load(o->notebook, e) : notebook_open(o->notebook, e);
    fold *f = fold_file(o->recover, NULL, e);
    if (!f)
        return NULL;
    AUTO_BUF text = {0};
    notebook_print(fold_notebook(f), &text);
    notebook *nb = notebook_parse(buf_cstr(&text), text.len, e);
    if (nb)
        keep_ids(nb, fold_notebook(f));
    fold_free(f);
    AUTO_BUF file = {0};
    *saved = path_read(o->notebook, &file, 0, NULL) == 0 && file.len == text.len &&
             memcmp(file.data, text.data, text.len) == 0;
    return nb;
}

static int give_parameters(const struct kernel_options *o, notebook *nb, cJSON **values, err *e)
{
    struct params params;
    if (params_find(nb, &params, e) < 0)
        return -1;
    int result = 0;
    for (const char *const *p = o->parameters; result == 0 && p && *p; p++)
        result = params_give(&params, *p, e);
    if (result == 0 && o->parameters && *o->parameters)
        result = params_inject(&params, nb, e);
    *values = result == 0 ? params_values(&params) : NULL;
    params_done(&params);
    return result;
}

static int open_document(kernel *k, cJSON **parameters, err *e)
{
    const struct kernel_options *o = k->options;
    bool saved;
    notebook *nb = load_notebook(o, &saved, e);
    if (!nb)
        return -1;
    if ((o->headless && notebook_check(nb, e) < 0) || give_parameters(o, nb, parameters, e) < 0) {
        notebook_free(nb);
        return -1;
    }
    secrets_register(k->mask, nb);
    k->document = document_new(nb, o->notebook, saved);
    return 0;
}

int kernel_lock(kernel *k, const char *path, document_lock **lock, err *e)
{
    const struct kernel_options *o = k->options;
    *lock = NULL;
    if (o->headless || !path)
        return 0;
    *lock = document_lock_take(path,
        &(struct lock_holder){
            .run = (char *)o->run, .cwd = (char *)o->cwd, .socket = (char *)o->socket},
        e);
    return *lock ? 0 : -1;
}

static cJSON *versions(void)
{
    cJSON *v = cJSON_CreateObject();
    json_set_str(v, "firesteel", FIRESTEEL_VERSION);
    json_set_str(v, "lua", LUA_RELEASE);
    json_set_str(v, "cjson", cJSON_Version());
    return v;
}

static cJSON *cell_ids(const notebook *nb)
{
    cJSON *ids = cJSON_CreateArray();
    for (size_t i = 0; i < notebook_count(nb); i++)
        cJSON_AddItemToArray(ids, cJSON_CreateString(notebook_cell(nb, i)->id));
    return ids;
}

static cJSON *first_event(const kernel *k, message_type type, cJSON *parameters)
{
    AUTO_BUF text = {0};
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    notebook_print(document_notebook(k->document), &text);
    cJSON *event = message_new(type);
    json_set_int(event, "pid", getpid());
    json_set_str(event, "host", host);
    json_set_str(event, "notebook", buf_cstr(&text));
    json_set(event, "cells", cell_ids(document_notebook(k->document)));
    json_set(event, "parameters", parameters);
    if (type == MESSAGE_resumed)
        return event;
    json_set_int(event, "format", JOURNAL_FORMAT);
    json_set_str(event, "run", k->run);
    json_set_str(event, "path", document_path(k->document));
    json_set_str(event, "cwd", k->options->cwd);
    json_set(event, "versions", versions());
    json_set_str(event, "salt", k->salt);
    json_set_bool(event, "headless", k->options->headless);
    if (!document_saved(k->document)) // nor has the file what a killed run before this one left
        json_set_bool(event, "unsaved", true);
    if (k->options->sandbox)
        json_set_bool(event, "sandbox", true);
    return event;
}

static bool is_undoable(void *arg, const char *binding)
{
    const struct binding *b = binding_find(arg, binding);
    return b && b->undo;
}

// What the journal to go on with knows.
int kernel_load_past(kernel *k, const char *run, err *e)
{
    const struct kernel_options *o = k->options;
    AUTO_FREE char *path = journal_file(o->cwd, run);
    fold *f = fold_file(path, NULL, e);
    if (!f)
        return err_wrap(e, "%s", run);
    ledger_load(k->ledger, f, is_undoable, (void *)o);
    snprintf(k->salt, sizeof k->salt, "%s", json_str_or(fold_first(f), "salt", ""));
    atomic_store(&k->last_display, (long long)fold_seq(f)); // more than it had displays
    // What was made in a private sandbox went with it.
    if (json_bool_or(fold_first(f), "sandbox", false))
        ledger_forget_left(k->ledger);
    fold_free(f);
    return 0;
}

static int open_journal(kernel *k, cJSON *parameters, err *e)
{
    const struct kernel_options *o = k->options;
    struct journal_spec spec = {.folder = o->cwd, .name = o->name, .run = o->run, .mask = k->mask};
    bool resumes = o->resume != NULL;
    random_hex(k->salt, 16);
    if (resumes && kernel_load_past(k, o->resume, e) < 0) {
        cJSON_Delete(parameters);
        return -1;
    }
    k->resuming = resumes;
    k->journal =
        resumes ? journal_continue(o->cwd, o->resume, k->mask, e) : journal_create(&spec, e);
    if (!k->journal || server_follow(k->server, journal_path(k->journal), e) < 0) {
        cJSON_Delete(parameters);
        return -1;
    }
    k->run = mem_strdup(journal_run(k->journal));
    outputs_place(k->outputs, journal_spool_dir(k->journal), journal_seq(k->journal) + 1);
    kernel_deliver(k, first_event(k, resumes ? MESSAGE_resumed : MESSAGE_run, parameters));
    if (k->journal_error.code && e)
        *e = k->journal_error;
    return k->journal_error.code ? -1 : 0;
}

// A kubeconfig for children of cells that do not declare the cluster: its credentials come from
// ourselves, who refuse with the line to add. It is constant, so runs in one folder share it.
static const char refusing[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"undeclared\","
    "\"contexts\":[{\"name\":\"undeclared\",\"context\":{\"cluster\":\"undeclared\",\"user\":"
    "\"undeclared\"}}],"
    "\"clusters\":[{\"name\":\"undeclared\",\"cluster\":{\"server\":\"https://127.0.0.1:1\"}}],"
    "\"users\":[{\"name\":\"undeclared\",\"user\":{\"exec\":{"
    "\"apiVersion\":\"client.authentication.k8s.io/v1\",\"interactiveMode\":\"Never\","
    "\"args\":[\"--refuse-credentials\"]}}}]}";

static int write_refusing_kubeconfig(kernel *k, err *e)
{
    AUTO_FREE char *folder = path_dirname(journal_path(k->journal));
    AUTO_JSON *text = json_parse(refusing, strlen(refusing), NULL);
    cJSON *exec = (cJSON *)json_path(text, "users[0].user.exec");
    json_set_str(exec, "command", k->options->self);
    AUTO_BUF bytes = {0};
    json_print(&bytes, text);
    k->refusing_kubeconfig = path_join(folder, "no-cluster.kubeconfig");
    if (path_exists(k->refusing_kubeconfig))
        return 0;
    return path_write(k->refusing_kubeconfig, bytes.data, bytes.len, 0600, e);
}

static void on_file_changed(void *arg)
{
    kernel *k = arg;
    cJSON *event = NULL;
    if (document_refresh(k->document, &event))
        kernel_emit(k, event);
}

static void on_signal(void *arg, int signum)
{
    life_shutdown(arg);
}

static void on_run_timeout(void *arg)
{
    kernel *k = arg;
    k->run_timed_out = true;
    running_interrupt(k, FAILURE_TIMEOUT);
}

static void on_sandbox_ready(kernel *k, const char *kubeconfig, const err *why)
{
    if (!kubeconfig) {
        life_end(k, 1, why->text);
        return;
    }
    k->sandbox_kubeconfig = mem_strdup(kubeconfig);
    k->cluster.kubeconfig = k->sandbox_kubeconfig;
    k->cluster.context = NULL;
    k->waiting_for_sandbox = false;
    place_find(k->place);
    running_go_on(k);
}

static int open_sandbox(kernel *k, err *e)
{
    if (!k->options->sandbox)
        return 0;
    k->waiting_for_sandbox = true;
    k->sandbox = sandbox_start(k, on_sandbox_ready, e);
    return k->sandbox ? 0 : -1;
}

static void watch_signals(kernel *k)
{
    static const int signums[ARRAY_LEN(k->signals)] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < ARRAY_LEN(signums); i++)
        k->signals[i] = loop_signal_new(k->loop, signums[i], on_signal, k, NULL);
}

static int open_clients(kernel *k, err *e)
{
    const struct kernel_options *o = k->options;
    if (o->socket) {
        if (server_listen(k->server, o->socket, e) < 0)
            return -1;
        guard_remove_at_end(o->socket);
    }
    return o->client_fd >= 0 ? server_adopt(k->server, o->client_fd, e) : 0;
}

static int open_all(kernel *k, err *e)
{
    const struct kernel_options *o = k->options;
    cJSON *parameters = NULL;
    if (!(k->gate = gate_new(o->allow, o->headless, e)) || open_document(k, &parameters, e) < 0)
        return -1;
    if (kernel_lock(k, o->notebook, &k->lock, e) < 0) {
        cJSON_Delete(parameters);
        return -1;
    }
    if (open_journal(k, parameters, e) < 0 || write_refusing_kubeconfig(k, e) < 0 ||
        open_sandbox(k, e) < 0)
        return -1;
    k->interp = interp_new(k, o->memory, e);
    if (!k->interp || open_clients(k, e) < 0)
        return -1;
    if (!o->sandbox)
        place_find(k->place);
    watch_signals(k);
    if (o->timeout_ns) {
        k->run_timer = loop_timer_new(k->loop, on_run_timeout, k);
        loop_timer_start(k->run_timer, (uint64_t)(o->timeout_ns / CLOCK_MS), 0);
    }
    if (!o->headless && o->notebook)
        k->watch = filewatch_open(k->loop, o->notebook, on_file_changed, k);
    return 0;
}

static void init_recursive(pthread_mutex_t *m)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(m, &kind);
    pthread_mutexattr_destroy(&kind);
}

kernel *kernel_new(const struct kernel_options *o, err *e)
{
    loop *l = loop_new(e);
    if (!l)
        return NULL;
    kernel *k = mem_alloc(sizeof *k);
    k->options = o;
    k->loop = l;
    k->started = clock_mono();
    k->mask = mask_new();
    mask_add_env(k->mask, o->env);
    k->outbox = outbox_new(l, &kernel_outbox_ops, k);
    k->outputs = outputs_new(l, k->mask, &kernel_outputs_ops, k);
    k->waits = canceller_new();
    k->ledger = ledger_new();
    k->server = server_new(l, &requests_ops, k);
    k->place = place_new(k);
    k->actions = actions_new(k);
    init_recursive(&k->shared_lock);
    k->env = strv_dup(o->env);
    k->paths = o->paths;
    k->cluster = o->cluster;
    k->notebook_dir = path_dirname(o->notebook ? o->notebook : "notebook.lua");
    k->paths.notebook_dir = k->notebook_dir;
    return k;
}

static void free_timers(kernel *k)
{
    loop_timer_free(k->run_timer);
    loop_timer_free(k->cell_timer);
    loop_timer_free(k->idle_timer);
    for (size_t i = 0; i < ARRAY_LEN(k->signals); i++)
        if (k->signals[i])
            loop_signal_free(k->signals[i]);
}

static void drop_sandbox(kernel *k)
{
    k->sandbox = NULL;
}

// In an order in which nothing is used after it is gone; shared objects may still use the loop.
void kernel_free(kernel *k)
{
    interp_free(k->interp);
    actions_free(k->actions);
    sandbox_stop(k->sandbox, drop_sandbox, k);
    filewatch_close(k->watch);
    call_drop_shared(k);
    server_free(k->server);
    free_timers(k);
    running_free(k);
    outputs_free(k->outputs);
    outbox_free(k->outbox);
    journal_close(k->journal);
    document_free(k->document);
    document_lock_release(k->lock);
    gate_free(k->gate);
    ledger_free(k->ledger);
    place_free(k->place);
    pthread_mutex_destroy(&k->shared_lock);
    canceller_free(k->waits);
    mask_free(k->mask);
    loop_free(k->loop);
    strv_free(k->env);
    free(k->refusing_kubeconfig);
    free(k->sandbox_kubeconfig);
    free(k->notebook_dir);
    free(k->run);
    free(k->last_words);
    free(k);
}

int kernel_run(const struct kernel_options *options, err *e)
{
    kernel *k = kernel_new(options, e);
    if (!k)
        return -1;
    if (open_all(k, e) < 0) {
        interp_end(k->interp);
        kernel_free(k);
        return -1;
    }
    if (options->headless && options->detach)
        life_begin(k);
    loop_run(k->loop);
    int exit_code = k->exit;
    if (k->abandoned ||
        !interp_end(
            k->interp)) { // the Lua thread still uses all of it; the process is about to end
        server_free(k->server);
        journal_close(k->journal);
        document_lock_release(k->lock);
    } else
        kernel_free(k);
    return exit_code;
}
