// SPDX-License-Identifier: MIT
#include "script/kernel/session/record.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/kernel/port/secrets.h"
#include "script/kernel/session/file/gitstate.h"
#include "script/kernel/session/running.h"
#include "script/protocol/message.h"

#include <sched.h>
#include <string.h>
#include <sys/utsname.h>

enum {
    SEED_BITS = 48,      // the largest integer that a double, and so other JSON readers, can
                         // represent
    FIRST_CELL_MS = 100, // how long the first cell waits for git
};

struct recording {
    struct git_head head;
    gitstate *git;
    loop_timer *patience; // of the first cell
    bool asked;
};

int record_seed(kernel *k, const fold *past, err *e)
{
    const char *given = k->options->seed;
    int64_t *seed = &k->interp_options.seed;
    if (given)
        return str_to_int(given, seed)
                   ? 0
                   : err_set(e, ERR_USAGE, "--seed %s: it is an integer", given);
    if (past && json_int(json_get(fold_first(past), "seed"), seed))
        return 0;
    uint64_t bits;
    random_bytes(&bits, sizeof bits);
    *seed = (int64_t)(bits >> (64 - SEED_BITS));
    return 0;
}

cJSON *record_strings(const char *const *list)
{
    cJSON *array = cJSON_CreateArray();
    for (; list && *list; list++)
        cJSON_AddItemToArray(array, cJSON_CreateString(*list));
    return array;
}

static void add_feature(cJSON *list, const char *name, bool has)
{
    if (has)
        cJSON_AddItemToArray(list, cJSON_CreateString(name));
}

// Properties of the machine that change how numbers are rounded.
static cJSON *features(void)
{
    cJSON *list = cJSON_CreateArray();
#if defined __x86_64__
#define X86(name) add_feature(list, name, __builtin_cpu_supports(name))
    X86("sse4.2");
    X86("avx");
    X86("fma");
    X86("avx2");
    X86("avx512f");
    X86("avx512bw");
    X86("avx512dq");
    X86("avx512vl");
    X86("avx512bf16");
#undef X86
#else
    add_feature(list, "", false);
#endif
    return list;
}

static cJSON *machine(void)
{
    cJSON *m = cJSON_CreateObject();
    struct utsname name;
    cpu_set_t cpus;
    if (uname(&name) == 0) {
        AUTO_FREE char *system = str_fmt("%s %s", name.sysname, name.release);
        json_set_str(m, "arch", name.machine);
        json_set_str(m, "system", system);
    }
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        json_set_int(m, "cpus", CPU_COUNT(&cpus));
    json_set(m, "features", features());
    return m;
}

// Variables that decide which programs are found, how many threads they start, how they print
// numbers.
static bool matters(const char *name)
{
    static const char *const begins[] = {"FIRESTEEL_", "OMP_", "MKL_", "OPENBLAS_", "KMP_", "LD_",
        "LC_", "PYTHON", "SPARK_", "CUDA_", "NCCL_", "HOROVOD_", "TF_", "TORCH_", "XLA_", "KERAS_",
        "JAX_"};
    static const char *const names[] = {"PATH", "LANG", "TZ", "HOME", "JAVA_HOME", "KUBECONFIG"};
    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (str_starts(name, begins[i]))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(name, names[i]))
            return true;
    return false;
}

static cJSON *inherited(mask *m, const char *const *env)
{
    cJSON *all = cJSON_CreateObject();
    for (; env && *env; env++) {
        const char *equals = strchr(*env, '=');
        AUTO_FREE char *name = equals ? mem_strndup(*env, (size_t)(equals - *env)) : NULL;
        if (!name || !matters(name))
            continue;
        AUTO_FREE char *digest = secrets_digest(m, name, equals + 1);
        json_set_str(all, name, digest);
    }
    return all;
}

static cJSON *git_of(const struct git_head *head, const err *why)
{
    cJSON *git = cJSON_CreateObject();
    if (why->code) {
        json_set_str(git, "unknown", why->text);
        return git;
    }
    json_set_str(git, "commit", *head->commit ? head->commit : NULL);
    json_set_str(git, "branch", head->branch);
    json_set_str(git, "root", head->tree);
    return git;
}

static void add_git(kernel *k, cJSON *event)
{
    err why = {0};
    if (k->options->no_git)
        return;
    git_head_read(k->notebook_dir, &k->recording->head, &why);
    if (why.code != ERR_NOT_FOUND)
        json_set(event, "git", git_of(&k->recording->head, &why));
}

void record_origin(kernel *k)
{
    const char *path = document_path(k->document);
    struct git_head head = {0};
    err why = {0};
    k->effects->notebook = path ? path_basename(path) : NULL;
    if (!k->options->no_git)
        git_head_read(k->notebook_dir, &head, &why);
    if (!why.code && *head.commit)
        k->effects->commit = mem_strdup(head.commit);
    git_head_done(&head);
}

void record_first(kernel *k, cJSON *event)
{
    k->recording = mem_alloc(sizeof *k->recording);
    *k->recording = (struct recording){0};
    if (k->options->command)
        json_set(event, "command", record_strings(k->options->command));
    json_set_str(event, "allow", k->options->allow);
    json_set_str(event, "from", k->options->from);
    json_set_str(event, "before", k->before);
    json_set_int(event, "seed", k->interp_options.seed);
    add_git(k, event);
    json_set(event, "machine", machine());
    json_set(event, "environment", inherited(port_mask(k->port), k->options->env));
}

static void stop_waiting(kernel *k)
{
    if (!k->waiting_for_git)
        return;
    k->waiting_for_git = false;
    loop_timer_stop(k->recording->patience);
    running_go_on(k);
}

static void on_patience(void *arg)
{
    stop_waiting(arg);
}

static void on_git(void *arg, cJSON *state)
{
    kernel *k = arg;
    if (k->stopping) { // nothing follows the end
        cJSON_Delete(state);
        return;
    }
    cJSON *event = message_new(MESSAGE_learned);
    json_set(event, "git", state);
    port_emit(k->port, event);
    stop_waiting(k);
}

void record_ask_git(kernel *k, bool waits)
{
    struct recording *r = k->recording;
    if (!r || r->asked || !*r->head.commit)
        return;
    r->asked = true;
    struct gitstate_spec spec = {
        .loop = k->loop, .head = &r->head, .env = k->options->env, .runtime = k->options->runtime};
    r->git = gitstate_ask(&spec, on_git, k);
    if (!r->git || !waits)
        return;
    k->waiting_for_git = true;
    r->patience = loop_timer_new(k->loop, on_patience, k);
    loop_timer_start(r->patience, FIRST_CELL_MS, 0);
}

void record_done(kernel *k)
{
    struct recording *r = k->recording;
    if (!r)
        return;
    gitstate_free(r->git);
    loop_timer_free(r->patience);
    git_head_done(&r->head);
    free(r);
}
