// SPDX-License-Identifier: MIT
#include "cli/jupyter/peer.h"

#include "base/loop/child.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/say.h"
#include "script/protocol/frame.h"

#include <stdio.h>

struct peer {
    child *child;
    const struct peer_ops *ops;
    void *arg;
    frame_reader lines;
    char *why; // of its end, in its own words
};

void request_free(struct request *r)
{
    if (!r)
        return;
    free(r->channel);
    free(r->type);
    free(r->from);
    cJSON_Delete(r->header);
    cJSON_Delete(r->content);
    cJSON_Delete(r->metadata);
    free(r);
}

static cJSON *take(cJSON *line, const char *name)
{
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(line, name);
    return item ? item : cJSON_CreateObject();
}

static struct request *request_of(cJSON *line)
{
    struct request *r = mem_alloc(sizeof *r);
    *r = (struct request){.channel = mem_strdup(json_str_or(line, "channel", "")),
        .type = mem_strdup(json_str_or(line, "type", "")),
        .from = mem_strdup(json_str_or(line, "from", "")),
        .header = take(line, "header"),
        .content = take(line, "content"),
        .metadata = take(line, "metadata")};
    return r;
}

static int on_line(void *arg, const char *text, size_t n, err *e)
{
    peer *p = arg;
    AUTO_JSON *line = json_parse(text, n, e);
    const char *is = json_str_or(line, "is", "");
    if (str_eq(is, "message")) {
        p->ops->request(p->arg, request_of(line));
    } else if (str_eq(is, "fault")) {
        say(stderr, "firesteel: %s\n", json_str_or(line, "text", ""));
    } else if (str_eq(is, "down")) {
        free(p->why);
        p->why = mem_strdup(json_str(line, "text"));
    }
    return line ? 0 : -1;
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    peer *p = arg;
    err e = {0};
    if (fd != 1)
        say(stderr, "%.*s", (int)n, bytes);
    else if (frame_reader_feed(&p->lines, bytes, n, on_line, p, &e) < 0)
        say(stderr, "firesteel: firesteel-jupyter sent what is not JSON: %s\n", e.text);
}

static void on_exited(void *arg, int code, int signal)
{
    peer *p = arg;
    p->ops->ended(p->arg, p->why ? p->why : "firesteel-jupyter has ended");
}

peer *peer_start(loop *l, const char *program, const char *connection, const struct peer_ops *ops,
    void *arg, err *e)
{
    static const struct child_ops callbacks = {.output = on_output, .exited = on_exited};
    const char *const argv[] = {program, "--serve", connection, NULL};
    struct child_spec spec = {.argv = argv, .keep_stdin = true};
    peer *p = mem_alloc(sizeof *p);
    *p = (peer){.ops = ops, .arg = arg};
    p->child = child_spawn(l, &spec, &callbacks, p, e);
    if (p->child)
        return p;
    free(p);
    return NULL;
}

void peer_free(peer *p)
{
    if (!p)
        return;
    child_free(p->child);
    frame_reader_done(&p->lines);
    free(p->why);
    free(p);
}

void peer_finish(peer *p)
{
    child_close_stdin(p->child);
}

static void send_line(
    peer *p, const char *channel, const cJSON *parent, const char *type, cJSON *content, char *to)
{
    AUTO_JSON *line = cJSON_CreateObject();
    AUTO_BUF text = {0};
    json_set_str(line, "do", "send");
    json_set_str(line, "channel", channel);
    json_set_str(line, "type", type);
    json_set_str(line, "to", to);
    if (parent)
        json_set(line, "parent", cJSON_Duplicate(parent, true));
    json_set(line, "content", content ? content : cJSON_CreateObject());
    json_print(&text, line);
    buf_char(&text, '\n');
    child_write(p->child, text.data, text.len);
}

void peer_reply(peer *p, const struct request *r, const char *type, cJSON *content)
{
    send_line(p, r->channel, r->header, type, content, r->from);
}

void peer_show(peer *p, const cJSON *parent, const char *type, cJSON *content)
{
    send_line(p, "iopub", parent, type, content, NULL);
}

void peer_status(peer *p, const cJSON *parent, const char *state)
{
    cJSON *content = cJSON_CreateObject();
    json_set_str(content, "execution_state", state);
    peer_show(p, parent, "status", content);
}

void peer_ask(peer *p, const struct request *r, const char *prompt, bool password)
{
    cJSON *content = cJSON_CreateObject();
    json_set_str(content, "prompt", prompt);
    json_set_bool(content, "password", password);
    send_line(p, "stdin", r->header, "input_request", content, r->from);
}
