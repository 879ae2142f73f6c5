// SPDX-License-Identifier: MIT
// Jupyter's frames: what we sign is what jupyter_client would sign, and what is not signed with the
// session's key is refused.
#include "script/jupyter/wire.h"

#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <stdlib.h>

static wire w = {.key = "a0436f6c-1916-498b-8eb9-e81ab9368e84", .session = "s"};

// The signature of the four frames below with that key, by Python's
// hmac.new(key, b"".join(frames), "sha256").hexdigest().
#define HEADER    "{\"msg_id\":\"1\",\"msg_type\":\"status\"}"
#define PARENT    "{\"msg_id\":\"cell-1\"}"
#define CONTENT   "{\"execution_state\":\"idle\"}"
#define SIGNATURE "cb5beb9a60c47c1a7706e2f61011aa773161c1b9e1cafe90f04ad7c8e31f3dee"

static struct wire_frame frame(const char *text)
{
    return (struct wire_frame){text, strlen(text)};
}

static int unpack(
    const char *signature, const char *header, size_t n, struct wire_message *m, err *e)
{
    const struct wire_frame frames[] = {frame("kernel.status"), frame("<IDS|MSG>"),
        frame(signature), frame(header), frame(PARENT), frame("{}"), frame(CONTENT),
        frame("a buffer")};
    return wire_unpack(&w, frames, n, m, e);
}

TEST(a_signed_message_is_read)
{
    struct wire_message m;
    err e = {0};
    CHECK_OK(unpack(SIGNATURE, HEADER, 8, &m, &e) == 0, e);
    CHECK_STR(json_str(m.header, "msg_type"), "status");
    CHECK_STR(json_str(m.parent, "msg_id"), "cell-1");
    CHECK_STR(json_str(m.content, "execution_state"), "idle");
    wire_done(&m);
}

TEST(a_request_to_a_subshell_names_it)
{
    char *frames[WIRE_FRAMES];
    wire_pack(&w,
        &(struct wire_outgoing){
            .type = "complete_request", .id = "1", .date = "now", .subshell = "s-1"},
        frames);
    AUTO_JSON *header = json_parse(frames[2], strlen(frames[2]), NULL);
    CHECK_STR(json_str(header, "subshell_id"), "s-1");
    for (size_t i = 0; i < WIRE_FRAMES; i++)
        free(frames[i]);
    wire_pack(&w, &(struct wire_outgoing){.type = "x", .id = "2", .date = "now"}, frames);
    CHECK(!strstr(frames[2], "subshell"));
    for (size_t i = 0; i < WIRE_FRAMES; i++)
        free(frames[i]);
}

TEST(a_wrong_signature_is_refused)
{
    struct wire_message m;
    err e = {0};
    char near[] = SIGNATURE;
    near[63] ^= 1;
    CHECK_INT(unpack(near, HEADER, 8, &m, &e), -1);
    CHECK_HAS(e.text, "its signature is not made with the session's key");
    CHECK(!m.header && !m.content);
    CHECK_INT(unpack("", HEADER, 8, &m, &e), -1);
    CHECK_INT(unpack(SIGNATURE "00", HEADER, 8, &m, &e), -1);
    CHECK_INT(unpack(SIGNATURE, "{\"msg_id\":\"2\",\"msg_type\":\"status\"}", 8, &m, &e), -1);
    CHECK_HAS(e.text, "its signature");
}

TEST(what_is_no_message_is_refused)
{
    struct wire_message m;
    err e = {0};
    CHECK_INT(unpack(SIGNATURE, HEADER, 6, &m, &e), -1);
    CHECK_HAS(e.text, "it has 5 frames, and needs 6");
    CHECK_INT(wire_unpack(&w, &(struct wire_frame){"x", 1}, 1, &m, &e), -1);
    CHECK_HAS(e.text, "it has no <IDS|MSG>");
    CHECK_INT(wire_unpack(&w, NULL, 0, &m, &e), -1);
}

// A message of our own: its frames, and what comes back when they are read again.
static int again(const char *content, struct wire_message *m, err *e)
{
    char *packed[WIRE_FRAMES];
    struct wire_frame frames[WIRE_FRAMES];
    AUTO_JSON *j = cJSON_CreateObject();
    json_set_str(j, "code", content);
    wire_pack(&w,
        &(struct wire_outgoing){.type = "execute_request",
            .id = "cell-7",
            .date = "2026-01-02T03:04:05.000006Z",
            .content = j},
        packed);
    for (size_t i = 0; i < WIRE_FRAMES; i++)
        frames[i] = frame(packed[i]);
    int result = wire_unpack(&w, frames, WIRE_FRAMES, m, e);
    for (size_t i = 0; i < WIRE_FRAMES; i++)
        free(packed[i]);
    return result;
}

TEST(without_a_key_nothing_is_signed)
{
    static const wire open = {.session = "s"};
    const struct wire_frame frames[] = {frame("a client"), frame("the same"), frame("<IDS|MSG>"),
        frame("nothing that counts"), frame(HEADER), frame(PARENT), frame("{}"), frame(CONTENT)};
    struct wire_message m;
    err e = {0};
    char *packed[WIRE_FRAMES];
    CHECK_OK(wire_unpack(&open, frames, ARRAY_LEN(frames), &m, &e) == 0, e);
    CHECK_INT((int)m.identities, 2);
    wire_pack(&open,
        &(struct wire_outgoing){.type = "status", .id = "1", .date = "d", .parent = m.header},
        packed);
    CHECK_STR(packed[1], "");
    CHECK_STR(packed[3], HEADER);
    for (size_t i = 0; i < WIRE_FRAMES; i++)
        free(packed[i]);
    wire_done(&m);
}

TEST(our_own_message_is_one)
{
    struct wire_message m;
    err e = {0};
    CHECK_OK(again("print(\"ä\\n\")", &m, &e) == 0, e);
    CHECK_STR(json_str(m.header, "msg_id"), "cell-7");
    CHECK_STR(json_str(m.header, "session"), "s");
    CHECK_STR(json_str(m.header, "version"), "5.4");
    CHECK_STR(json_str(m.content, "code"), "print(\"ä\\n\")");
    wire_done(&m);
}

TEST(signed_text_that_is_no_json_is_refused)
{
    struct wire_message m;
    err e = {0};
    // of "{" and three "{}", by the same means
    const struct wire_frame frames[] = {frame("<IDS|MSG>"),
        frame("bc4f65acf745824c9f2345731b3030d2e765104eb6df3de2b416ec7dac1f52c3"), frame("{"),
        frame("{}"), frame("{}"), frame("{}")};
    CHECK_INT(wire_unpack(&w, frames, ARRAY_LEN(frames), &m, &e), -1);
    CHECK_HAS(e.text, "its header");
    CHECK(!m.header);
}

TEST(each_session_has_a_key_of_its_own)
{
    wire a, b;
    wire_init(&a);
    wire_init(&b);
    CHECK_INT(strlen(a.key), 64);
    CHECK_INT(strlen(a.session), 32);
    CHECK(!str_eq(a.key, b.key) && !str_eq(a.session, b.session));
}

int main(void)
{
    return tap_run();
}
