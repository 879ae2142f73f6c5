// SPDX-License-Identifier: MIT
#include "script/protocol/client.h"

#include "base/loop/stream.h"
#include "base/mem.h"
#include "script/journal/file/reader.h"
#include "script/protocol/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
    int64_t id;
    void (*reply)(void *arg, const cJSON *reply);
    void *arg;
    struct request *next;
};

struct client {
    stream *stream;
    const struct client_ops *ops;
    void *arg;
    frame_reader frames;
    struct request *requests;
    int64_t last_id;
    char *journal;    // the run's journal, from the welcome on; NULL: events are not read from it
    int64_t seen;     // number of the last event passed on
    const char *line; // of the message that is being passed on
    size_t line_n;
    bool dispatching, closed; // closed in a callback: freed after it
};

const char *client_line(const client *c, size_t *n)
{
    *n = c->line_n;
    return c->line;
}

static struct request *take_request(client *c, int64_t id)
{
    for (struct request **r = &c->requests; *r; r = &(*r)->next) {
        if ((*r)->id != id)
            continue;
        struct request *found = *r;
        *r = found->next;
        return found;
    }
    return NULL;
}

static void forget_requests(client *c)
{
    while (c->requests) {
        struct request *r = c->requests;
        c->requests = r->next;
        r->reply(r->arg, NULL);
        free(r);
    }
}

// Notes the client's position in the run.
static void note(client *c, message_type type, const cJSON *message)
{
    int64_t number = json_int_or(message, "seq", 0);
    if (type == MESSAGE_welcome && !c->journal)
        c->journal = mem_strdup(json_str(message, "journal"));
    if (type != MESSAGE_welcome ? number > c->seen : c->seen < 0)
        c->seen = number;
    if (type == MESSAGE_end)
        free(STEAL(c->journal));
}

static int handle(void *arg, const char *line, size_t n, err *e)
{
    client *c = arg;
    cJSON *message = json_parse(line, n, e);
    if (!message)
        return err_wrap(e, "the kernel sent what is not JSON");
    message_type type = message_type_of(message);
    note(c, type, message);
    c->line = line;
    c->line_n = n;
    struct request *r =
        type == MESSAGE_reply ? take_request(c, json_int_or(message, "to", 0)) : NULL;
    if (r)
        r->reply(r->arg, message);
    else
        c->ops->event(c->arg, type, message);
    free(r);
    cJSON_Delete(message);
    return c->closed ? -1 : 0;
}

static void hand_out(client *c, const cJSON *event, const char *line, size_t n)
{
    message_type type = message_type_of(event);
    if (type == MESSAGE_NONE || json_int_or(event, "seq", 0) <= c->seen)
        return;
    note(c, type, event);
    c->line = line;
    c->line_n = n;
    c->ops->event(c->arg, type, event);
}

// A kernel does not wait forever for a slow reader; the events that it has not sent are in the
// journal.
static void catch_up(client *c)
{
    reader *r = c->journal && c->seen >= 0 ? reader_open(c->journal, NULL) : NULL;
    for (int got = 1; r && got > 0 && c->journal && !c->closed;) {
        AUTO_JSON *event = NULL;
        size_t n;
        got = reader_next(r, &event, NULL);
        const char *line = reader_line(r, &n);
        if (got > 0)
            hand_out(c, event, line, n - 1);
    }
    reader_close(r);
}

static void destroy(client *c)
{
    stream_close(c->stream);
    frame_reader_done(&c->frames);
    free(c->journal);
    free(c);
}

static void end(client *c, const err *reason)
{
    stream_close(STEAL(c->stream));
    c->dispatching = true;
    catch_up(c);
    forget_requests(c);
    if (!c->closed)
        c->ops->closed(c->arg, reason);
    c->dispatching = false;
    if (c->closed)
        destroy(c);
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    client *c = arg;
    err e = {0};
    c->dispatching = true;
    int result = frame_reader_feed(&c->frames, bytes, n, handle, c, &e);
    if (c->ops->paused && !c->closed)
        c->ops->paused(c->arg);
    c->dispatching = false;
    if (c->closed)
        destroy(c);
    else if (result < 0)
        end(c, &e);
}

static void on_closed(void *arg, const err *reason)
{
    end(arg, reason);
}

static const struct stream_ops stream_callbacks = {.data = on_data, .closed = on_closed};

static client *client_new(const struct client_ops *ops, void *arg)
{
    client *c = mem_alloc(sizeof *c);
    c->ops = ops;
    c->arg = arg;
    return c;
}

client *client_connect(loop *l, const char *socket, const struct client_ops *ops, void *arg, err *e)
{
    ERR_GUARD(e);
    struct stat st;
    if (stat(socket, &st) < 0) {
        err_errno(e, errno, "no kernel at %s", socket);
        return NULL;
    }
    if (st.st_uid != geteuid()) {
        err_set(e, ERR_FORBIDDEN, "%s belongs to another user", socket);
        return NULL;
    }
    client *c = client_new(ops, arg);
    c->stream = stream_connect(l, socket, &stream_callbacks, c, e);
    if (c->stream)
        return c;
    err_wrap(e, "no kernel answers at %s", socket);
    if (e->code != ERR_NOT_FOUND && e->code != ERR_FORBIDDEN)
        e->code = ERR_UNAVAILABLE;
    free(c);
    return NULL;
}

client *client_from_fd(loop *l, int fd, const struct client_ops *ops, void *arg, err *e)
{
    client *c = client_new(ops, arg);
    c->stream = stream_from_fd(l, fd, &stream_callbacks, c, e);
    if (c->stream)
        return c;
    free(c);
    return NULL;
}

void client_free(client *c)
{
    if (!c)
        return;
    bool in_callback = c->dispatching;
    c->dispatching = c->closed = true;
    forget_requests(c);
    if (!in_callback)
        destroy(c);
}

int client_pid(const client *c)
{
    int uid, pid;
    return c->stream && stream_peer(c->stream, &uid, &pid) == 0 ? pid : 0;
}

void client_hello(client *c, int64_t from, bool owner, bool person, const cJSON *more)
{
    cJSON *hello = message_new(MESSAGE_hello);
    json_set_int(hello, "version", PROTOCOL_VERSION);
    json_set_int(hello, "from", from);
    json_set_bool(hello, "owner", owner);
    c->seen = from;
    json_set_bool(hello, person ? "person" : "document", person);
    const cJSON *field;
    cJSON_ArrayForEach(field, more)
    {
        json_set(hello, field->string, cJSON_Duplicate(field, true));
    }
    client_send(c, hello);
}

void client_hello_looking(client *c)
{
    cJSON *hello = message_new(MESSAGE_hello);
    json_set_int(hello, "version", PROTOCOL_VERSION);
    json_set_int(hello, "from", 0);
    json_set_bool(hello, "owner", false);
    json_set_bool(hello, "read_only", true);
    c->seen = 0;
    client_send(c, hello);
}

void client_send(client *c, cJSON *message)
{
    AUTO_BUF line = {0};
    json_print(&line, message);
    cJSON_Delete(message);
    buf_char(&line, '\n');
    if (c->stream)
        stream_write(c->stream, line.data, line.len);
}

void client_request(
    client *c, cJSON *message, void (*reply)(void *arg, const cJSON *reply), void *arg)
{
    if (!c->stream || c->closed) {
        cJSON_Delete(message);
        reply(arg, NULL);
        return;
    }
    struct request *r = mem_alloc(sizeof *r);
    *r = (struct request){++c->last_id, reply, arg, c->requests};
    c->requests = r;
    json_set_int(message, "id", r->id);
    client_send(c, message);
}
