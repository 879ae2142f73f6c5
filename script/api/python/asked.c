// SPDX-License-Identifier: MIT
#include "script/api/python/asked.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

#define ASKED    "ask-"     // begins the ids of our requests
#define SUBSHELL "subshell" // the id of the request for one
#define SINCE    "ipykernel answers meanwhile from version 7 on"

enum { HUNG_MOST = 3 }; // subshells that are given up; the next one is asked whatever it does

static void wake(struct asked *a)
{
    if (a->session)
        a->session->asked = NULL;
    loop_call_finish(STEAL(a->pending));
}

static void send(struct asked *a)
{
    struct session *s = a->session;
    bool by_comm = a->to_subshell && a->meanwhile;
    cJSON *content = by_comm ? STEAL(a->meanwhile) : STEAL(a->content);
    if (by_comm)
        json_set_str(content, "comm_id", a->id);
    cJSON *line = session_order("send");
    json_set_str(line, "channel", "shell");
    json_set_str(line, "type", by_comm ? a->meanwhile_type : a->type);
    json_set_str(line, "id", a->id);
    if (a->to_subshell)
        json_set_str(line, "subshell", s->subshell);
    json_set(line, "content", content);
    session_send(s, line);
    a->sent = true;
}

static int check(const struct session *s, err *e)
{
    if (!s)
        return err_set(e, ERR_NOT_FOUND, "nothing is known yet: no cell has started its kernel");
    if (!s->child)
        return err_set(e, ERR_NOT_FOUND, "nothing is known: %s has ended", s->name);
    if (!s->up || (s->run && !*s->run->id))
        return err_set(e, ERR_UNAVAILABLE, "%s is starting", s->name);
    if (s->run && !s->subshells)
        return err_set(e, ERR_UNAVAILABLE, "%s is at a cell, and can be asked after it%s%s",
            s->name, s->is_python ? "; " : "", s->is_python ? SINCE : "");
    return s->asked ? err_set(e, ERR_UNAVAILABLE, "%s is being asked already", s->name) : 0;
}

static void begin(loop_pending *pending, void *arg)
{
    struct asked *a = arg;
    struct session *s = session_find(a->hub, a->path);
    a->pending = pending;
    if (check(s, &a->failed) < 0) {
        wake(a);
        return;
    }
    a->session = s;
    s->asked = a;
    a->to_subshell = s->run != NULL;
    snprintf(a->id, sizeof a->id, ASKED "%lld", (long long)++s->sent);
    if (a->to_subshell && !s->subshell)
        session_request(s, "control", "create_subshell_request", SUBSHELL, cJSON_CreateObject());
    else
        send(a);
}

// A subshell that does not answer in time may never do so: the next question goes to another one.
static void cancel(loop_pending *pending, void *arg)
{
    struct asked *a = arg;
    struct session *s = a->session;
    a->pending = pending;
    if (s && a->sent && a->to_subshell && s->hung < HUNG_MOST) {
        s->hung++;
        free(STEAL(s->subshell));
    }
    wake(a);
}

int asked_ask(call *c, struct asked *a, err *e)
{
    static const struct loop_call_ops ops = {.start = begin, .cancel = cancel};
    int done = loop_call(call_loop(c), call_canceller(c), &ops, a, call_deadline(c), e);
    cJSON_Delete(STEAL(a->content));
    cJSON_Delete(STEAL(a->meanwhile));
    if (done == 0)
        done = err_give(e, &a->failed);
    if (done == 0 && !a->reply)
        done = err_set(e, ERR_UNAVAILABLE, "the kernel has ended");
    return done;
}

static void take_subshell(struct session *s, const cJSON *content)
{
    struct asked *a = s->asked;
    const char *id = json_str(content, "subshell_id");
    if (id && !s->subshell)
        s->subshell = mem_strdup(id);
    if (!a || a->sent || !a->to_subshell)
        return;
    if (s->subshell) {
        send(a);
        return;
    }
    err_set(&a->failed, ERR_UNAVAILABLE, "%s is at a cell, and makes no subshell: %s", s->name,
        json_str_or(content, "evalue", "?"));
    wake(a);
}

// What a comm says in place of a reply.
static void take_comm(struct asked *a, const char *type, const cJSON *content)
{
    if (str_eq(type, "comm_msg"))
        a->reply = cJSON_Duplicate(json_get(content, "data"), true);
    else if (str_eq(type, "comm_close") || str_eq(json_str(content, "execution_state"), "idle"))
        err_set(
            &a->failed, ERR_UNAVAILABLE, "%s does not tell while a cell runs", a->session->name);
    else
        return;
    wake(a);
}

bool asked_take(struct session *s, const cJSON *line)
{
    const char *parent = json_str_or(line, "parent", ""), *type = json_str_or(line, "type", ""),
               *channel = json_str_or(line, "channel", "");
    const cJSON *content = json_get(line, "content");
    struct asked *a = s->asked;
    if (str_eq(parent, SUBSHELL)) {
        if (str_eq(channel, "control"))
            take_subshell(s, content);
        return true;
    }
    if (!str_starts(parent, ASKED))
        return false;
    bool is_answer = a && a->sent && str_eq(a->id, parent);
    if (is_answer && str_eq(channel, "iopub") && a->to_subshell && a->meanwhile_type) {
        take_comm(a, type, content);
    } else if (is_answer && str_eq(channel, "shell")) {
        a->reply = cJSON_Duplicate(content, true);
        wake(a);
    }
    // ipykernel takes what the cell's own threads print now for output of ours.
    return !str_eq(channel, "iopub");
}

void asked_lost(struct session *s)
{
    if (s->asked)
        wake(s->asked);
}
