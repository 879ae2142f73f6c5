// SPDX-License-Identifier: MIT
#include "script/protocol/server.h"

#include "base/clock.h"
#include "base/loop/stream.h"
#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "script/journal/file/hidden.h"
#include "script/protocol/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    QUEUE_MAX = 256 << 10, // the most bytes in a client's socket queue; beyond, it reads from the
                           // journal
    PIECE = 128 << 10,     // bytes read from the journal at once
    JOIN_MS = 5,           // programs get the events of this time together
};

struct peer {
    server *server;
    stream *stream;
    frame_reader frames;
    bool said_hello, greeted, owner, person, looks, dead;
    bool handling; // in a callback for its bytes: freed afterwards
    int64_t at;    // position in the journal of the first byte not sent to it
    int64_t sent;  // when it was last sent events
    int64_t number;
    struct peer *next;
};

struct server {
    loop *loop;
    const struct server_ops *ops;
    void *arg;
    listener *listener;
    char *path; // path of the listener; `owner` owns it
    int owner;
    struct peer *peers;
    int64_t last_number;
    int journal; // -1 before server_follow
    int64_t size;
    loop_timer *join_timer; // runs while some client's events are delayed
    bool joining;
    loop_timer *drain_timer;
    void (*drained)(void *arg);
    void *drained_arg;
};

static void peer_free(peer *p)
{
    for (struct peer **at = &p->server->peers; *at; at = &(*at)->next) {
        if (*at != p)
            continue;
        *at = p->next;
        break;
    }
    stream_close(p->stream);
    frame_reader_done(&p->frames);
    free(p);
}

static bool settled(const server *s)
{
    for (const peer *p = s->peers; p; p = p->next)
        if (p->greeted && !p->dead && (p->at < s->size || stream_queued(p->stream) > 0))
            return false;
    return true;
}

static void check_drained(server *s)
{
    if (!s->drained || !settled(s))
        return;
    loop_timer_stop(s->drain_timer);
    void (*done)(void *arg) = STEAL(s->drained);
    done(s->drained_arg);
}

static void peer_gone(peer *p)
{
    server *s = p->server;
    bool counts = p->greeted || p->owner, owner = p->owner;
    bool person = p->person;
    p->dead = true;
    if (!p->handling)
        peer_free(p);
    if (counts)
        s->ops->gone(s->arg, owner, person);
    check_drained(s);
}

// Sends a piece of the journal that ends with a whole line, as long as the client takes it.
static void pump(peer *p)
{
    server *s = p->server;
    while (p->greeted && p->at < s->size && stream_queued(p->stream) < QUEUE_MAX) {
        size_t want = PIECE;
        const char *end = NULL;
        AUTO_BUF piece = {0};
        for (; !end; want *= 2) {
            if ((int64_t)want > s->size - p->at)
                want = (size_t)(s->size - p->at);
            buf_clear(&piece);
            buf_reserve(&piece, want);
            ssize_t n = pread(s->journal, piece.data, want, p->at);
            if (n <= 0)
                return;
            end = memrchr(piece.data, '\n', (size_t)n);
            if (!end && p->at + n >= s->size)
                return;
        }
        size_t whole = (size_t)(end - piece.data) + 1;
        p->at += (int64_t)whole;
        p->sent = clock_mono();
        stream_write(p->stream, piece.data, whole);
    }
}

static void on_drained(void *arg)
{
    peer *p = arg;
    stream_pause(p->stream, false);
    pump(p);
    check_drained(p->server);
}

static int on_line(void *arg, const char *line, size_t n, err *ignored)
{
    peer *p = arg;
    err e = {0};
    AUTO_JSON *message = json_parse(line, n, &e);
    message_type type = message ? message_type_of(message) : MESSAGE_NONE;
    if (!message || message_check(message, &e) < 0)
        server_refuse(p, message, &e);
    else if (message_direction_of(type) != MESSAGE_IN)
        server_refuse(p, message, &(err){ERR_INVALID, "this message goes the other way"});
    else if (!p->said_hello && type != MESSAGE_hello)
        server_refuse(p, message, &(err){ERR_INVALID, "the first message must be hello"});
    else if (type == MESSAGE_hello && json_int_or(message, "version", 0) != PROTOCOL_VERSION)
        server_refuse(
            p, message, &(err){ERR_INVALID, "this kernel speaks version 1 of the protocol"});
    else if (type == MESSAGE_hello) {
        p->said_hello = true;
        p->owner |= json_bool_or(message, "owner", false);
        p->person |= json_bool_or(message, "person", false);
        p->looks |= json_bool_or(message, "read_only", false);
        p->server->ops->hello(p->server->arg, p, message);
    } else
        p->server->ops->message(p->server->arg, p, type, message);
    // If a client sends requests faster than it reads the answers, nothing more is read from it
    // until it catches up.
    if (!p->dead && stream_queued(p->stream) > QUEUE_MAX)
        stream_pause(p->stream, true);
    return p->dead ? -1 : 0;
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    peer *p = arg;
    err e = {0};
    p->handling = true;
    int result = frame_reader_feed(&p->frames, bytes, n, on_line, p, &e);
    p->handling = false;
    if (p->dead)
        peer_free(p);
    else if (result < 0)
        peer_gone(p);
}

static void on_closed(void *arg, const err *reason)
{
    peer_gone(arg);
}

static const struct stream_ops peer_ops = {
    .data = on_data, .closed = on_closed, .drained = on_drained};

static peer *peer_new(server *s)
{
    peer *p = mem_alloc(sizeof *p);
    p->server = s;
    p->number = ++s->last_number;
    p->next = s->peers;
    s->peers = p;
    return p;
}

static void on_accepted(void *arg, stream *connection)
{
    int uid, pid;
    if (stream_peer(connection, &uid, &pid) < 0 || (uid_t)uid != geteuid()) {
        stream_close(connection);
        return;
    }
    peer *p = peer_new(arg);
    p->stream = connection;
    stream_start(connection, &peer_ops, p);
}

static void pump_all(server *s)
{
    for (peer *p = s->peers; p; p = p->next)
        if (!p->dead)
            pump(p);
}

static void on_join_timer(void *arg)
{
    server *s = arg;
    s->joining = false;
    pump_all(s);
    check_drained(s);
}

server *server_new(loop *l, const struct server_ops *ops, void *arg)
{
    server *s = mem_alloc(sizeof *s);
    s->loop = l;
    s->ops = ops;
    s->arg = arg;
    s->journal = -1;
    s->join_timer = loop_timer_new(l, on_join_timer, s);
    return s;
}

void server_free(server *s)
{
    if (!s)
        return;
    if (s->listener)
        listener_close(s->listener);
    if (s->path)
        owner_remove(s->path, &s->owner);
    free(s->path);
    while (s->peers)
        peer_free(s->peers);
    loop_timer_free(s->drain_timer);
    loop_timer_free(s->join_timer);
    if (s->journal >= 0)
        close(s->journal);
    free(s);
}

int server_listen(server *s, const char *path, err *e)
{
    AUTO_FREE char *folder = path_dirname(path);
    struct stat st;
    AUTO_FD dir = folder_open_path(folder, 1, true, e);
    if (dir < 0)
        return -1;
    if (fstat(dir, &st) < 0)
        return err_errno(e, errno, "%s", folder);
    if (st.st_mode & 077)
        return err_set(e, ERR_FORBIDDEN,
            "%s must be a folder of yours that nobody else may enter (chmod 700)", folder);
    s->owner = owner_take(path, e);
    if (s->owner < 0)
        return -1;
    s->path = mem_strdup(path);
    s->listener = listener_open(s->loop, path, on_accepted, s, e);
    return s->listener ? 0 : -1;
}

int server_adopt(server *s, int fd, err *e)
{
    peer *p = peer_new(s);
    p->owner = true;
    p->stream = stream_from_fd(s->loop, fd, &peer_ops, p, e);
    if (p->stream)
        return 0;
    peer_free(p);
    return -1;
}

int server_follow(server *s, const char *journal, err *e)
{
    struct stat st;
    s->journal = hidden_open(journal, O_RDONLY, 0, e);
    if (s->journal < 0)
        return -1;
    if (fstat(s->journal, &st) < 0)
        return err_errno(e, errno, "cannot read %s", journal);
    s->size = st.st_size;
    return 0;
}

// A program that runs a notebook of short cells gets their events in groups, so that it wakes up
// less often. A person at a screen gets each event at once.
static bool waits_for_more(server *s, const peer *p, int64_t now)
{
    if (p->person || p->looks || now - p->sent >= JOIN_MS * CLOCK_MS)
        return false;
    if (!s->joining)
        loop_timer_start(s->join_timer, JOIN_MS, 0);
    s->joining = true;
    return true;
}

void server_event(server *s, const char *line, size_t n)
{
    int64_t before = s->size, now = clock_mono();
    s->size += (int64_t)n;
    for (peer *p = s->peers; p; p = p->next) {
        if (!p->greeted || p->dead || p->at != before || stream_queued(p->stream) >= QUEUE_MAX)
            continue;
        if (waits_for_more(s, p, now))
            continue;
        p->at = s->size;
        p->sent = now;
        stream_write(p->stream, line, n);
    }
}

size_t server_clients(const server *s)
{
    size_t n = 0;
    for (const peer *p = s->peers; p; p = p->next)
        n += p->greeted && !p->dead;
    return n;
}

bool server_is_user(const peer *p)
{
    return p->person || p->looks || p->owner;
}

size_t server_users(const server *s)
{
    size_t n = 0;
    for (const peer *p = s->peers; p; p = p->next)
        n += p->greeted && !p->dead && server_is_user(p);
    return n;
}

int64_t server_number(const peer *p)
{
    return p->number;
}

peer *server_peer(const server *s, int64_t number)
{
    peer *p = s->peers;
    while (p && p->number != number)
        p = p->next;
    return p && !p->dead ? p : NULL;
}

bool server_only_looks(const peer *p)
{
    return p->looks;
}

bool server_is_person(const peer *p)
{
    return p->person;
}

bool server_keeps_up(const peer *p)
{
    return stream_queued(p->stream) < QUEUE_MAX;
}

static void on_drain_timer(void *arg)
{
    server *s = arg;
    void (*done)(void *arg) = STEAL(s->drained);
    if (done)
        done(s->drained_arg);
}

void server_drain(server *s, uint64_t ms, void (*done)(void *arg), void *arg)
{
    s->drained = done;
    s->drained_arg = arg;
    pump_all(s);
    if (!s->drain_timer)
        s->drain_timer = loop_timer_new(s->loop, on_drain_timer, s);
    loop_timer_start(s->drain_timer, settled(s) ? 0 : ms, 0);
}

void server_send(peer *p, cJSON *message)
{
    AUTO_BUF line = {0};
    json_print(&line, message);
    cJSON_Delete(message);
    buf_char(&line, '\n');
    if (!p->dead)
        pump(p); // the events before it
    if (!p->dead)
        stream_write(p->stream, line.data, line.len);
}

void server_tell(server *s, cJSON *message)
{
    for (peer *p = s->peers; p; p = p->next)
        if (p->greeted && !p->dead && server_is_user(p) && server_keeps_up(p))
            server_send(p, cJSON_Duplicate(message, true));
    cJSON_Delete(message);
}

// The position at which the first event after number `from` starts.
static int64_t position_after(const server *s, int64_t from)
{
    if (from < 0)
        return s->size;
    int64_t at = 0;
    int copy = from > 0 ? fcntl(s->journal, F_DUPFD_CLOEXEC, 0) : -1;
    FILE *f = copy >= 0 ? fdopen(copy, "re") : NULL;
    if (!f)
        return 0;
    rewind(f);
    char *line = NULL;
    size_t room = 0;
    for (ssize_t n; at < s->size && (n = getline(&line, &room, f)) > 0; at += n) {
        AUTO_JSON *event = json_parse(line, (size_t)n, NULL);
        if (event && json_int_or(event, "seq", 0) > from)
            break;
    }
    free(line);
    fclose(f);
    return at;
}

void server_greet(peer *p, int64_t from)
{
    if (p->dead)
        return;
    p->at = position_after(p->server, from);
    p->greeted = true;
    pump(p);
}

void server_reply(peer *p, const cJSON *message, cJSON *more)
{
    int64_t id;
    if (!json_int(json_get(message, "id"), &id)) {
        cJSON_Delete(more);
        return;
    }
    cJSON *reply = more ? more : cJSON_CreateObject();
    json_set_str(reply, "type", message_type_name(MESSAGE_reply));
    json_set_int(reply, "to", id);
    json_set_bool(reply, "ok", true);
    server_send(p, reply);
}

// A message without an id is refused, too, with id 0: otherwise the client would wait for nothing.
void server_refuse(peer *p, const cJSON *message, const err *why)
{
    cJSON *reply = message_new(MESSAGE_reply), *error = json_object_at(reply, "error");
    json_set_int(reply, "to", message ? json_int_or(message, "id", 0) : 0);
    json_set_bool(reply, "ok", false);
    json_set_str(error, "code", err_name(why->code));
    json_set_str(error, "message", why->text);
    server_send(p, reply);
}
