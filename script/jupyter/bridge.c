// SPDX-License-Identifier: MIT
#include "script/jupyter/bridge.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/os/spawn.h"
#include "base/str.h"
#include "script/jupyter/channels.h"
#include "script/jupyter/orders.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define INFO     "info" // the id of our own kernel_info_request
#define FILE_ARG "{connection_file}"

enum {
    ASK_MS = 200,           // between two questions whether it is up
    START_SECONDS = 60,     // until it has to answer
    END_MS = 2000,          // that it gets to end by itself, then again after SIGTERM
    WORDS_MOST = 4096,      // bytes of what it wrote last
    WORDS_TOLD = 600,       // of these, when it has ended: an exception stands at their end
    TEXT_MOST = 1 << 20,    // bytes of a stream's text in one line
    CONTENT_MOST = 8 << 20, // bytes of any other content
    CALL_MOST = 64 << 20,   // of a line from the kernel's own socket
    LAST_MS = 50,
    BEFORE_CALL_MS = 2, // what was printed before a call comes by another way
    READ_SIZE = 1 << 16,
};

struct bridge {
    struct orders orders;
    wire wire;
    channels *channels;
    pid_t pid;            // of the kernel; 0: it is not there
    int output, children; // what it writes to its own descriptors; a signalfd for its end
    int watch;            // inotify, of the folder; -1: there is none
    char *watched;        // the name of the file there whose opening is reported
    int calls;            // our end of the socket for its calls; -1: there is none
    buf called, answers;  // lines that came from there in part; and that have to go there
    int status;           // of waitpid
    bool by_message;
    bool replied, heard; // its kernel_info_reply and something on iopub have come
    bool up;
    bool ended, closing;            // closing: it has to end
    int64_t started, asked, closed; // mono ns
    size_t ends;                    // how often it was told to end
    cJSON *info;
    buf words;
    err why; // of the end, when it is not the kernel's own
};

// Requests.

static int send_to(struct bridge *b, enum channel to, const char *type, const char *id,
    const char *subshell, const cJSON *content)
{
    err e = {0};
    char *frames[WIRE_FRAMES];
    AUTO_BUF date = {0};
    clock_rfc3339(&date, clock_wall(), CLOCK_MICROS);
    wire_pack(&b->wire,
        &(struct wire_outgoing){.type = type,
            .id = id,
            .date = buf_cstr(&date),
            .subshell = subshell,
            .content = content},
        frames);
    int sent = channels_send(b->channels, to, NULL, 0, frames, &e);
    for (size_t i = 0; i < WIRE_FRAMES; i++)
        free(frames[i]);
    if (sent < 0)
        orders_say_error(&b->orders, "fault", &e);
    return sent;
}

static int send_request(
    struct bridge *b, enum channel to, const char *type, const char *id, const cJSON *content)
{
    return send_to(b, to, type, id, NULL, content);
}

static void ask_info(struct bridge *b)
{
    b->asked = clock_mono();
    send_request(b, CHANNEL_SHELL, "kernel_info_request", INFO, NULL);
}

// What comes from the kernel.

static cJSON *message_line(
    enum channel from, const struct wire_message *m, const char *type, cJSON *content)
{
    cJSON *line = orders_line("message");
    json_set_str(line, "channel", channel_name(from));
    json_set_str(line, "type", type);
    json_set_str(line, "parent", json_str_or(m->parent, "msg_id", ""));
    json_set(line, "content", content);
    return line;
}

// A text in pieces that end between characters.
static void say_stream(struct bridge *b, const struct wire_message *m)
{
    const char *text = json_str_or(m->content, "text", ""),
               *name = json_str_or(m->content, "name", "stdout");
    for (size_t left = strlen(text), n; left; left -= n, text += n) {
        n = left < TEXT_MOST ? left : TEXT_MOST - utf8_partial(text, TEXT_MOST);
        AUTO_FREE char *piece = mem_strndup(text, n);
        cJSON *content = cJSON_CreateObject();
        json_set_str(content, "name", name);
        json_set_str(content, "text", piece);
        orders_say(&b->orders, message_line(CHANNEL_IOPUB, m, "stream", content));
    }
}

// What stands for a content that is too large.
static void shrink(struct wire_message *m, size_t n)
{
    AUTO_FREE char *text = str_fmt("[%zu MiB: more than the %d MiB of an output are not kept]",
        (n >> 20) + 1, CONTENT_MOST >> 20);
    if (json_get(m->content, "data")) {
        cJSON *data = cJSON_CreateObject();
        json_set_str(data, "text/plain", text);
        json_set(m->content, "data", data);
        json_set(m->content, "metadata", cJSON_CreateObject());
    }
    if (json_get(m->content, "traceback")) {
        AUTO_FREE char *value =
            mem_strdup(str_short(json_str_or(m->content, "evalue", ""), STR_SHORT).text);
        json_set_str(m->content, "evalue", value);
        json_set(m->content, "traceback", cJSON_CreateArray());
    }
    json_set(m->content, "user_expressions", cJSON_CreateObject());
    json_set(m->content, "payload", cJSON_CreateArray());
}

static void note_start(
    struct bridge *b, enum channel from, const char *type, struct wire_message *m)
{
    b->heard = b->heard || from == CHANNEL_IOPUB;
    if (from == CHANNEL_SHELL && str_eq(type, "kernel_info_reply")) {
        b->replied = true;
        cJSON_Delete(b->info);
        b->info = STEAL(m->content);
    }
    if (b->replied && !b->heard)
        ask_info(b); // iopub's first messages are missed by who comes late
    if (!b->replied || !b->heard)
        return;
    b->up = true;
    cJSON *line = orders_line("up");
    json_set(line, "info", STEAL(b->info));
    orders_say(&b->orders, line);
}

static void got_message(struct bridge *b, enum channel from, struct wire_message *m, size_t n)
{
    const char *type = json_str_or(m->header, "msg_type", "");
    bool own = str_eq(json_str(m->parent, "msg_id"), INFO);
    if (!b->up)
        note_start(b, from, type, m);
    else if (own)
        return;
    else if (from == CHANNEL_IOPUB && str_eq(type, "stream"))
        say_stream(b, m);
    else {
        if (n > CONTENT_MOST)
            shrink(m, n);
        orders_say(&b->orders, message_line(from, m, type, STEAL(m->content)));
    }
}

static void take_messages(struct bridge *b, enum channel from)
{
    const struct wire_frame *frames;
    size_t n;
    while (!b->orders.lost && channels_take(b->channels, from, &frames, &n)) {
        struct wire_message m;
        err e = {0};
        size_t all = 0;
        for (size_t i = 0; i < n; i++)
            all += frames[i].n;
        if (wire_unpack(&b->wire, frames, n, &m, &e) < 0) {
            err_wrap(&e, "a message on the kernel's %s channel", channel_name(from));
            orders_say_error(&b->orders, "fault", &e);
            continue;
        }
        got_message(b, from, &m, all);
        wire_done(&m);
    }
}

// Which programs read the kubeconfig. Opening a link opens its target, which is elsewhere.

static void watch_folder(struct bridge *b, const char *folder, const char *name)
{
    b->watched = mem_strdup(name);
    b->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (b->watch < 0 || inotify_add_watch(b->watch, folder, IN_OPEN | IN_ONLYDIR) < 0)
        orders_say(&b->orders, orders_line("unwatched"));
}

static void read_watch(struct bridge *b)
{
    _Alignas(struct inotify_event) char bytes[READ_SIZE];
    bool opened = false;
    for (ssize_t n; (n = read(b->watch, bytes, sizeof bytes)) > 0;)
        for (char *at = bytes; at < bytes + n;) {
            const struct inotify_event *event = (const void *)at;
            opened = opened || (event->len && str_eq(event->name, b->watched));
            at += sizeof *event + event->len;
        }
    if (opened)
        orders_say(&b->orders, orders_line("opened"));
}

// Calls: lines from and to the kernel's own socket.

static void end_calls(struct bridge *b)
{
    if (b->calls >= 0)
        close(b->calls);
    b->calls = -1;
}

static void say_calls(struct bridge *b)
{
    for (char *end;
         b->called.len && (end = memchr(b->called.data, '\n', b->called.len)) && !b->orders.lost;) {
        err e = {0};
        size_t n = (size_t)(end - b->called.data);
        cJSON *content = json_parse(b->called.data, n, &e);
        buf_consume(&b->called, n + 1);
        if (!content) {
            orders_say_error(&b->orders, "fault", &e);
            continue;
        }
        cJSON *line = orders_line("call");
        json_set(line, "content", content);
        orders_say(&b->orders, line);
    }
}

static void read_calls(struct bridge *b)
{
    ssize_t n = 0;
    while (b->calls >= 0 && b->called.len < CALL_MOST) {
        buf_reserve(&b->called, READ_SIZE);
        n = read(b->calls, b->called.data + b->called.len, READ_SIZE);
        if (n <= 0)
            break;
        b->called.len += (size_t)n;
        b->called.data[b->called.len] = '\0';
        say_calls(b);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        end_calls(b);
}

static void write_answers(struct bridge *b)
{
    ssize_t n = 0;
    while (b->calls >= 0 && b->answers.len) {
        n = send(b->calls, b->answers.data, b->answers.len, MSG_NOSIGNAL);
        if (n < 0)
            break;
        buf_consume(&b->answers, (size_t)n);
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        end_calls(b);
}

static void answer(struct bridge *b, const cJSON *content)
{
    json_print(&b->answers, content);
    buf_char(&b->answers, '\n');
    write_answers(b);
}

// What the kernel's process writes itself; its last words are kept.
static void read_words(struct bridge *b)
{
    char bytes[4096];
    ssize_t n = 0;
    while (b->output >= 0 && (n = read(b->output, bytes, sizeof bytes)) > 0) {
        buf_add(&b->words, bytes, (size_t)n);
        if (b->words.len > 2 * WORDS_MOST)
            buf_consume(&b->words, b->words.len - WORDS_MOST);
    }
    if (b->output < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    close(b->output);
    b->output = -1;
}

// Its start and end.

// near: the number of the folder's descriptor in the kernel; 0: it gets none.
static int write_connection(
    struct bridge *b, const char *folder, int near, const char *path, err *e)
{
    AUTO_JSON *j = cJSON_CreateObject();
    AUTO_FREE char *ip = near ? str_fmt("/proc/self/fd/%d/k", near) : path_join(folder, "k");
    AUTO_BUF text = {0};
    json_set_str(j, "transport", "ipc");
    json_set_str(j, "ip", ip);
#define X(id, name, number) json_set_int(j, name "_port", number);
    CHANNELS_LIST(X)
#undef X
    json_set_int(j, "hb_port", HEARTBEAT_NUMBER);
    json_set_str(j, "key", b->wire.key);
    json_set_str(j, "signature_scheme", "hmac-sha256");
    json_print(&text, j);
    return path_write(path, text.data, text.len, 0600, e);
}

static char **arguments(const cJSON *list, const char *file)
{
    char **argv = mem_array(1, sizeof *argv);
    const cJSON *word;
    cJSON_ArrayForEach(word, list)
    {
        const char *text = json_str_or(word, "", ""), *at;
        text = cJSON_IsString(word) ? word->valuestring : text;
        at = strstr(text, FILE_ARG);
        AUTO_FREE char *whole =
            at ? str_fmt("%.*s%s%s", (int)(at - text), text, file, at + strlen(FILE_ARG))
               : mem_strdup(text);
        argv = strv_add(argv, whole);
    }
    return argv;
}

// calls: the number of its end of the socket for calls; 0: it gets none. So is near, of the folder.
static int spawn_kernel(struct bridge *b, char *const *argv, const char *cwd, int calls,
    const char *folder, int near, err *e)
{
    AUTO_FD place = near ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int fds[2], ends[2] = {-1, -1};
    if (calls && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_errno(e, errno, "cannot start %s", argv[0]);
    b->calls = ends[0];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        close(ends[1]);
        return err_errno(e, errno, "cannot start %s", argv[0]);
    }
    fcntl(fds[1], F_SETFL, 0); // the kernel's end waits
    if (calls)
        fcntl(b->calls, F_SETFL, O_NONBLOCK);
    struct spawn_fd given[4] = {{fds[1], 1}, {fds[1], 2}};
    size_t n = 2;
    if (calls)
        given[n++] = (struct spawn_fd){ends[1], calls};
    if (place >= 0)
        given[n++] = (struct spawn_fd){place, near};
    struct spawn_spec spec = {.argv = (const char *const *)argv,
        .cwd = cwd,
        .fds = given,
        .fd_n = n,
        .place = SPAWN_SESSION,
        .death_signal = SIGKILL};
    int started = spawn(&spec, &b->pid, e);
    close(fds[1]);
    if (calls)
        close(ends[1]);
    if (started < 0)
        b->pid = 0;
    b->output = fds[0];
    return started;
}

static int start(struct bridge *b, const cJSON *order, err *e)
{
    const char *folder = json_str_or(order, "folder", "");
    AUTO_FREE char *file = path_join(folder, "kernel.json");
    b->by_message = json_bool_or(order, "by_message", false);
    b->channels = channels_open(folder, b->wire.session, e);
    int near = (int)json_int_or(order, "near", 0);
    if (!b->channels || write_connection(b, folder, near, file, e) < 0)
        return -1;
    char **argv = arguments(json_get(order, "argv"), file);
    int calls = (int)json_int_or(order, "calls", 0);
    watch_folder(b, folder, json_str(order, "watched"));
    int started = argv[0] ? spawn_kernel(b, argv, json_str(order, "cwd"), calls, folder, near, e)
                          : err_set(e, ERR_USAGE, "there is no command");
    strv_free(argv);
    b->started = clock_mono();
    if (started == 0)
        ask_info(b);
    return started;
}

static void end_kernel(struct bridge *b)
{
    static const int signals[] = {0, SIGTERM, SIGKILL};
    if (!b->pid)
        return;
    int signal = signals[b->ends < ARRAY_LEN(signals) ? b->ends : ARRAY_LEN(signals) - 1];
    b->ends++;
    b->closed = clock_mono();
    b->closing = true;
    if (signal) {
        kill(-b->pid, signal);
        return;
    }
    AUTO_JSON *content = cJSON_CreateObject();
    json_set_bool(content, "restart", false);
    if (!b->up || send_request(b, CHANNEL_CONTROL, "shutdown_request", "end", content) < 0)
        end_kernel(b);
}

static void interrupt(struct bridge *b)
{
    if (b->by_message)
        send_request(b, CHANNEL_CONTROL, "interrupt_request", "interrupt", NULL);
    else if (b->pid)
        kill(-b->pid, SIGINT); // as a terminal does: with its children
}

static void reap(struct bridge *b)
{
    struct signalfd_siginfo info;
    while (read(b->children, &info, sizeof info) > 0)
        continue;
    if (b->pid && waitpid(b->pid, &b->status, WNOHANG) == b->pid) {
        kill(-b->pid, SIGKILL); // what it has left in its group
        b->pid = 0;
        b->ended = true;
    }
}

// Orders.

static void follow(struct bridge *b, const cJSON *order)
{
    const char *what = json_str_or(order, "do", "");
    enum channel to = channel_of(json_str(order, "channel"));
    if (str_eq(what, "start") && !b->channels) {
        if (start(b, order, &b->why) < 0)
            b->ended = true;
    } else if (str_eq(what, "send") && b->up && to < CHANNELS) {
        send_to(b, to, json_str_or(order, "type", ""), json_str_or(order, "id", ""),
            json_str(order, "subshell"), json_get(order, "content"));
    } else if (str_eq(what, "answer")) {
        answer(b, json_get(order, "content"));
    } else if (str_eq(what, "interrupt")) {
        interrupt(b);
    } else if (str_eq(what, "end")) {
        end_kernel(b);
    }
}

// false: there will be no more orders.
static bool read_orders(struct bridge *b)
{
    bool more = orders_read(&b->orders);
    for (cJSON *order; !b->ended && (order = orders_next(&b->orders)); cJSON_Delete(order))
        follow(b, order);
    return more;
}

// Time passes: is it up, has it ended? Returns the ms after which to look again, -1: never.
static int look(struct bridge *b)
{
    int64_t now = clock_mono();
    if (b->closing) {
        if (now - b->closed >= END_MS * CLOCK_MS)
            end_kernel(b);
        return END_MS / 10;
    }
    if (b->up)
        return -1;
    if (now - b->started > START_SECONDS * CLOCK_SEC) {
        err_set(&b->why, ERR_TIMEOUT, "it did not answer for %d s", START_SECONDS);
        b->ends = 1;
        end_kernel(b);
    } else if (now - b->asked >= ASK_MS * CLOCK_MS && !b->replied) {
        ask_info(b);
    }
    return ASK_MS;
}

static void take_all(struct bridge *b)
{
    for (enum channel c = 0; c < CHANNELS; c++)
        take_messages(b, c);
    read_words(b);
}

static void step(struct bridge *b)
{
    int ms = look(b);
    short writes = b->answers.len ? POLLOUT : 0;
    struct pollfd fds[] = {{.fd = b->children}, {.fd = b->closing ? -1 : b->orders.in},
        {.fd = b->output}, {.fd = b->calls, .events = writes}, {.fd = b->watch}};
    channels_wait(b->channels, fds, ARRAY_LEN(fds), ms);
    if (fds[3].revents & POLLIN)
        channels_wait(b->channels, NULL, 0, BEFORE_CALL_MS);
    take_all(b);
    if (fds[4].revents)
        read_watch(b);
    if (fds[3].revents) {
        write_answers(b);
        read_calls(b);
    }
    if (fds[0].revents)
        reap(b);
    if (fds[1].revents && !b->closing && !read_orders(b))
        end_kernel(b);
    if (b->orders.lost && !b->closing)
        end_kernel(b);
}

// The end.

static void say_down(struct bridge *b)
{
    cJSON *line = orders_line("down");
    AUTO_BUF text = {0}, words = {0};
    utf8_clean(&words, buf_cstr(&b->words), b->words.len);
    AUTO_FREE char *last = str_last(buf_cstr(&words), words.len, WORDS_TOLD);
    AUTO_FREE char *told = str_trim(last, strlen(last));
    if (b->why.code)
        buf_str(&text, b->why.text);
    else if (WIFSIGNALED(b->status))
        buf_fmt(&text, "it was ended by signal %d (%s)", WTERMSIG(b->status),
            strsignal(WTERMSIG(b->status)));
    else
        buf_fmt(&text, "it ended with exit code %d", WEXITSTATUS(b->status));
    if (*told)
        buf_fmt(&text, "; its last words: %s", told);
    json_set_str(line, "text", buf_cstr(&text));
    orders_say(&b->orders, line);
}

static void close_all(struct bridge *b)
{
    channels_close(b->channels);
    if (b->output >= 0)
        close(b->output);
    end_calls(b);
    if (b->watch >= 0)
        close(b->watch);
    if (b->children >= 0)
        close(b->children);
    cJSON_Delete(b->info);
    free(b->watched);
    orders_done(&b->orders);
    buf_done(&b->words);
    buf_done(&b->called);
    buf_done(&b->answers);
}

int bridge_run(int in, int out)
{
    struct bridge b = {.orders = {.in = in, .out = out}, .output = -1, .calls = -1, .watch = -1};
    sigset_t children;
    wire_init(&b.wire);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &children, NULL); // before there are threads
    b.children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    bool more = true;
    while (more && !b.channels && !b.ended) // the first order
        more = read_orders(&b);
    while (b.channels && !b.ended)
        step(&b);
    if (b.channels) { // what it said last may still be on its way
        channels_wait(b.channels, NULL, 0, LAST_MS);
        take_all(&b);
    }
    if (b.ended)
        say_down(&b);
    int code = b.why.code || !b.channels ? -1 : 0;
    close_all(&b);
    return code;
}
