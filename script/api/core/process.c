// SPDX-License-Identifier: MIT
#include "script/api/core/process.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/core/kept.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

enum { STEP_MS = 1000 };

struct job {
    call *call;
    const struct process_spec *spec;
    struct process_result *result;
    err error;
    child *child;
    loop_pending *pending;
    loop_timer *escalate;
    size_t step;
    bool finished;
    struct kept kept;
};

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct job *j = arg;
    if (fd == j->spec->extra_fd && j->spec->extra_fd) {
        if (j->spec->extra)
            j->spec->extra(j->spec->arg, bytes, n);
        return;
    }
    kept_add(&j->kept, bytes, n);
    if (j->spec->output)
        j->spec->output(j->spec->arg, fd, bytes, n);
    else if (!j->spec->quiet)
        call_output(j->call, fd == 2 ? "stderr" : "stdout", bytes, n);
}

static void finish(struct job *j)
{
    j->finished = true;
    child_free(j->child);
    loop_timer_free(j->escalate);
    loop_call_finish(j->pending);
}

static void on_exited(void *arg, int code, int signum)
{
    struct job *j = arg;
    j->result->code = code;
    j->result->signal = code < 0 ? signum : 0;
    finish(j);
}

static const struct child_ops child_callbacks = {.output = on_output, .exited = on_exited};

static void start(loop_pending *pending, void *arg)
{
    struct job *j = arg;
    const struct process_spec *s = j->spec;
    j->pending = pending;
    struct child_spec spec = {.argv = s->argv,
        .env = s->env,
        .cwd = s->cwd,
        .input = s->input,
        .input_n = s->input_n,
        .extra_fd = s->extra_fd};
    j->child = child_spawn(call_loop(j->call), &spec, &child_callbacks, j, &j->error);
    if (!j->child)
        loop_call_finish(pending);
}

static void escalate(void *arg)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
    struct job *j = arg;
    if (j->step == ARRAY_LEN(signals)) {
        err_set(&j->error, ERR_CANCELLED,
            "process %d cannot be ended: it is another user's, or hangs", child_pid(j->child));
        finish(j);
        return;
    }
    child_kill(j->child, signals[j->step++]);
    loop_timer_start(j->escalate, j->spec->grace_ms ? j->spec->grace_ms : STEP_MS, 0);
}

static void cancel(loop_pending *pending, void *arg)
{
    struct job *j = arg;
    if (j->escalate)
        return; // it is being ended already
    j->escalate = loop_timer_new(call_loop(j->call), escalate, j);
    escalate(j);
}

static void end_now(loop_pending *pending, void *arg)
{
    struct job *j = arg;
    if (!j->finished)
        cancel(NULL, j);
    loop_call_finish(pending);
}

static void do_nothing(loop_pending *pending, void *arg)
{
}

static void meanwhile(void *arg)
{
    static const struct loop_call_ops ops = {.start = end_now, .cancel = do_nothing};
    struct job *j = arg;
    if (!j->spec->meanwhile(j->spec->arg))
        loop_call(call_loop(j->call), NULL, &ops, j, 0, &(err){0});
}

int process_run(call *c, const struct process_spec *spec, struct process_result *result, err *e)
{
    struct loop_call_ops ops = {.start = start,
        .cancel = cancel,
        .meanwhile = spec->meanwhile ? meanwhile : NULL,
        .every = spec->every};
    struct job j = {.call = c, .spec = spec, .result = result};
    j.kept.most = spec->data ? KEPT_DATA : KEPT_LOG;
    *result = (struct process_result){.code = -1};
    canceller *interrupt = spec->within ? NULL : call_canceller(c);
    int64_t deadline = spec->within ? clock_add(clock_mono(), spec->within) : 0;
    int done = loop_call(call_loop(c), interrupt, &ops, &j, deadline, e);
    result->left_out = kept_take(&j.kept, &result->output);
    return done == 0 ? err_give(e, &j.error) : done;
}

static int64_t bytes_of(const char *at, const cJSON *names)
{
    int64_t bytes = 0;
    for (const cJSON *name = names ? names->child : NULL; name; name = name->next) {
        AUTO_FREE char *path = path_join(at, cJSON_IsString(name) ? name->valuestring : "");
        struct stat st;
        bytes += stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    }
    return bytes;
}

static void hash_files(
    cJSON *files, const char *at, const cJSON *names, const struct work_watch *watch)
{
    for (const cJSON *name = names ? names->child : NULL; name; name = name->next) {
        char hex[SHA256_HEX];
        if (!cJSON_IsString(name))
            continue;
        AUTO_FREE char *path = path_join(at, name->valuestring);
        int64_t size;
        bool there = sha256_read(path, watch, &size, hex, NULL) == 0;
        json_set(files, name->valuestring, there ? cJSON_CreateString(hex) : cJSON_CreateNull());
        work_part(work_of(watch), false);
    }
}

void process_hash_files(call *c, cJSON *files, const char *at, const cJSON *names)
{
    int n = cJSON_GetArraySize(names);
    if (n == 0)
        return;
    struct work work;
    const char *first = cJSON_IsString(names->child) ? names->child->valuestring : "files";
    AUTO_FREE char *what = n == 1 ? str_fmt("read %s", first) : str_fmt("read %d files", n);
    call_work(c, &work, what, WORK_BYTES, "files");
    work_phase(&work, "hashing", WORK_BYTES, bytes_of(at, names));
    if (n > 1)
        work_parts(&work, n);
    hash_files(files, at, names, &(struct work_watch){&work, call_goes_on, c});
    call_work_end(c, &work);
}

void process_record_inputs(call *c, const char *below, const cJSON *files)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, files)
    {
        if (!cJSON_IsString(file))
            continue;
        cJSON *input = cJSON_CreateObject();
        json_set_str(input, "sha256", file->valuestring);
        AUTO_FREE char *name = path_join(below ? below : "", file->string);
        call_recorded(c, "input", below ? name : file->string, input);
    }
}

void process_record_program(call *c, const char *path)
{
    struct stat st;
    AUTO_BUF date = {0};
    if (stat(path, &st) < 0)
        return;
    cJSON *program = cJSON_CreateObject();
    clock_rfc3339(&date, (int64_t)st.st_mtim.tv_sec * CLOCK_SEC, CLOCK_SECONDS);
    json_set_int(program, "size", st.st_size);
    json_set_str(program, "mtime", buf_cstr(&date));
    call_recorded(c, "program", path, program);
}

// Do all files exist, with the hashes in `recorded`? A file that was missing then never counts as
// the same.
static bool files_same(const char *at, const cJSON *recorded, const struct work_watch *watch)
{
    for (const cJSON *file = recorded ? recorded->child : NULL; file; file = file->next) {
        char hex[SHA256_HEX];
        AUTO_FREE char *path = path_join(at, file->string);
        int64_t size;
        bool there = sha256_read(path, watch, &size, hex, NULL) == 0;
        if (!there || !str_eq(hex, cJSON_GetStringValue(file)))
            return false;
    }
    return true;
}

int process_verify(call *c, const char *at, const cJSON *recorded, bool quiet)
{
    struct work work;
    call_work(c, &work, "look whether files are as they were", WORK_BYTES, NULL);
    bool same =
        recorded && json_int_or(recorded, "code", -1) == 0 &&
        files_same(at, json_get(recorded, "files"), &(struct work_watch){&work, call_goes_on, c});
    call_work_end(c, &work);
    if (!same)
        return VERDICT_NO;
    const char *output = json_str_or(recorded, "output", "");
    if (!quiet)
        call_output(c, "stdout", output, strlen(output));
    return VERDICT_YES;
}
