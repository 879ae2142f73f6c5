// SPDX-License-Identifier: MIT
#include "script/bind/process.h"

#include "base/digest.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#include <signal.h>
#include <string.h>

enum { HALF = 512 << 10, STEP_MS = 1000 };

// Keeps the first and the last half MiB of an output. `tail` is a ring.
struct keeper {
    buf head, tail;
    size_t at; // the oldest byte of a full tail
    uint64_t left_out;
};

struct job {
    call *call;
    const struct process_spec *spec;
    struct process_result *result;
    err error;
    child *child;
    loop_pending *pending;
    loop_timer *escalate;
    size_t step;
    struct keeper kept;
};

static void keep(struct keeper *k, const char *bytes, size_t n)
{
    size_t room = k->head.len < HALF ? HALF - k->head.len : 0;
    size_t first = n < room ? n : room;
    buf_add(&k->head, bytes, first);
    for (bytes += first, n -= first; n > 0;) {
        if (k->tail.len < HALF) {
            size_t part = n < HALF - k->tail.len ? n : HALF - k->tail.len;
            buf_add(&k->tail, bytes, part);
            bytes += part;
            n -= part;
            continue;
        }
        size_t part = n < HALF - k->at ? n : HALF - k->at;
        memcpy(k->tail.data + k->at, bytes, part);
        k->at = (k->at + part) % HALF;
        k->left_out += part;
        bytes += part;
        n -= part;
    }
}

// Takes what was kept, as valid UTF-8, with a note where the middle is missing.
static void take_kept(struct keeper *k, buf *out)
{
    AUTO_BUF all = {0};
    buf_add(&all, k->head.data, k->head.len);
    if (k->left_out > 0)
        buf_fmt(&all, "\n[… %llu bytes left out …]\n", (unsigned long long)k->left_out);
    if (k->tail.len > 0) {
        buf_add(&all, k->tail.data + k->at, k->tail.len - k->at);
        buf_add(&all, k->tail.data, k->at);
    }
    for (size_t i = 0; i < all.len; i++)
        if (all.data[i] == '\0')
            all.data[i] = ' '; // our JSON strings cannot have NULs
    utf8_clean(out, buf_cstr(&all), all.len);
    buf_done(&k->head);
    buf_done(&k->tail);
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct job *j = arg;
    if (fd == j->spec->extra_fd && j->spec->extra_fd) {
        if (j->spec->extra)
            j->spec->extra(j->spec->arg, bytes, n);
        return;
    }
    keep(&j->kept, bytes, n);
    if (!j->spec->quiet)
        call_output(j->call, fd == 2 ? "stderr" : "stdout", bytes, n);
}

static void finish(struct job *j)
{
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
    loop_timer_start(j->escalate, STEP_MS, 0);
}

static void cancel(loop_pending *pending, void *arg)
{
    struct job *j = arg;
    j->escalate = loop_timer_new(call_loop(j->call), escalate, j);
    escalate(j);
}

int process_run(call *c, const struct process_spec *spec, struct process_result *result, err *e)
{
    static const struct loop_call_ops ops = {.start = start, .cancel = cancel};
    struct job j = {.call = c, .spec = spec, .result = result};
    *result = (struct process_result){.code = -1};
    int done = loop_call(call_loop(c), call_canceller(c), &ops, &j, 0, e);
    take_kept(&j.kept, &result->output);
    if (done == 0 && j.error.code) {
        if (e)
            *e = j.error;
        return -1;
    }
    return done;
}

void process_hash_files(cJSON *files, const char *at, const cJSON *names)
{
    for (const cJSON *name = names ? names->child : NULL; name; name = name->next) {
        char hex[SHA256_HEX];
        if (!cJSON_IsString(name))
            continue;
        AUTO_FREE char *path = path_join(at, name->valuestring);
        bool there = sha256_file(path, hex, NULL) == 0;
        json_set(files, name->valuestring, there ? cJSON_CreateString(hex) : cJSON_CreateNull());
    }
}

bool process_files_same(const char *at, const cJSON *recorded)
{
    for (const cJSON *file = recorded ? recorded->child : NULL; file; file = file->next) {
        char hex[SHA256_HEX];
        AUTO_FREE char *path = path_join(at, file->string);
        bool there = sha256_file(path, hex, NULL) == 0;
        if (!there || !str_eq(hex, cJSON_GetStringValue(file)))
            return false;
    }
    return true;
}
