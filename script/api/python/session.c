// SPDX-License-Identifier: MIT
#include "script/api/python/session.h"

#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/python/asked.h"
#include "script/api/python/calls.h"
#include "script/api/python/cell.h"
#include "script/api/python/followed.h"
#include "script/api/python/message.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum {
    WORDS_MOST = 1000,
    END_MS = 1500, // that kernels get at the run's end
    END_STEP_MS = 5,
};
#define CALLS_START "__import__('firesteel._link')" // it takes the socket before there are children
#define SUBSHELLS   "kernel subshells"

// Lines to firesteel-jupyter.

void session_send(struct session *s, cJSON *line)
{
    AUTO_BUF text = {0};
    json_print(&text, line);
    buf_char(&text, '\n');
    cJSON_Delete(line);
    if (s->child)
        child_write(s->child, text.data, text.len);
}

cJSON *session_order(const char *what)
{
    cJSON *line = cJSON_CreateObject();
    json_set_str(line, "do", what);
    return line;
}

void session_request(
    struct session *s, const char *channel, const char *type, const char *id, cJSON *content)
{
    cJSON *line = session_order("send");
    json_set_str(line, "channel", channel);
    json_set_str(line, "type", type);
    json_set_str(line, "id", id);
    json_set(line, "content", content);
    session_send(s, line);
}

cJSON *session_execute(const char *code, bool silent)
{
    cJSON *content = cJSON_CreateObject();
    json_set_str(content, "code", code);
    json_set_bool(content, "silent", silent);
    json_set_bool(content, "store_history", !silent);
    json_set(content, "user_expressions", cJSON_CreateObject());
    return content;
}

// Lines from it.

static void take_opened(struct session *s)
{
    struct run *r = s->run;
    if (!r || !r->kubeconfig || r->opened)
        return;
    r->opened = true;
    run_wake(r);
}

static void take_fault(struct session *s, const cJSON *line)
{
    AUTO_FREE char *text = str_fmt("%s: %s\n", s->name, json_str_or(line, "text", "?"));
    if (s->run)
        call_output(s->run->call, "stderr", text, strlen(text));
}

// Kernels of other languages that are made with ipykernel's class (bash_kernel) say that they have
// subshells, too, but their program would take the question for input of the command that runs.
static bool has_subshells(const cJSON *info)
{
    const cJSON *feature;
    if (!str_eq(json_str(info, "implementation"), "ipython"))
        return false;
    cJSON_ArrayForEach(feature, json_get(info, "supported_features"))
    {
        if (str_eq(cJSON_GetStringValue(feature), SUBSHELLS))
            return true;
    }
    return false;
}

static void take_line(struct session *s, const char *text, size_t n)
{
    AUTO_JSON *line = json_parse(text, n, NULL);
    const char *is = json_str_or(line, "is", "");
    if (str_eq(is, "message")) {
        message_take(s, line);
    } else if (str_eq(is, "call")) {
        calls_take(s, line);
    } else if (str_eq(is, "opened")) {
        take_opened(s);
    } else if (str_eq(is, "unwatched")) {
        s->unwatched = true;
    } else if (str_eq(is, "fault")) {
        take_fault(s, line);
    } else if (str_eq(is, "down")) {
        free(s->words);
        s->words = mem_strdup(json_str(line, "text"));
    } else if (str_eq(is, "up")) {
        s->up = true;
        s->subshells = has_subshells(json_get(line, "info"));
        if (s->run) {
            s->run->info = cJSON_Duplicate(json_get(line, "info"), true);
            if (run_has_calls(s->run))
                session_request(
                    s, "shell", "execute_request", "start", session_execute(CALLS_START, true));
            cell_send(s->run);
        }
    }
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct session *s = arg;
    if (fd != 1) { // the loader's: a library is missing
        s->words = s->words ? s->words : str_fmt("%.*s", (int)n, bytes);
        return;
    }
    buf_add(&s->lines, bytes, n);
    size_t from = 0;
    for (char *end; (end = memchr(s->lines.data + from, '\n', s->lines.len - from));) {
        take_line(s, s->lines.data + from, (size_t)(end - s->lines.data) - from);
        from = (size_t)(end - s->lines.data) + 1;
    }
    buf_consume(&s->lines, from);
}

// The life of a session.

void session_clear(struct session *s)
{
    message_drop(s);
    child_free(STEAL(s->child));
    if (s->folder)
        owner_remove(s->folder, &s->owner);
    free(STEAL(s->folder));
    free(STEAL(s->subshell));
    free(STEAL(s->told));
    buf_clear(&s->lines);
    s->up = s->clears = s->subshells = false;
    s->hung = 0;
}

// firesteel-jupyter tells why before it ends.
static void on_exited(void *arg, int code, int signum)
{
    struct session *s = arg;
    bool was_up = s->up;
    AUTO_FREE char *words = STEAL(s->words);
    session_clear(s);
    s->lost = was_up;
    asked_lost(s);
    if (!s->run)
        return;
    const char *told = words ? words : "firesteel-jupyter was killed";
    err_set(&s->run->failed, ERR_FAILED, "Jupyter's kernel %s %s: %s%s", s->name,
        was_up ? "has ended" : "did not start", str_short(told, WORDS_MOST).text,
        was_up ? ". Its variables are gone; the next cell starts another one" : "");
    run_wake(s->run);
}

static const struct child_ops child_callbacks = {.output = on_output, .exited = on_exited};

static cJSON *start_order(const struct session *s, const struct run *r)
{
    cJSON *line = session_order("start"), *argv = json_array_at(line, "argv");
    for (char **word = r->spec->argv; *word; word++)
        cJSON_AddItemToArray(argv, cJSON_CreateString(*word));
    json_set_str(line, "cwd", call_cwd(r->call));
    json_set_str(line, "folder", s->folder);
    json_set_str(line, "watched", FOLLOWED_NAME);
    json_set_bool(line, "by_message", r->spec->by_message);
    if (run_has_calls(r))
        json_set_int(line, "calls", CALLS_FD);
    if (r->spec->is_xeus)
        json_set_int(line, "near", NEAR_FD);
    return line;
}

int session_start(struct session *s, struct run *r, err *e)
{
    const char *argv[] = {call_paths(r->call)->jupyter, NULL};
    s->folder = owner_make_folder(call_runtime(r->call), "jupyter-", &s->owner, e);
    if (!s->folder)
        return err_wrap(e, "the sockets of %s", s->name);
    if (followed_set(s->folder, NULL, r->refusing, e) < 0) {
        session_clear(s);
        return -1;
    }
    AUTO_FREE char *kubeconfig = path_join(s->folder, FOLLOWED_NAME);
    r->env = env_set(r->env, "KUBECONFIG", kubeconfig);
    struct child_spec spec = {.argv = argv, .env = (const char *const *)r->env, .keep_stdin = true};
    s->child = child_spawn(s->loop, &spec, &child_callbacks, s, e);
    if (!s->child) {
        session_clear(s);
        return -1;
    }
    session_send(s, start_order(s, r));
    return 0;
}

struct session *session_find(const struct hub *hub, const char *path)
{
    struct session *s = hub->sessions;
    while (s && !str_eq(s->path, path))
        s = s->next;
    return s;
}

struct session *session_of(struct hub *hub, const struct run *r)
{
    struct session *s = session_find(hub, r->spec->path);
    if (s)
        return s;
    s = mem_alloc(sizeof *s);
    *s = (struct session){.path = mem_strdup(r->spec->path),
        .name = mem_strdup(r->spec->name),
        .language = mem_strdup(r->spec->language),
        .is_python = spec_is_python(r->spec),
        .loop = call_loop(r->call),
        .owner = -1,
        .next = hub->sessions};
    return hub->sessions = s;
}

static void end_session(struct session *s)
{
    siginfo_t ended = {0};
    if (s->child)
        session_send(s, session_order("end"));
    for (int ms = 0; s->child && ms < END_MS; ms += END_STEP_MS) {
        int waited = waitid(P_PID, (id_t)child_pid(s->child), &ended, WEXITED | WNOHANG | WNOWAIT);
        if (waited < 0 || ended.si_pid)
            break;
        nanosleep(&(struct timespec){.tv_nsec = END_STEP_MS * 1000000L}, NULL);
    }
    session_clear(s);
    loop_timer_free(s->again);
    buf_done(&s->lines);
    buf_done(&s->late);
    free(s->path);
    free(s->name);
    free(s->language);
    free(s->words);
    free(s);
}

void hub_drop(void *arg)
{
    struct hub *hub = arg;
    while (hub->sessions) {
        struct session *s = hub->sessions;
        hub->sessions = s->next;
        end_session(s);
    }
    free(hub->python);
    free(hub);
}

void *hub_make(call *c, err *e)
{
    return mem_alloc(sizeof(struct hub));
}
