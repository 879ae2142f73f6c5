// SPDX-License-Identifier: MIT
// k8s.exec and k8s.attach: a command in a container, or what runs there, with its output below the
// cell while it comes. Nobody can tell afterwards whether a command was done, so a resumed run does
// it again only when the cell says `again`, or by --redo. k8s.shell is for the key on a pod's row.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/remote.h"
#include "k8s/client/state/container.h"
#include "script/api/core/kept.h"
#include "script/api/pods/pod.h"
#include "script/kernel/effects/binding.h"

#include <string.h>

enum { SHOWN = 60 };                       // most bytes of a command in messages
static const char end_of_input[] = "\x04"; // as Ctrl-D is sent from a terminal

struct session {
    call *call;
    client *client;
    struct remote_spec spec;
    const char *input; // NULL: none
    bool quiet;
    remote *remote;
    loop_pending *pending;
    struct kept kept[2]; // of stdout and stderr
    int code;
    err error;
};

static void on_open(void *arg)
{
    struct session *s = arg;
    if (!s->input)
        return;
    remote_input(s->remote, s->input, strlen(s->input));
    if (s->spec.tty)
        remote_input(s->remote, end_of_input, 1);
    else if (s->spec.command)
        remote_end_input(s->remote);
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct session *s = arg;
    kept_add(&s->kept[fd - 1], bytes, n);
    if (!s->quiet)
        call_output(s->call, fd == 2 ? "stderr" : "stdout", bytes, n);
}

static void on_done(void *arg, int code, const err *e)
{
    struct session *s = arg;
    s->remote = NULL;
    s->code = code;
    s->error = *e;
    loop_call_finish(s->pending);
}

static const struct remote_ops remote_callbacks = {
    .open = on_open, .output = on_output, .done = on_done};

static void start(loop_pending *pending, void *arg)
{
    struct session *s = arg;
    s->pending = pending;
    s->remote = remote_open(s->client, &s->spec, &remote_callbacks, s);
}

static void cancel(loop_pending *pending, void *arg)
{
    struct session *s = arg;
    remote_close(STEAL(s->remote));
    loop_call_finish(pending);
}

static const struct loop_call_ops session_ops = {.start = start, .cancel = cancel};

// The first words of the command, for people; new.
static char *title(const cJSON *args)
{
    AUTO_BUF text = {0};
    const cJSON *word;
    cJSON_ArrayForEach(word, json_get(args, "command"))
    {
        buf_fmt(&text, "%s%s", text.len ? " " : "", cJSON_IsString(word) ? word->valuestring : "?");
    }
    return mem_strdup(str_short_line(buf_cstr(&text), SHOWN).text);
}

static const char **read_words(const cJSON *args, err *e)
{
    const cJSON *list = json_get(args, "command"), *word;
    const char **words = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *words);
    size_t n = 0;
    cJSON_ArrayForEach(word, list)
    {
        if (!cJSON_IsString(word)) {
            err_set(e, ERR_USAGE, "k8s.exec: word %zu of the command is no text", n + 1);
            free(words);
            return NULL;
        }
        words[n++] = word->valuestring;
    }
    if (n && *words[0])
        return words;
    err_set(e, ERR_USAGE, "k8s.exec: there is no command");
    free(words);
    return NULL;
}

static const char *const said[] = {"stdout", "stderr", NULL};

static cJSON *result_of(struct session *s)
{
    cJSON *result = cJSON_CreateObject();
    json_set_int(result, "code", s->code);
    for (size_t i = 0; i < ARRAY_LEN(s->kept); i++) {
        AUTO_BUF text = {0};
        uint64_t left_out = kept_take(&s->kept[i], &text);
        call_said(result, said[i], buf_cstr(&text), left_out);
    }
    return result;
}

static int run(call *c, const cJSON *args, struct pod_choice *p, struct session *s, err *e)
{
    struct patience patience = p->target.patience;
    s->call = c;
    s->client = p->target.client;
    s->spec.ns = p->ns;
    s->spec.pod = p->name;
    s->spec.container = p->container;
    s->quiet = json_bool_or(args, "quiet", false);
    s->kept[0].most = s->kept[1].most = KEPT_DATA;
    if (k8s_deadline(c, args, &patience, e) != 0)
        return -1;
    AUTO_FREE char *where = k8s_pod_text(p);
    if (loop_call(call_loop(c), patience.canceller, &session_ops, s, patience.deadline, e) != 0)
        return err_wrap(e, "%s: nobody listens to it any more, but it may go on there", where);
    return s->error.code ? err_set(e, s->error.code, "%s", s->error.text) : 0;
}

static int check_exit(const cJSON *args, const struct pod_choice *p, int code, err *e)
{
    AUTO_FREE char *what = title(args), *where = k8s_pod_text(p);
    if (code == 0 || !json_bool_or(args, "check", true))
        return 0;
    return err_set(
        e, ERR_FAILED, "`%s` in %s exited with %d (check = false allows that)", what, where, code);
}

static int exec(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct pod_choice p;
    AUTO_FREE const char **words = read_words(args, e);
    if (!words || k8s_pod_of(c, args, &p, e) != 0)
        return -1;
    struct session s = {.input = json_str(args, "stdin")};
    s.spec.command = words;
    s.spec.input = s.input;
    s.spec.tty = json_bool_or(args, "tty", false);
    int done = run(c, args, &p, &s, e);
    AUTO_JSON *made = result_of(&s);
    if (done == 0)
        done = check_exit(args, &p, s.code, e);
    if (done == 0)
        *result = STEAL(made);
    k8s_pod_done(&p);
    return done;
}

static const cJSON *container_spec(const struct pod_choice *p)
{
    const cJSON *spec;
    cJSON_ArrayForEach(spec, json_path(p->pod, "spec.containers"))
    {
        if (str_eq(json_str(spec, "name"), p->container))
            return spec;
    }
    return NULL;
}

static int check_input(const struct pod_choice *p, const cJSON *spec, const char *input, err *e)
{
    if (!input || json_bool_or(spec, "stdin", false))
        return 0;
    return err_set(e, ERR_INVALID,
        "container %s of pod %s reads no input: its spec needs stdin: true", p->container, p->name);
}

// A container has a terminal, or has none: that is not for us to choose.
static int attach(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct pod_choice p;
    if (k8s_pod_of(c, args, &p, e) != 0)
        return -1;
    const cJSON *spec = container_spec(&p);
    struct session s = {.input = json_str(args, "stdin")};
    s.spec.input = s.input;
    s.spec.tty = json_bool_or(spec, "tty", false);
    int done = check_input(&p, spec, s.input, e);
    if (done == 0)
        done = run(c, args, &p, &s, e);
    AUTO_JSON *made = result_of(&s);
    if (done == 0)
        *result = STEAL(made);
    k8s_pod_done(&p);
    return done;
}

// Where a shell goes that somebody else opens, on a terminal of theirs, as `firesteel exec` does.
static int shell(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct pod_choice p;
    const struct call_cluster *chosen = call_cluster(c);
    if (k8s_pod_of(c, args, &p, e) != 0)
        return -1;
    *result = cJSON_CreateObject();
    json_set_str(*result, "pod", p.name);
    json_set_str(*result, "namespace", p.ns);
    json_set_str(*result, "container", p.container);
    json_set_str(*result, "context", client_config(p.target.client)->context);
    json_set_str(*result, "kubeconfig", chosen ? chosen->kubeconfig : NULL);
    k8s_pod_done(&p);
    return 0;
}

static int verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    return json_bool_or(args, "again", false) ? VERDICT_AGAIN : VERDICT_REPEAT;
}

static void about_exec(call *c, const cJSON *args, struct about *about)
{
    AUTO_FREE char *what = title(args);
    AUTO_FREE char *verb = str_fmt("run `%s` in", what);
    k8s_about_call(c, args, verb, "", about);
}

static void about_attach(call *c, const cJSON *args, struct about *about)
{
    k8s_about_call(c, args, "attach to", "", about);
}

static void about_shell(call *c, const cJSON *args, struct about *about)
{
    const char *container = json_str(args, "container");
    AUTO_FREE char *verb = container ? str_fmt("open a shell in container %s of", container)
                                     : mem_strdup("open a shell in");
    k8s_about_call(c, args, verb, "", about);
}

const struct binding k8s_exec_bindings[] = {
    {.name = "k8s.exec",
        .effect = EFFECT_CLUSTER,
        .said = said,
        .start = exec,
        .verify = verify,
        .describe = about_exec},
    {.name = "k8s.attach",
        .effect = EFFECT_CLUSTER,
        .said = said,
        .start = attach,
        .verify = verify,
        .describe = about_attach},
    {.name = "k8s.shell", .effect = EFFECT_CLUSTER, .start = shell, .describe = about_shell},
    {0},
};
