// SPDX-License-Identifier: MIT
// Cells in Python and other languages: the text goes to a Jupyter kernel, and what that says comes
// below the cell. A kernel belongs to the run as Lua's state does: it is started by the first cell
// that needs it, keeps its variables, and ends with us. Nothing of it is in the journal, so a
// resumed run does each of its cells again.
//
//   start ──loop_call──> begin: session ── lines of JSON ── firesteel-jupyter ── the kernel
//     ▲                             │
//     └── its end, a question, <────┘     (script/jupyter/bridge.h has the lines)
//         or a call: `import firesteel` in Python asks for a function of our own API, which the
//         cell's thread does for it (core.hooks.serve)
//
// All of a session belongs to the loop's thread.
#include "base/data/digest.h"
#include "base/json/secret.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/python/followed.h"
#include "script/jupyter/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>

#define NO_STDIN "StdinNotImplementedError" // IPython's, when a question cannot be asked

enum {
    LATE_MOST = 1 << 16, // bytes that are kept of what is printed between two cells
    WORDS_MOST = 1000,
    // An interrupt that Python raises where exceptions are ignored (a destructor, a callback) is
    // lost.
    AGAIN_MS = 2500,
    END_MS = 1500, // that kernels get at the run's end
    END_STEP_MS = 5,
    CALLS_FD = 3, // in a kernel for Python
};
#define USED        "cluster" // in the ledger: its programs have used the cluster
#define CALLS_START "__import__('firesteel._link')" // it takes the socket before there are children

// A display that the kernel can change by its name.
struct shown {
    char *name;
    display *display;
    struct session *session;
    struct shown *next;
};

struct session {
    char *path, *name; // of its kernelspec
    loop *loop;
    child *child; // firesteel-jupyter; NULL: it is not there
    bool up;
    bool lost;    // it has ended by itself: its variables are gone
    char *words;  // why it has ended
    char *folder; // of its sockets
    int owner;
    int64_t sent;      // requests so far
    bool unwatched;    // nobody can tell who opens its kubeconfig
    bool clears;       // before the next output
    loop_timer *again; // repeats an interrupt; NULL: there was none yet
    buf lines, late;
    struct shown *shown;
    struct run *run;     // the cell at which it is; NULL: none
    struct asked *asked; // and what it is asked between two cells; NULL: nothing
    struct session *next;
};

struct hub {
    struct session *sessions;
    char *python; // the cell's thread: the kernel that the last cell in Python had; NULL: none
    bool used;    // a cell's programs have used the cluster
    bool clients; // and there may be a client, which needs no kubeconfig any more
    bool lent;    // a person has let this notebook's programs use the cluster
};

// One cell, on the stack of its thread.
struct run {
    call *call;
    struct hub *hub;
    const struct spec *spec;
    const char *code;
    const char *expression; // of a silent one: its value is wanted; NULL: a cell
    cJSON *value;           // of it; NULL: none
    char **env;
    struct session *session;
    loop_pending *pending; // NULL: the thread does not wait
    char id[32];           // of its request; "": not yet sent
    bool idle, replied;
    char *kubeconfig;     // what its programs may use; NULL: none
    const char *refusing; // the path of the one that refuses
    bool opened, noted;   // its programs have opened that one; the journal has it
    bool stops;           // it was interrupted: no call is done any more
    cJSON *wanted;        // the call that it waits for; NULL: none
    cJSON *served;        // the answer to it
    char *refusal;        // of a call that was not granted: its message; NULL: none
    char *question;       // it waits for an answer to this; NULL: to none
    bool secret;
    const char *answer;
    cJSON *error; // {name, message, traceback}
    cJSON *info;  // of a kernel that was started for it
    err failed;
};

// A question about names, on the stack of its thread.
struct asked {
    call *call;
    struct hub *hub;
    const struct spec *spec;
    const char *type; // of the request
    cJSON *content;   // taken when it is sent
    struct session *session;
    loop_pending *pending;
    char id[32];
    cJSON *reply; // NULL: none
};

// Lines to firesteel-jupyter.

static void send_line(struct session *s, cJSON *line)
{
    AUTO_BUF text = {0};
    json_print(&text, line);
    buf_char(&text, '\n');
    cJSON_Delete(line);
    if (s->child)
        child_write(s->child, text.data, text.len);
}

static cJSON *order(const char *what)
{
    cJSON *line = cJSON_CreateObject();
    json_set_str(line, "do", what);
    return line;
}

static void send_request(
    struct session *s, const char *channel, const char *type, const char *id, cJSON *content)
{
    cJSON *line = order("send");
    json_set_str(line, "channel", channel);
    json_set_str(line, "type", type);
    json_set_str(line, "id", id);
    json_set(line, "content", content);
    send_line(s, line);
}

// The thread goes on.
static void wake(struct run *r)
{
    if (r->pending)
        loop_call_finish(STEAL(r->pending));
}

static bool has_calls(const struct run *r)
{
    return call_paths(r->call)->python && strcasecmp(r->spec->language, "python") == 0;
}

static cJSON *execute_request(const char *code, bool silent)
{
    cJSON *content = cJSON_CreateObject();
    json_set_str(content, "code", code);
    json_set_bool(content, "silent", silent);
    json_set_bool(content, "store_history", !silent);
    json_set(content, "user_expressions", cJSON_CreateObject());
    return content;
}

// What is asked after a cell: which names it has read and set.
static char *ask_names(const struct run *r)
{
    if (!has_calls(r))
        return NULL;
    AUTO_JSON *code = cJSON_CreateString(r->code);
    AUTO_FREE char *text = json_to_str(code);
    return str_fmt("__import__('firesteel._names')._names.of(%s)", text);
}

static void follow(struct run *r, const char *text)
{
    err e = {0};
    if (r->session->folder && followed_set(r->session->folder, text, r->refusing, &e) < 0)
        r->failed = e;
}

static void send_cell(struct run *r)
{
    follow(r, r->kubeconfig);
    r->opened = r->hub->clients || (r->kubeconfig && r->session->unwatched);
    if (r->opened)
        wake(r);
    cJSON *content = execute_request(r->code, r->expression != NULL);
    AUTO_FREE char *names = r->expression ? NULL : ask_names(r);
    const char *expression = r->expression ? r->expression : names;
    if (expression)
        json_set_str(json_object_at(content, "user_expressions"), "value", expression);
    snprintf(r->id, sizeof r->id, "cell-%lld", (long long)++r->session->sent);
    json_set_bool(content, "allow_stdin", !call_is_headless(r->call));
    json_set_bool(content, "stop_on_error", true);
    send_request(r->session, "shell", "execute_request", r->id, content);
    if (r->session->late.len)
        call_output(r->call, "stdout", r->session->late.data, r->session->late.len);
    buf_clear(&r->session->late);
}

static bool must_note(const struct run *r)
{
    return r->opened && !r->noted;
}

static void wake_if_over(struct run *r)
{
    if (r->idle && r->replied)
        wake(r);
}

// Displays.

static void shown_free(struct shown *one)
{
    struct shown **at = &one->session->shown;
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    display_close(one->display, NULL);
    free(one->name);
    free(one);
}

static void on_shown_end(void *arg)
{
    shown_free(arg);
}

static void show_named(struct run *r, const char *name, cJSON *data)
{
    struct shown *one = mem_alloc(sizeof *one);
    *one = (struct shown){.name = mem_strdup(name),
        .display = call_display(r->call, data, true),
        .session = r->session,
        .next = r->session->shown};
    r->session->shown = one;
    display_on_end(one->display, on_shown_end, NULL, one);
    display_on_drain(one->display, on_shown_end, one, false);
}

static void take_display(struct run *r, cJSON *content)
{
    const char *name = json_path_str(content, "transient.display_id");
    cJSON *data = call_bundle(json_get(content, "data"));
    if (name)
        show_named(r, name, data);
    else
        call_display(r->call, data, false);
}

static void take_update(struct session *s, cJSON *content)
{
    const char *name = json_path_str(content, "transient.display_id");
    for (struct shown *one = s->shown; one; one = one->next)
        if (str_eq(one->name, name))
            display_replace(one->display, call_bundle(json_get(content, "data")));
}

// What the kernel says of a cell.

static void take_stream(struct run *r, cJSON *content)
{
    const char *text = json_str_or(content, "text", "");
    bool bad = str_eq(json_str(content, "name"), "stderr");
    call_output(r->call, bad ? "stderr" : "stdout", text, strlen(text));
}

static void take_result(struct run *r, cJSON *content)
{
    call_result(r->call, call_bundle(json_get(content, "data")));
}

// What cannot be asked: ipykernel's words are about frontends, and its last two frames its own.
static void explain_no_stdin(cJSON *error)
{
    cJSON *trace = json_array_at(error, "traceback");
    json_set_str(error, "message",
        "nobody can be asked in a headless run: make it a variable, or run the notebook in the "
        "workbench");
    for (int i = 0, n = cJSON_GetArraySize(trace); i < 2 && n > 2; i++)
        cJSON_DeleteItemFromArray(trace, --n);
}

static void take_error(struct run *r, cJSON *content)
{
    const char *name = json_str_or(content, "ename", "");
    const cJSON *trace = json_get(content, "traceback");
    cJSON_Delete(r->error);
    r->error = cJSON_CreateObject();
    json_set_str(r->error, "name", *name ? name : "error");
    json_set_str(r->error, "message", json_str_or(content, "evalue", ""));
    json_set(r->error, "traceback",
        cJSON_IsArray(trace) ? cJSON_Duplicate(trace, true) : cJSON_CreateArray());
    if (str_eq(name, NO_STDIN) && call_is_headless(r->call))
        explain_no_stdin(r->error);
}

static void take_status(struct run *r, cJSON *content)
{
    r->idle = r->idle || str_eq(json_str(content, "execution_state"), "idle");
    wake_if_over(r);
}

static void take_clear(struct run *r, cJSON *content)
{
    r->session->clears = json_bool_or(content, "wait", false);
    if (!r->session->clears)
        call_clear(r->call);
}

// IPython's pager: `name?`
static void take_pages(struct run *r, const cJSON *payload)
{
    const cJSON *part;
    cJSON_ArrayForEach(part, payload)
    {
        const char *text = str_eq(json_str(part, "source"), "page")
                               ? json_str(json_get(part, "data"), "text/plain")
                               : NULL;
        if (!text)
            continue;
        call_output(r->call, "stdout", text, strlen(text));
        call_output(r->call, "stdout", "\n", 1);
    }
}

static void take_reply(struct run *r, cJSON *content)
{
    const char *status = json_str_or(content, "status", "ok");
    take_pages(r, json_get(content, "payload"));
    cJSON *value = (cJSON *)json_path(content, "user_expressions.value");
    if (!str_eq(status, "ok") && !r->error)
        take_error(r, content); // it said nothing on iopub
    else if (value && r->expression && !str_eq(json_str(value, "status"), "ok"))
        take_error(r, value);
    else if (value)
        r->value = cJSON_Duplicate(json_get(json_get(value, "data"), "application/json"), true);
    r->replied = true;
    wake_if_over(r);
}

static void take_question(struct run *r, cJSON *content)
{
    free(r->question);
    r->question = mem_strdup(json_str_or(content, "prompt", ""));
    r->secret = json_bool_or(content, "password", false);
    wake(r);
}

static const struct {
    const char *channel, *type;
    void (*take)(struct run *r, cJSON *content);
    bool output; // clear_output may wait for it
} messages[] = {
    {"iopub", "stream", take_stream, true},
    {"iopub", "display_data", take_display, true},
    {"iopub", "execute_result", take_result, true},
    {"iopub", "error", take_error, true},
    {"iopub", "status", take_status},
    {"iopub", "clear_output", take_clear},
    {"shell", "execute_reply", take_reply},
    {"stdin", "input_request", take_question},
};

static void take_of_run(struct run *r, const char *channel, const char *type, cJSON *content)
{
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        if (!str_eq(messages[i].type, type) || !str_eq(messages[i].channel, channel))
            continue;
        if (messages[i].output && r->session->clears)
            call_clear(r->call);
        r->session->clears = r->session->clears && !messages[i].output;
        messages[i].take(r, content);
        return;
    }
}

// Of no cell that runs: of a thread that an earlier one has left.
static void take_late(struct session *s, const char *type, cJSON *content)
{
    const char *text = json_str_or(content, "text", "");
    if (!str_eq(type, "stream"))
        return;
    if (s->run && *s->run->id)
        take_stream(s->run, content);
    else if (s->late.len < LATE_MOST)
        buf_str(&s->late, str_short(text, STR_SHORT).text);
}

static void wake_asked(struct asked *a)
{
    if (a->session)
        a->session->asked = NULL;
    loop_call_finish(a->pending);
}

static void take_answer(struct asked *a, const char *channel, cJSON *content)
{
    if (!str_eq(channel, "shell"))
        return;
    a->reply = cJSON_Duplicate(content, true);
    wake_asked(a);
}

static void take_message(struct session *s, const cJSON *line)
{
    const char *type = json_str_or(line, "type", ""), *parent = json_str_or(line, "parent", "");
    cJSON *content = (cJSON *)json_get(line, "content");
    if (s->asked && str_eq(s->asked->id, parent))
        take_answer(s->asked, json_str_or(line, "channel", ""), content);
    else if (str_eq(type, "update_display_data"))
        take_update(s, content);
    else if (s->run && *s->run->id && str_eq(s->run->id, parent))
        take_of_run(s->run, json_str_or(line, "channel", ""), type, content);
    else
        take_late(s, type, content);
}

// Calls: what `import firesteel` asks for.

static void send_answer(struct session *s, cJSON *content)
{
    cJSON *line = order("answer");
    json_set(line, "content", content);
    send_line(s, line);
}

static cJSON *refused_call(const cJSON *asked, const char *kind, const char *why)
{
    cJSON *answer = cJSON_CreateObject(), *error = json_object_at(answer, "error");
    json_set_int(answer, "id", json_int_or(asked, "id", 0));
    json_set_str(error, "kind", kind);
    json_set_str(error, "message", why);
    return answer;
}

static void take_call(struct session *s, const cJSON *line)
{
    const cJSON *asked = json_get(line, "content");
    struct run *r = s->run;
    if (!r || !*r->id)
        send_answer(s, refused_call(asked, "error",
                           "no cell runs: a thread that an earlier cell has left cannot call "
                           "firesteel between cells"));
    else if (r->stops)
        send_answer(s, refused_call(asked, "interrupted", "the cell was interrupted"));
    else if (r->wanted)
        send_answer(s, refused_call(asked, "error", "calls are done one after the other"));
    else {
        r->wanted = cJSON_Duplicate(asked, true);
        wake(r);
    }
}

static void take_opened(struct session *s)
{
    struct run *r = s->run;
    if (!r || !r->kubeconfig || r->opened)
        return;
    r->opened = true;
    wake(r);
}

static void take_fault(struct session *s, const cJSON *line)
{
    AUTO_FREE char *text = str_fmt("%s: %s\n", s->name, json_str_or(line, "text", "?"));
    if (s->run)
        call_output(s->run->call, "stderr", text, strlen(text));
}

static void take_line(struct session *s, const char *text, size_t n)
{
    AUTO_JSON *line = json_parse(text, n, NULL);
    const char *is = json_str_or(line, "is", "");
    if (str_eq(is, "message")) {
        take_message(s, line);
    } else if (str_eq(is, "call")) {
        take_call(s, line);
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
        if (s->run) {
            s->run->info = cJSON_Duplicate(json_get(line, "info"), true);
            if (has_calls(s->run))
                send_request(
                    s, "shell", "execute_request", "start", execute_request(CALLS_START, true));
            send_cell(s->run);
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

static void session_clear(struct session *s)
{
    while (s->shown)
        shown_free(s->shown);
    child_free(STEAL(s->child));
    if (s->folder)
        owner_remove(s->folder, &s->owner);
    free(STEAL(s->folder));
    buf_clear(&s->lines);
    s->up = s->clears = false;
}

// firesteel-jupyter tells why before it ends.
static void on_exited(void *arg, int code, int signum)
{
    struct session *s = arg;
    bool was_up = s->up;
    AUTO_FREE char *words = STEAL(s->words);
    session_clear(s);
    s->lost = was_up;
    if (s->asked)
        wake_asked(s->asked);
    if (!s->run)
        return;
    const char *told = words ? words : "firesteel-jupyter was killed";
    err_set(&s->run->failed, ERR_FAILED, "Jupyter's kernel %s %s: %s%s", s->name,
        was_up ? "has ended" : "did not start", str_short(told, WORDS_MOST / 2).text,
        was_up ? ". Its variables are gone; the next cell starts another one" : "");
    wake(s->run);
}

static const struct child_ops child_callbacks = {.output = on_output, .exited = on_exited};

static cJSON *start_order(const struct session *s, const struct run *r)
{
    cJSON *line = order("start"), *argv = json_array_at(line, "argv");
    for (char **word = r->spec->argv; *word; word++)
        cJSON_AddItemToArray(argv, cJSON_CreateString(*word));
    json_set_str(line, "cwd", call_cwd(r->call));
    json_set_str(line, "folder", s->folder);
    json_set_bool(line, "by_message", r->spec->by_message);
    if (has_calls(r))
        json_set_int(line, "calls", CALLS_FD);
    return line;
}

static int session_start(struct session *s, struct run *r, err *e)
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
    send_line(s, start_order(s, r));
    return 0;
}

static struct session *find_session(const struct hub *hub, const struct spec *spec)
{
    struct session *s = hub->sessions;
    while (s && !str_eq(s->path, spec->path))
        s = s->next;
    return s;
}

static struct session *session_of(struct hub *hub, const struct run *r)
{
    struct session *s = find_session(hub, r->spec);
    if (s)
        return s;
    s = mem_alloc(sizeof *s);
    *s = (struct session){.path = mem_strdup(r->spec->path),
        .name = mem_strdup(r->spec->name),
        .loop = call_loop(r->call),
        .owner = -1,
        .next = hub->sessions};
    return hub->sessions = s;
}

static void tell_lost(struct run *r)
{
    AUTO_FREE char *text =
        str_fmt("%s was started anew: what cells had set in it is gone.\n", r->session->name);
    if (r->session->lost)
        call_output(r->call, "stderr", text, strlen(text));
    r->session->lost = false;
}

// Calls of the cell's thread.

static void begin(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    struct session *s = r->session = session_of(r->hub, r);
    r->pending = pending;
    if (s->run) {
        err_set(&r->failed, ERR_CONFLICT, "%s is at another cell", s->name);
        r->session = NULL;
        wake(r);
        return;
    }
    s->run = r;
    tell_lost(r);
    if (s->up)
        send_cell(r);
    else if (!s->child && session_start(s, r, &r->failed) < 0)
        wake(r);
}

static void go_on(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    cJSON *content = cJSON_CreateObject();
    r->pending = pending;
    json_set_str(content, "value", r->answer);
    free(STEAL(r->question));
    send_request(r->session, "stdin", "input_reply", "answer", content);
    if (!r->session->child || r->wanted || must_note(r))
        wake(r); // it has ended meanwhile, or a thread of it calls
}

static void go_on_noted(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    r->pending = pending;
    if (!r->session->child || r->wanted || r->question)
        wake(r);
    wake_if_over(r);
}

// A call was done.
static void hand_back(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    r->pending = pending;
    cJSON_Delete(STEAL(r->wanted));
    send_answer(r->session, STEAL(r->served));
    if (!r->session->child || must_note(r))
        wake(r); // it has ended meanwhile
    wake_if_over(r);
}

// One that meets ipykernel before it runs the cell makes it forget the request: it says that it is
// idle, and never replies.
static void interrupt(void *arg)
{
    struct session *s = arg;
    if (s->run && s->run->idle) {
        wake(s->run);
        return;
    }
    send_line(s, order("interrupt"));
    if (!s->again)
        s->again = loop_timer_new(s->loop, interrupt, s);
    loop_timer_start(s->again, AGAIN_MS, 0);
}

// As long as it starts, nothing is lost with it.
static void cancel(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    struct session *s = r->session;
    r->stops = true;
    if (r->wanted)
        send_answer(s, refused_call(r->wanted, "interrupted", "the cell was interrupted"));
    cJSON_Delete(STEAL(r->wanted));
    if (s && s->up) {
        interrupt(s);
        return;
    }
    if (s)
        session_clear(s);
    wake(r);
}

static void give_up(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    r->pending = pending;
    cancel(pending, r);
    if (!r->session->child || (r->idle && r->replied))
        wake(r);
}

static void leave(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    if (r->session) {
        if (r->kubeconfig)
            follow(r, NULL);
        r->session->run = NULL;
        loop_timer_free(STEAL(r->session->again));
    }
    loop_call_finish(pending);
}

static void do_nothing(loop_pending *pending, void *arg)
{
}

// 0: the cell is over, or `failed` says why not. -1: it was stopped.
static int wait_for(struct run *r, void (*start)(loop_pending *, void *), bool stops, err *e)
{
    const struct loop_call_ops ops = {.start = start, .cancel = stops ? cancel : do_nothing};
    return loop_call(call_loop(r->call), stops ? call_canceller(r->call) : NULL, &ops, r, 0, e);
}

static int answer_question(struct run *r, err *e)
{
    AUTO_FREE char *answer = call_ask(r->call, r->question, r->secret, e);
    r->answer = answer;
    return answer ? wait_for(r, go_on, true, e) : 1;
}

// A call that is not granted ends the cell as in Lua, if Python lets it.
static void note_refusal(struct run *r)
{
    const cJSON *error = json_get(r->served, "error");
    if (!str_eq(json_str(error, "kind"), "refused"))
        return;
    free(r->refusal);
    r->refusal = mem_strdup(json_str_or(error, "message", ""));
}

static int answer_call(struct run *r, err *e)
{
    cJSON *asked = cJSON_Duplicate(r->wanted, true);
    if (call_serve(r->call, "serve", asked, &r->served, e) < 0)
        return 1;
    json_set_int(r->served, "id", json_int_or(r->wanted, "id", 0));
    note_refusal(r);
    return wait_for(r, hand_back, true, e);
}

// A resumed run must know, whatever happens next, that this cell is not to be done again.
static int note_use(struct run *r, err *e)
{
    AUTO_JSON *made = cJSON_CreateObject();
    json_set_bool(made, USED, true);
    r->noted = true;
    return call_ledger_partial(r->call, made, e) < 0 ? 1 : wait_for(r, go_on_noted, true, e);
}

static int converse(struct run *r, err *e)
{
    int done = wait_for(r, begin, true, e);
    while (done == 0 && (must_note(r) || r->question || r->wanted))
        done = must_note(r)  ? note_use(r, e)
               : r->question ? answer_question(r, e)
                             : answer_call(r, e);
    if (done > 0)
        wait_for(r, give_up, false, &(err){0});
    return done ? -1 : 0;
}

// Of a value the digest, "" where nobody may or can tell it.
static void add_write(const struct run *r, cJSON *writes, const cJSON *told)
{
    const char *text = cJSON_GetStringValue(told);
    char hex[SHA256_SHORT] = "";
    if (text && !secret_name(told->string) && !call_is_secret(r->call, text))
        sha256_short(text, strlen(text), hex);
    json_set_str(writes, told->string, hex);
}

// The names that the cell has read and set, as its kernel tells them (firesteel._names).
static void note_names(const struct run *r)
{
    cJSON *used = cJSON_CreateObject();
    const cJSON *reads = json_get(r->value, "reads"), *told;
    if (!reads || r->expression) {
        json_set_bool(used, "unknown", true);
        call_used(r->call, used);
        return;
    }
    json_set(used, "reads", cJSON_Duplicate(reads, true));
    json_set(used, "touched", cJSON_Duplicate(json_get(r->value, "touched"), true));
    cJSON *writes = json_object_at(used, "writes");
    cJSON_ArrayForEach(told, json_get(r->value, "writes"))
    {
        add_write(r, writes, told);
    }
    call_used(r->call, used);
}

static int tell_failure(struct run *r, err *e)
{
    if (err_give(e, &r->failed) < 0)
        return -1;
    if (!r->error)
        return 0;
    const char *name = json_str_or(r->error, "name", ""),
               *message = json_str_or(r->error, "message", "");
    bool refused = str_eq(name, "Refused") && str_eq(message, r->refusal);
    err_set(e, refused ? ERR_REFUSED : ERR_FAILED, "%s: %s", name, message);
    call_failed(r->call, STEAL(r->error));
    return -1;
}

static void record_version(struct run *r)
{
    AUTO_BUF text = {0};
    if (!r->info)
        return;
    buf_fmt(&text, "%s %s (%s %s)", json_path_str(r->info, "language_info.name"),
        json_path_str(r->info, "language_info.version"),
        json_str_or(r->info, "implementation", "?"),
        json_str_or(r->info, "implementation_version", "?"));
    call_recorded(r->call, "version", r->spec->name, cJSON_CreateString(buf_cstr(&text)));
}

static int run_cell(struct run *r, err *e)
{
    static const struct loop_call_ops leaving = {.start = leave, .cancel = do_nothing};
    int done = converse(r, e);
    loop_call(call_loop(r->call), NULL, &leaving, r, 0, &(err){0});
    record_version(r);
    if (done == 0)
        done = tell_failure(r, e);
    cJSON_Delete(r->error);
    cJSON_Delete(r->info);
    cJSON_Delete(r->wanted);
    cJSON_Delete(r->served);
    free(r->question);
    free(r->refusal);
    return done;
}

// Its environment: as after `activate` where it is that of a virtual environment.
static char **environment(call *c, const struct spec *spec)
{
    char **env = call_lasting_env(c);
    const char *ours = call_paths(c)->python;
    if (ours && strcasecmp(spec->language, "python") == 0) {
        const char *path = env_get((const char *const *)env, "PYTHONPATH");
        AUTO_FREE char *all = str_fmt("%s%s%s", ours, path ? ":" : "", path ? path : "");
        AUTO_FREE char *number = str_fmt("%d", CALLS_FD);
        env = env_set(env, "PYTHONPATH", all);
        env = env_set(env, "FIRESTEEL_CALLS", number);
    }
    if (spec->bin) {
        const char *path = env_get((const char *const *)env, "PATH");
        AUTO_FREE char *first = str_fmt("%s%s%s", spec->bin, path ? ":" : "", path ? path : "");
        env = env_set(env, "PATH", first);
        env = env_set(env, "VIRTUAL_ENV", spec->prefix);
    }
    for (char **more = spec->env; *more; more++) {
        size_t n = strcspn(*more, "=");
        AUTO_FREE char *name = mem_strndup(*more, n);
        env = env_set(env, name, *more + n + ((*more)[n] == '='));
    }
    return env;
}

static int find_spec(const struct call_paths *paths, const struct spec_places *places,
    const char *kernel, bool wish, const char *language, struct spec *spec, err *e)
{
    if (paths->jupyter)
        return spec_find(places, kernel, wish, language, spec, e);
    return err_set(e, ERR_NOT_FOUND,
        "cells in %s need firesteel-jupyter, which is not here: build firesteel with libzmq "
        "(Debian: libzmq3-dev)",
        language ? language : "other languages");
}

int jupyter_find(const struct call_paths *paths, const char *cwd, const char *const *env,
    const char *kernel, bool wish, const char *language, err *e)
{
    CLEANUP(spec_done) struct spec spec = {0};
    struct spec_places places = {.env = env, .cwd = cwd, .notebook_dir = paths->notebook_dir};
    return find_spec(paths, &places, kernel, wish, language, &spec, e);
}

static void end_session(struct session *s)
{
    siginfo_t ended = {0};
    if (s->child)
        send_line(s, order("end"));
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
    free(s->words);
    free(s);
}

static void hub_drop(void *arg)
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

static void *hub_make(call *c, err *e)
{
    return mem_alloc(sizeof(struct hub));
}

static int spec_of(call *c, const cJSON *args, struct spec *spec, err *e)
{
    struct spec_places places = {
        .env = call_env(c), .cwd = call_cwd(c), .notebook_dir = call_paths(c)->notebook_dir};
    return find_spec(call_paths(c), &places, json_str(args, "kernel"),
        json_bool_or(args, "wish", false), json_str(args, "language"), spec, e);
}

static bool speaks_of_clusters(const char *code)
{
    static const char *const words[] = {
        "kubectl", "kubernetes", "KUBECONFIG", "helm", "spark-submit", "k8s://", "argo "};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(code, words[i]))
            return true;
    return false;
}

// The kubeconfig for the cell's programs, if they may have one.
static int lend(struct run *r, err *e)
{
    bool lends = call_lends_cluster(r->call, false), asks = !lends && !r->hub->lent &&
                                                            !call_is_headless(r->call) &&
                                                            speaks_of_clusters(r->code);
    if (!lends && !asks && !r->hub->lent)
        return 0;
    AUTO_FREE char *text = followed_text(r->call, e);
    if (!text)
        return -1;
    if (*text && (lends || r->hub->lent || call_lends_cluster(r->call, true)))
        r->kubeconfig = STEAL(text);
    r->hub->lent = r->hub->lent || (asks && r->kubeconfig);
    return 0;
}

static void note_python(struct hub *hub, const struct spec *spec)
{
    if (strcasecmp(spec->language, "python") != 0)
        return;
    free(hub->python);
    hub->python = mem_strdup(spec->name);
}

static int cell_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    CLEANUP(spec_done) struct spec spec = {0};
    if (spec_of(c, args, &spec, e) < 0)
        return -1;
    struct run r = {.call = c,
        .hub = call_shared(c, "jupyter", hub_make, hub_drop, e),
        .spec = &spec,
        .code = json_str_or(args, "code", ""),
        .env = environment(c, &spec)};
    note_python(r.hub, &spec);
    AUTO_FREE char *refusing = mem_strdup(env_get((const char *const *)r.env, "KUBECONFIG"));
    r.refusing = refusing;
    int done = lend(&r, e);
    if (done == 0)
        done = run_cell(&r, e);
    note_names(&r);
    r.hub->used = r.hub->used || r.opened;
    r.hub->clients = r.hub->clients || (r.hub->used && json_bool_or(r.value, "client", false));
    if (done == 0 && (r.opened || r.hub->clients)) {
        *result = cJSON_CreateObject();
        json_set_bool(*result, USED, true);
    }
    free(r.kubeconfig);
    cJSON_Delete(r.value);
    strv_free(r.env);
    return done;
}

// Values for cells in Lua, and from them: by the kernel that the cells in Python have.

static int exchange_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    CLEANUP(spec_done) struct spec spec = {0};
    struct hub *hub = call_shared(c, "jupyter", hub_make, hub_drop, e);
    struct spec_places places = {
        .env = call_env(c), .cwd = call_cwd(c), .notebook_dir = call_paths(c)->notebook_dir};
    if (find_spec(call_paths(c), &places, hub->python, true, "python", &spec, e) < 0)
        return -1;
    struct run r = {.call = c,
        .hub = hub,
        .spec = &spec,
        .code = json_str_or(args, "code", ""),
        .expression = json_str_or(args, "expression", "None"),
        .env = environment(c, &spec)};
    AUTO_FREE char *refusing = mem_strdup(env_get((const char *const *)r.env, "KUBECONFIG"));
    r.refusing = refusing;
    int done = run_cell(&r, e);
    *result = r.value;
    strv_free(r.env);
    return done;
}

// Questions about names: of a kernel that is there and at no cell. Nobody waits for one to start.

static void begin_asking(loop_pending *pending, void *arg)
{
    struct asked *a = arg;
    struct session *s = find_session(a->hub, a->spec);
    a->pending = pending;
    if (!s || !s->up || s->run || s->asked) {
        loop_call_finish(pending);
        return;
    }
    a->session = s;
    s->asked = a;
    snprintf(a->id, sizeof a->id, "ask-%lld", (long long)++s->sent);
    send_request(s, "shell", a->type, a->id, STEAL(a->content));
}

static void cancel_asking(loop_pending *pending, void *arg)
{
    wake_asked(arg);
}

static int names_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    static const struct loop_call_ops ops = {.start = begin_asking, .cancel = cancel_asking};
    CLEANUP(spec_done) struct spec spec = {0};
    if (spec_of(c, args, &spec, e) < 0)
        return -1;
    struct asked a = {.call = c,
        .hub = call_shared(c, "jupyter", hub_make, hub_drop, e),
        .spec = &spec,
        .type = json_str_or(args, "type", ""),
        .content = cJSON_Duplicate(json_get(args, "content"), true)};
    int done = loop_call(call_loop(c), call_canceller(c), &ops, &a, call_deadline(c), e);
    cJSON_Delete(a.content);
    *result = a.reply;
    return done;
}

// Its variables are in no journal. What it called is there; what its programs did to a cluster is
// not.
static int cell_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    return json_bool_or(recorded, USED, false) ? VERDICT_REPEAT : VERDICT_AGAIN;
}

static void cell_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("run a cell in %s", json_str_or(args, "language", "another language"));
}

const struct binding jupyter_bindings[] = {
    {.name = "jupyter.cell",
        .effect = EFFECT_LOCAL,
        .start = cell_start,
        .around = true,
        .verify = cell_verify,
        .describe = cell_describe},
    {.name = "jupyter.exchange", .effect = EFFECT_PURE, .start = exchange_start},
    {.name = "jupyter.names", .effect = EFFECT_PURE, .start = names_start},
    {0},
};
