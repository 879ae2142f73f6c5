// SPDX-License-Identifier: MIT
#include "script/kernel/session/kernel.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/kernel/cells/compile.h"
#include "script/kernel/port/secrets.h"
#include "script/kernel/process/guard.h"
#include "script/kernel/session/file/filewatch.h"
#include "script/kernel/session/file/left.h"
#include "script/kernel/session/life.h"
#include "script/kernel/session/past.h"
#include "script/kernel/session/record.h"
#include "script/kernel/session/requests.h"
#include "script/kernel/session/room.h"
#include "script/kernel/session/running.h"
#include "script/kernel/session/sandboxing.h"
#include "script/kernel/session/state.h"
#include "script/kernel/session/variables.h"
#include "script/protocol/message.h"

#include <errno.h>
#include <fcntl.h>
#include <lua.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Clients go on with the ids that they know.
static void keep_ids(notebook *nb, const notebook *from)
{
    size_t n = notebook_count(from);
    AUTO_FREE const char **ids = mem_array(n + 1, sizeof *ids);
    for (size_t i = 0; i < n; i++)
        ids[i] = notebook_cell(from, i)->id;
    notebook_set_ids(nb, ids, n, NULL);
}

// The journal has only the text; other parts of an .ipynb are in the file, and are taken from
// there. `text` gets the file's text in the journal's form.
static int adopt_file(notebook *nb, const char *path, buf *text)
{
    notebook *file = notebook_load(path, NULL);
    if (!file)
        return -1;
    notebook_print(file, text);
    if (!str_ends(path, ".lua"))
        notebook_adopt_file(nb, file);
    notebook_free(file);
    return 0;
}

// Only the text was taken over: gives the cells their ids from the run that had it.
static void adopt_ids(notebook *nb, const char *folder, const char *run)
{
    AUTO_FREE char *path = journal_file(folder, run);
    fold *f = fold_file(path, NULL, NULL);
    if (f && fold_notebook(f))
        notebook_adopt_ids(nb, fold_notebook(f));
    fold_free(f);
}

// The time at which a file was written, wall ns; 0: it does not exist.
static int64_t time_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mtim.tv_sec * CLOCK_SEC + st.st_mtim.tv_nsec : 0;
}

// Loads the notebook from its file, or from a journal whose kernel was restarted (*before: its run,
// new), with the given parameters. *unread: the first of that run's outputs that cannot be read.
static notebook *load_notebook(
    const struct kernel_options *o, char **before, bool *saved, err *unread, err *e)
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
    *before = mem_strdup(left_run(f));
    if (nb)
        keep_ids(nb, fold_notebook(f));
    if (nb && *before && !json_get(fold_first(f), "cells"))
        adopt_ids(nb, o->cwd, *before);
    fold_free(f);
    AUTO_BUF file = {0};
    bool ipynb = nb && str_ends(o->notebook, ".ipynb");
    int known = nb ? adopt_file(nb, o->notebook, &file) : -1;
    *saved = known == 0 && file.len == text.len && memcmp(file.data, text.data, text.len) == 0;
    if (ipynb && *before)
        *saved &= left_give(nb, o->cwd, *before, time_of(o->notebook), unread);
    return nb;
}

// Earlier parameters of the run are kept, except those that are given now.
static int give_parameters(
    const struct kernel_options *o, notebook *nb, struct parameters *out, err *e)
{
    struct params params;
    if (params_find(nb, &params, e) < 0)
        return -1;
    int result = past_give(o, &params, e);
    for (const char *const *p = o->parameters; result == 0 && p && *p; p++)
        result = params_give(&params, *p, e);
    if (result == 0)
        result = params_inject(&params, nb, e);
    if (result == 0)
        *out = (struct parameters){params_values(&params), params_given(&params)};
    params_done(&params);
    return result;
}

// Refuses a notebook with mistakes as a whole; reports the first ones.
static int check_all(const struct kernel_options *o, const notebook *nb, err *e)
{
    enum { TOLD = 5 };
    CLEANUP(faults_done) struct faults all = {0};
    AUTO_BUF text = {0};
    compile_check(nb, &all);
    if (!all.n && o->find_kernel)
        compile_check_kernels(nb, o->find_kernel, (void *)o, &all);
    size_t folder = str_starts(o->notebook, o->cwd) ? strlen(o->cwd) : 0;
    const char *shown = o->notebook + folder + (folder && o->notebook[folder] == '/');
    if (all.n > 1)
        buf_fmt(&text, "%zu mistakes, so nothing was run:\n", all.n);
    for (size_t i = 0; i < all.n && i < TOLD; i++)
        faults_print(&all.list[i], nb, shown, &text);
    if (all.n > TOLD)
        buf_fmt(&text, "and %zu more: `firesteel check %s` lists them\n", all.n - TOLD, shown);
    if (text.len)
        err_set(e, ERR_USAGE, "%.*s", (int)text.len - 1, buf_cstr(&text));
    return all.n ? -1 : 0;
}

static int open_document(kernel *k, struct parameters *parameters, err *e)
{
    const struct kernel_options *o = k->options;
    bool saved;
    notebook *nb = load_notebook(o, &k->before, &saved, &k->unread, e);
    if (!nb)
        return -1;
    if ((o->kernel && notebook_use_kernel(nb, o->kernel, e) < 0) ||
        (o->headless && check_all(o, nb, e) < 0) || give_parameters(o, nb, parameters, e) < 0) {
        notebook_free(nb);
        return -1;
    }
    secrets_register(port_mask(k->port), nb);
    secrets_of_parameters(port_mask(k->port), parameters->values);
    secrets_of_parameters(port_mask(k->port), parameters->given);
    k->parameters = cJSON_Duplicate(parameters->values, 1);
    k->document = document_new(nb, o->notebook, saved);
    k->origins = origins_new();
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

// A process in a container may have a user number without a name.
static void set_user(cJSON *event)
{
    const struct passwd *user = getpwuid(geteuid());
    AUTO_FREE char *number = str_fmt("%lld", (long long)geteuid());
    json_set_str(event, "user", user ? user->pw_name : number);
}

// Takes `parameters`.
static cJSON *first_event(kernel *k, message_type type, struct parameters *parameters)
{
    AUTO_BUF text = {0};
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    notebook_print(document_notebook(k->document), &text);
    cJSON *event = message_new(type);
    json_set_int(event, "pid", getpid());
    json_set_str(event, "host", host);
    if (type == MESSAGE_run)
        set_user(event);
    json_set_str(event, "notebook", buf_cstr(&text));
    json_set(event, "cells", cell_ids(document_notebook(k->document)));
    if (type == MESSAGE_resumed && (k->options->keep || k->options->again)) {
        json_set(event, "kept", record_strings(k->options->keep));
        json_set(event, "again", record_strings(k->options->again));
    }
    if (type == MESSAGE_resumed) {
        AUTO_FREE char *message = past_message(k->options, parameters);
        json_set_str(event, "message", message);
    }
    json_set(event, "parameters", STEAL(parameters->values));
    json_set(event, "given", STEAL(parameters->given));
    json_set_str(event, "kubeconfig", k->options->kubeconfig);
    json_set_str(event, "registry", k->options->cluster.registry);
    json_set_str(event, "kernel", k->options->kernel);
    if (type == MESSAGE_resumed)
        return event;
    json_set_int(event, "format", JOURNAL_FORMAT);
    json_set_str(event, "run", k->effects->run);
    json_set_str(event, "path", document_path(k->document));
    json_set_str(event, "cwd", k->options->cwd);
    json_set(event, "versions", versions());
    json_set_str(event, "salt", k->effects->salt);
    record_first(k, event);
    json_set_bool(event, "headless", k->options->headless);
    if (!document_saved(k->document)) // also with edits that a killed run has left
        json_set_bool(event, "unsaved", true);
    if (k->options->sandbox)
        json_set_bool(event, "sandbox", true);
    return event;
}

// Takes over the state of the journal that is continued.
int kernel_load_past(kernel *k, const char *run, err *e)
{
    AUTO_FREE char *path = journal_file(k->options->cwd, run);
    fold *past = fold_file(path, NULL, e);
    if (!past)
        return err_wrap(e, "%s", run);
    if (k->options->keep || k->options->again) // it names cells as the journal does
        document_adopt_ids(k->document, fold_notebook(past));
    effects_load_past(k->effects, past, k->parameters);
    ledger_keep(k->effects->ledger, k->options->keep);
    int seeded = record_seed(k, past, e);
    displays_skip(k->displays, (int64_t)fold_seq(past)); // at least as many as it had displays
    fold_free(past);
    return seeded;
}

static journal *journal_of(kernel *k, err *e)
{
    const struct kernel_options *o = k->options;
    mask *m = port_mask(k->port);
    struct journal_spec spec = {.folder = o->cwd, .name = o->name, .run = o->run, .mask = m};
    return o->resume ? journal_continue(o->cwd, o->resume, m, e) : journal_create(&spec, e);
}

static int open_journal(kernel *k, struct parameters *parameters, err *e)
{
    const struct kernel_options *o = k->options;
    bool resumes = o->resume != NULL;
    random_hex(k->effects->salt, 16);
    int ready = resumes ? kernel_load_past(k, o->resume, e) : record_seed(k, NULL, e);
    journal *j = ready < 0 ? NULL : journal_of(k, e);
    if (j) {
        port_open(k->port, j);
        guard_name_journal(journal_path(j));
    }
    if (!j || server_follow(k->server, journal_path(j), e) < 0)
        return -1;
    k->effects->resume = resumes ? RESUME_ON : RESUME_OFF;
    k->effects->run = mem_strdup(journal_run(j));
    record_origin(k);
    port_deliver(k->port, first_event(k, resumes ? MESSAGE_resumed : MESSAGE_run, parameters));
    return err_give(e, port_error(k->port));
}

// Writes a kubeconfig for children of cells that do not declare the cluster. Its credential plugin
// is this program, which refuses and names the line to add. Since the file names a program to run,
// it is new each time, in a folder where nobody else can replace it.
static const char refusing[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"undeclared\","
    "\"contexts\":[{\"name\":\"undeclared\",\"context\":{\"cluster\":\"undeclared\",\"user\":"
    "\"undeclared\"}}],"
    "\"clusters\":[{\"name\":\"undeclared\",\"cluster\":{\"server\":\"https://127.0.0.1:1\"}}],"
    "\"users\":[{\"name\":\"undeclared\",\"user\":{\"exec\":{"
    "\"apiVersion\":\"client.authentication.k8s.io/v1\",\"interactiveMode\":\"Never\","
    "\"args\":[\"--refuse-credentials\"]}}}]}";

// Registers with our guard what we own by an owner file.
static void guarded(const char *path)
{
    AUTO_FREE char *owner = owner_file(path);
    guard_remove_at_end(owner);
    guard_remove_at_end(path);
}

static int write_refusing_kubeconfig(kernel *k, err *e)
{
    AUTO_FREE char *name = str_fmt("%s.kubeconfig", k->effects->run);
    const char *path = k->effects->refusing_kubeconfig = path_join(k->options->runtime, name);
    AUTO_FD folder = folder_open_path(k->options->runtime, 1, true, e);
    AUTO_JSON *text = json_parse(refusing, strlen(refusing), NULL);
    cJSON *exec = (cJSON *)json_path(text, "users[0].user.exec");
    json_set_str(exec, "command", k->options->self);
    AUTO_BUF bytes = {0};
    json_print(&bytes, text);
    if (folder < 0 || (k->kubeconfig_owner = owner_take(path, e)) < 0)
        return -1;
    guarded(path);
    unlinkat(folder, name, 0); // a killed kernel has left it
    AUTO_FD file = folder_file(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file < 0)
        return err_errno(e, errno, "cannot make %s", path);
    return fd_write_all(file, bytes.data, bytes.len, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

static void on_file_changed(void *arg)
{
    kernel *k = arg;
    cJSON *event = NULL;
    if (document_refresh(k->document, &event))
        port_emit(k->port, event);
}

static void on_signal(void *arg, int signum)
{
    life_shutdown(arg);
}

static void on_run_timeout(void *arg)
{
    running_time_out(arg);
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
        guarded(o->socket);
    }
    return o->client_fd >= 0 ? server_adopt(k->server, o->client_fd, e) : 0;
}

static int open_all(kernel *k, err *e)
{
    const struct kernel_options *o = k->options;
    CLEANUP(parameters_done) struct parameters parameters = {0};
    if (open_document(k, &parameters, e) < 0 || kernel_lock(k, o->notebook, &k->lock, e) < 0 ||
        open_journal(k, &parameters, e) < 0 || write_refusing_kubeconfig(k, e) < 0 ||
        sandboxing_open(k, e) < 0)
        return -1;
    k->interp = interp_new(&k->interp_options, &running_ops, k, e);
    if (o->headless && k->interp)
        record_ask_git(k, true);
    if (!k->interp || open_clients(k, e) < 0)
        return -1;
    if (!o->sandbox)
        place_find(k->effects->place);
    watch_signals(k);
    if (o->timeout_ns) {
        k->run_timer = loop_timer_new(k->loop, on_run_timeout, k);
        loop_timer_start(k->run_timer, (uint64_t)(o->timeout_ns / CLOCK_MS), 0);
    }
    room_look_soon(k);
    if (!o->headless && o->notebook)
        k->watch = filewatch_open(k->loop, o->notebook, on_file_changed, k);
    return 0;
}

static void on_event(void *arg, const cJSON *event)
{
    kernel *k = arg;
    actions_event(k->actions, event);
}

static void on_journaled(void *arg, const char *line, size_t n)
{
    kernel *k = arg;
    server_event(k->server, line, n);
}

static void on_broken(void *arg)
{
    kernel *k = arg;
    if (k->running && k->running->cleanup && port_keeps(k->port))
        return; // that cell began after output was lost, and its effects are journaled
    if (k->running)
        running_interrupt(k, FAILURE_ERROR);
    else
        life_end(k, 1, port_error(k->port)->text);
}

static void on_passed(void *arg, void *what)
{
    running_passed(arg, what);
}

static const struct port_ops port_ops = {
    .event = on_event, .journaled = on_journaled, .broken = on_broken, .passed = on_passed};

static void on_tell(void *arg, int64_t client, cJSON *event)
{
    kernel *k = arg;
    peer *p = server_peer(k->server, client);
    if (k->actions)
        actions_event(k->actions, event);
    if (p)
        server_send(p, event);
    else
        cJSON_Delete(event);
}

static void on_dropped(void *arg, int64_t id)
{
    kernel *k = arg;
    if (k->actions)
        actions_dropped(k->actions, id);
}

static bool on_keeps_up(void *arg, int64_t client)
{
    kernel *k = arg;
    const peer *p = server_peer(k->server, client);
    return !p || server_keeps_up(p);
}

static void on_away(void *arg, const err *reason, int64_t heard_wall)
{
    kernel *k = arg;
    place_heard(k->effects->place, reason, heard_wall);
}

static void on_progress(void *arg, cJSON *event)
{
    kernel *k = arg;
    server_tell(k->server, event);
}

static const struct works_ops works_ops = {.tell = on_progress};
static const struct displays_ops displays_ops = {
    .tell = on_tell, .keeps_up = on_keeps_up, .dropped = on_dropped, .away = on_away};

static void on_asks_changed(void *arg)
{
    kernel *k = arg;
    running_say_state(k,
        asks_open_now(k->asks) ? "asking"
        : running_busy(k)      ? "busy"
                               : "idle",
        NULL);
}

static effects *effects_of(const kernel *k, err *e)
{
    const struct kernel_options *o = k->options;
    struct effects_spec spec = {.loop = k->loop,
        .port = k->port,
        .displays = k->displays,
        .works = k->works,
        .asks = k->asks,
        .bindings = o->bindings,
        .actions = o->actions,
        .where = o->where,
        .cwd = o->cwd,
        .env = o->env,
        .paths = o->paths,
        .cluster = o->cluster,
        .kubeconfig_given = o->kubeconfig != NULL,
        .allow = o->allow,
        .guarded = o->guarded,
        .protect = o->protect,
        .allow_protected = o->allow_protected,
        .read_only = o->read_only,
        .headless = o->headless,
        .sandbox = o->sandbox,
        .runtime = o->runtime,
        .remove_at_end = guard_remove_at_end,
        .removed = guard_removed,
        .accept_drift = o->accept_drift};
    spec.paths.notebook_dir = k->notebook_dir;
    return effects_new(&spec, e);
}

// Makes the parts that other threads use, which report to the session. They do so only when
// something runs; by then the other parts exist.
kernel *kernel_new(const struct kernel_options *o, err *e)
{
    loop *l = loop_new(e);
    if (!l)
        return NULL;
    kernel *k = mem_alloc(sizeof *k);
    *k = (kernel){.options = o,
        .loop = l,
        .started = clock_mono(),
        .lifetime_ns = o->lifetime_ns,
        .kubeconfig_owner = -1};
    k->notebook_dir = path_dirname(o->notebook ? o->notebook : "notebook.lua");
    k->port = port_new(l, &port_ops, k);
    mask_add_env(port_mask(k->port), o->env);
    k->displays = displays_new(l, k->port, &displays_ops, k);
    k->works = works_new(l, k->port, &works_ops, k);
    k->asks = asks_new(l, k->port, !o->headless, on_asks_changed, k);
    k->effects = effects_of(k, e);
    if (!k->effects) {
        kernel_free(k);
        return NULL;
    }
    k->server = server_new(l, &requests_ops, k);
    k->actions = actions_new(k->effects, k->server);
    k->lookups = lookups_new(k->effects);
    k->checks = checks_new(k->effects, k->server);
    k->interp_options = (struct interp_options){
        .effects = k->effects, .memory = o->memory, .notebook_dir = k->notebook_dir};
    return k;
}

static void free_timers(kernel *k)
{
    loop_timer_free(k->run_timer);
    loop_timer_free(k->cell_timer);
    loop_timer_free(k->unused_timer);
    loop_timer_free(k->finish_timer);
    for (size_t i = 0; i < ARRAY_LEN(k->signals); i++)
        if (k->signals[i])
            loop_signal_free(k->signals[i]);
}

static void remove_refusing_kubeconfig(kernel *k)
{
    if (k->kubeconfig_owner < 0)
        return;
    owner_remove(k->effects->refusing_kubeconfig, &k->kubeconfig_owner);
    guard_removed(k->effects->refusing_kubeconfig);
}

// Frees the parts in an order in which nothing is used after it was freed: closing shared objects
// may still use the loop, the displays and the port.
void kernel_free(kernel *k)
{
    interp_free(k->interp);
    actions_free(STEAL(k->actions));
    lookups_free(STEAL(k->lookups));
    checks_free(STEAL(k->checks));
    record_done(k);
    sandboxing_close(k);
    room_done(k);
    filewatch_close(k->watch);
    if (k->effects)
        effects_drop_shared(k->effects);
    server_free(k->server);
    free_timers(k);
    running_free(k);
    document_free(k->document);
    cJSON_Delete(k->parameters);
    cJSON_Delete(k->terminal);
    variables_done(k);
    origins_free(k->origins);
    document_lock_release(k->lock);
    remove_refusing_kubeconfig(k);
    if (k->effects)
        effects_free(k->effects);
    asks_free(k->asks);
    displays_free(k->displays);
    works_free(k->works);
    port_free(k->port);
    loop_free(k->loop);
    free(k->notebook_dir);
    free(k->last_words);
    free(k->given_up);
    free(k->last_cell);
    free(k->before);
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
    if (k->unended && exit_code != GUARD_RESTART) {
        exit_code = -1; // clients did not hear of the end
        err_give(e, port_error(k->port));
    }
    if (k->abandoned ||
        !interp_end(
            k->interp)) { // the Lua thread still uses everything, and the process is about to end
        server_free(k->server);
        port_close(k->port);
        document_lock_release(k->lock);
        remove_refusing_kubeconfig(k);
    } else
        kernel_free(k);
    return exit_code;
}
