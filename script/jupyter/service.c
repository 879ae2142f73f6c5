// SPDX-License-Identifier: MIT
#include "script/jupyter/service.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/data/digest.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/jupyter/channels.h"
#include "script/jupyter/orders.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FILE_MOST = 1 << 16, // bytes of a connection file
    WAY_MOST = 8,        // identities of a message
    ID_BYTES = 16,
};

struct service {
    struct orders orders;
    wire wire;
    channels *channels;
    bool ended; // nobody gives orders any more
};

// The way back to a client: identities, in base64, with spaces between them.

static char *way_text(const struct wire_frame *frames, size_t n)
{
    buf text = {0};
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_char(&text, ' ');
        base64_encode(&text, frames[i].data, frames[i].n);
    }
    return text.data ? buf_take(&text) : mem_strdup("");
}

// The bytes of all are in `bytes`. Returns how many frames there are.
static size_t way_read(const char *text, buf *bytes, struct wire_frame frames[WAY_MOST])
{
    size_t n = 0, ends[WAY_MOST];
    for (; *text && n < WAY_MOST; n++) {
        size_t len = strcspn(text, " ");
        if (base64_decode(bytes, text, len, NULL) < 0)
            break;
        ends[n] = bytes->len;
        text += len + (text[len] == ' ');
    }
    for (size_t i = 0, at = 0; i < n; at = ends[i++])
        frames[i] = (struct wire_frame){buf_cstr(bytes) + at, ends[i] - at};
    return n;
}

// To Jupyter.

static void send_message(struct service *s, enum channel to, const struct wire_frame *before,
    size_t n, struct wire_outgoing m)
{
    err e = {0};
    char *frames[WIRE_FRAMES], id[2 * ID_BYTES + 1];
    AUTO_BUF date = {0};
    random_hex(id, ID_BYTES);
    clock_rfc3339(&date, clock_wall(), CLOCK_MICROS);
    m.id = id;
    m.date = buf_cstr(&date);
    wire_pack(&s->wire, &m, frames);
    if (channels_send(s->channels, to, before, n, frames, &e) < 0)
        orders_say_error(&s->orders, "fault", &e);
    for (size_t i = 0; i < WIRE_FRAMES; i++)
        free(frames[i]);
}

static void follow(struct service *s, const cJSON *order)
{
    enum channel to = channel_of(json_str(order, "channel"));
    struct wire_outgoing m = {.type = json_str_or(order, "type", ""),
        .parent = json_get(order, "parent"),
        .metadata = json_get(order, "metadata"),
        .content = json_get(order, "content")};
    AUTO_BUF bytes = {0};
    struct wire_frame before[WAY_MOST] = {{m.type, strlen(m.type)}};
    size_t n = 1; // what is shown has a topic
    if (to != CHANNEL_IOPUB)
        n = way_read(json_str_or(order, "to", ""), &bytes, before);
    if (str_eq(json_str(order, "do"), "send") && to < CHANNELS && n)
        send_message(s, to, before, n, m);
}

static void read_orders(struct service *s)
{
    s->ended = !orders_read(&s->orders);
    for (cJSON *order; (order = orders_next(&s->orders)); cJSON_Delete(order))
        follow(s, order);
}

// From Jupyter.

// A client hears at once that it gets what is shown from now on, and by which topics.
static void welcome(struct service *s, const struct wire_frame *frame)
{
    const char *bytes = frame->data;
    if (!frame->n || bytes[0] != 1)
        return;
    AUTO_BUF topic = {0};
    utf8_clean(&topic, bytes + 1, frame->n - 1);
    AUTO_JSON *content = cJSON_CreateObject();
    json_set_str(content, "subscription", buf_cstr(&topic));
    struct wire_frame to = {bytes + 1, frame->n - 1};
    send_message(s, CHANNEL_IOPUB, &to, 1,
        (struct wire_outgoing){.type = "iopub_welcome", .content = content});
}

static void got_message(
    struct service *s, enum channel from, const struct wire_frame *frames, size_t n)
{
    err e = {0};
    struct wire_message m;
    if (wire_unpack(&s->wire, frames, n, &m, &e) < 0) {
        err_wrap(&e, "a message on the %s channel is left out", channel_name(from));
        orders_say_error(&s->orders, "fault", &e);
        return;
    }
    cJSON *line = orders_line("message");
    AUTO_FREE char *way = way_text(frames, m.identities);
    json_set_str(line, "channel", channel_name(from));
    json_set_str(line, "type", json_str_or(m.header, "msg_type", ""));
    json_set_str(line, "from", way);
    json_set(line, "header", STEAL(m.header));
    json_set(line, "content", STEAL(m.content));
    json_set(line, "metadata", STEAL(m.metadata));
    wire_done(&m);
    orders_say(&s->orders, line);
}

static void take_messages(struct service *s)
{
    const struct wire_frame *frames;
    size_t n;
    for (enum channel c = 0; c < CHANNELS; c++) {
        while (channels_take(s->channels, c, &frames, &n)) {
            if (c == CHANNEL_IOPUB)
                welcome(s, &frames[0]);
            else
                got_message(s, c, frames, n);
        }
    }
}

// The sockets.

static int read_key(struct service *s, const cJSON *file, err *e)
{
    const char *scheme = json_str_or(file, "signature_scheme", "hmac-sha256");
    const char *key = json_str_or(file, "key", "");
    wire_init(&s->wire);
    if (!str_eq(scheme, "hmac-sha256"))
        return err_set(e, ERR_INVALID, "messages signed by %s are not known, only hmac-sha256",
            str_short(scheme, STR_SHORT).text);
    if (strlen(key) >= sizeof s->wire.key)
        return err_set(
            e, ERR_LIMIT, "its key is longer than %zu characters", sizeof s->wire.key - 1);
    memcpy(s->wire.key, key, strlen(key) + 1);
    return 0;
}

static int read_places(const cJSON *file, struct channels_places *p, err *e)
{
    *p = (struct channels_places){.transport = json_str_or(file, "transport", "tcp"),
        .ip = json_str(file, "ip"),
        .secret_key = json_str(file, "curve_secretkey"),
        .heartbeat = (int)json_int_or(file, "hb_port", 0)};
    bool all = p->ip && p->heartbeat > 0;
    for (enum channel c = 0; c < CHANNELS; c++) {
        AUTO_FREE char *name = str_fmt("%s_port", channel_name(c));
        p->numbers[c] = (int)json_int_or(file, name, 0);
        all = all && p->numbers[c] > 0;
    }
    if (!str_eq(p->transport, "tcp") && !str_eq(p->transport, "ipc"))
        return err_set(e, ERR_INVALID, "its transport is %s, and may be tcp or ipc",
            str_short(p->transport, STR_SHORT).text);
    return all ? 0
               : err_set(e, ERR_INVALID,
                     "it is no connection file: ip, shell_port, iopub_port, stdin_port, "
                     "control_port and hb_port have to be in it");
}

static int open_sockets(struct service *s, const char *connection, err *e)
{
    AUTO_BUF text = {0};
    struct channels_places places;
    if (path_read(connection, &text, FILE_MOST, e) < 0)
        return -1;
    AUTO_JSON *file = json_parse(buf_cstr(&text), text.len, e);
    if (!file || read_key(s, file, e) < 0 || read_places(file, &places, e) < 0)
        return err_wrap(e, "%s", connection);
    s->channels = channels_bind(&places, e);
    return s->channels ? 0 : -1;
}

int service_run(const char *connection, int in, int out)
{
    struct service s = {.orders = {.in = in, .out = out}};
    err e = {0};
    if (open_sockets(&s, connection, &e) < 0)
        orders_say_error(&s.orders, "down", &e);
    else
        orders_say(&s.orders, orders_line("up"));
    while (s.channels && !s.ended && !s.orders.lost) {
        struct pollfd fds[] = {{.fd = in}};
        channels_wait(s.channels, fds, ARRAY_LEN(fds), -1);
        take_messages(&s);
        if (fds[0].revents)
            read_orders(&s);
    }
    channels_close(s.channels);
    orders_done(&s.orders);
    return e.code ? -1 : 0;
}
