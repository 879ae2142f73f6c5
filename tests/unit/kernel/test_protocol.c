// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "script/protocol/client.h"
#include "script/protocol/frame.h"
#include "script/protocol/message.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

// If FIRESTEEL_WRITE is set, this test writes the page; otherwise it compares it.
static const char intro[] =
    "# Protocol\n\n"
    "Kernel and clients talk JSON lines over a Unix socket: one message a line, UTF-8, at most 16 "
    "MiB. "
    "The client that\nstarts a kernel has the other end of a socket pair from the first moment; "
    "`/tmp/firesteel-UID/*.sock` is for those that come\nlater (the folder is 0700, and the peer's "
    "uid "
    "is checked).\n\n"
    "A client says `hello` and gets `welcome`, the `document`, and then events: first the "
    "journal's, "
    "from the number it asks\nfor, then new ones as they happen. There is no difference between "
    "the two: "
    "an event is journaled before it is sent, and\nwhat is sent are the journal's bytes. "
    "`firesteel run "
    "-o json` prints the same lines.\n"
    "Who has said neither `person` nor `read_only` gets events that follow others within 5 ms\n"
    "together with the next ones, so that it wakes less often.\n\n"
    "Every message has `type`. A message to the kernel may have `id`, any number; its reply has it "
    "as "
    "`to`. An event also has\n`seq` (1, 2, …), `wall` (RFC 3339) and `mono` (nanoseconds since "
    "boot).\n\n"
    "The tables are generated from `script/protocol/message.def`, as are the names and the checks; "
    "a "
    "test compares them.\n\n";

TEST(page_is_the_table)
{
    err e = {0};
    AUTO_BUF want = {0}, got = {0};
    AUTO_FREE char *path = path_join(getenv("FIRESTEEL_SOURCE"), "doc/protocol.md");
    buf_str(&want, intro);
    message_document(&want);
    if (getenv("FIRESTEEL_WRITE"))
        CHECK_OK(path_write(path, want.data, want.len, 0644, &e) == 0, e);
    CHECK_OK(path_read(path, &got, 0, &e) == 0, e);
    if (strcmp(buf_cstr(&got), buf_cstr(&want)) != 0)
        tap_fail(__FILE__, __LINE__,
            "doc/protocol.md is old: FIRESTEEL_WRITE=1 test-protocol writes it");
}

static int check(const char *text, err *e)
{
    AUTO_JSON *message = json_parse(text, strlen(text), e);
    return message ? message_check(message, e) : -1;
}

TEST(messages_are_checked)
{
    err e = {0};
    CHECK_OK(check("{\"type\":\"hello\",\"version\":1}", &e) == 0, e);
    CHECK_OK(check("{\"type\":\"hello\",\"version\":1,\"newer\":[]}", &e) == 0, e);
    CHECK(check("{\"type\":\"hello\"}", &e) < 0);
    CHECK_STR(e.text, "hello needs \"version\"");
    CHECK(check("{\"type\":\"hello\",\"version\":1.5}", &e) < 0);
    CHECK_STR(e.text, "hello: \"version\" must be of type integer");
    CHECK(check("{\"type\":\"helo\"}", &e) < 0);
    CHECK_STR(e.text, "no message \"helo\"; is it \"hello\"?");
    CHECK(check("{\"type\":\"something else\"}", &e) < 0);
    CHECK_STR(e.text, "no message \"something else\"");
    CHECK(check("{}", &e) < 0);
    CHECK(check("[]", &e) < 0);
    CHECK(check("3", &e) < 0);
}

TEST(names_and_types_agree)
{
    for (message_type type = MESSAGE_hello; type <= MESSAGE_end; type++) {
        AUTO_JSON *message = message_new(type);
        CHECK_INT(message_type_of(message), type);
    }
    CHECK_INT(message_type_of(NULL), MESSAGE_NONE);
}

struct lines {
    buf text;
    int n, stop_at;
};

static int on_line(void *arg, const char *text, size_t n, err *e)
{
    struct lines *lines = arg;
    CHECK_INT(strlen(text), n);
    buf_fmt(&lines->text, "[%s]", text);
    return ++lines->n == lines->stop_at ? -1 : 0;
}

TEST(frames_are_cut_wherever_the_bytes_are)
{
    static const char stream[] = "{\"a\":1}\n\n{\"b\":2}\nrest";
    for (size_t piece = 1; piece < sizeof stream; piece++) {
        frame_reader r = {0};
        struct lines lines = {0};
        err e = {0};
        for (size_t at = 0; at < sizeof stream - 1; at += piece) {
            size_t n = sizeof stream - 1 - at < piece ? sizeof stream - 1 - at : piece;
            CHECK_OK(frame_reader_feed(&r, stream + at, n, on_line, &lines, &e) == 0, e);
        }
        CHECK_STR(buf_cstr(&lines.text), "[{\"a\":1}][{\"b\":2}]");
        CHECK_INT(r.rest.len, 4);
        frame_reader_done(&r);
        buf_done(&lines.text);
    }
}

TEST(frames_stop_and_are_limited)
{
    frame_reader r = {0};
    struct lines lines = {.stop_at = 1};
    err e = {0};
    CHECK_INT(frame_reader_feed(&r, "a\nb\n", 4, on_line, &lines, &e), -1);
    CHECK_STR(buf_cstr(&lines.text), "[a]");
    frame_reader_done(&r);
    char *big = mem_alloc(1 << 20);
    memset(big, 'x', 1 << 20);
    int result = 0;
    for (int i = 0; i < 17 && result == 0; i++)
        result = frame_reader_feed(&r, big, 1 << 20, on_line, &lines, &e);
    CHECK_INT(result, -1);
    CHECK_INT(e.code, ERR_LIMIT);
    free(big);
    frame_reader_done(&r);
    buf_done(&lines.text);
}

struct asked {
    loop *loop;
    client *client;
    int answered, unanswered;
};

static void on_event(void *arg, message_type type, const cJSON *message)
{
}

static void on_closed(void *arg, const err *reason)
{
}

static void on_reply(void *arg, const cJSON *reply)
{
    struct asked *a = arg;
    a->answered += reply != NULL;
    a->unanswered += reply == NULL;
    if (!reply)
        return;
    client_free(a->client);
    client_request(a->client, message_new(MESSAGE_interrupt), on_reply, a);
    loop_stop(a->loop);
}

// Also when it is closed in the reply to another request.
TEST(every_request_is_told_its_end)
{
    static const struct client_ops ops = {.event = on_event, .closed = on_closed};
    err e = {0};
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    struct asked a = {.loop = loop_new(&e)};
    CHECK_OK(a.loop, e);
    a.client = client_from_fd(a.loop, ends[0], &ops, &a, &e);
    CHECK_OK(a.client, e);
    for (int i = 0; i < 3; i++)
        client_request(a.client, message_new(MESSAGE_interrupt), on_reply, &a);
    static const char reply[] = "{\"type\":\"reply\",\"to\":2,\"ok\":true}\n";
    CHECK_INT(write(ends[1], reply, strlen(reply)), (long)strlen(reply));
    loop_run(a.loop);
    CHECK_INT(a.answered, 1);
    CHECK_INT(a.unanswered, 3);
    loop_free(a.loop);
    close(ends[1]);
}

int main(void)
{
    return tap_run();
}
