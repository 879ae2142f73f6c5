// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/mask.h"
#include "tests/support/tap.h"

static const char secret[] = "hunter2-hunter2";

static mask *one_secret(void)
{
    mask *m = mask_new();
    mask_add(m, secret, strlen(secret));
    return m;
}

static void check(mask *m, const char *text, const char *want)
{
    AUTO_BUF out = {0};
    mask_text(m, text, strlen(text), &out);
    CHECK_STR(buf_cstr(&out), want);
}

TEST(raw_values_are_replaced)
{
    mask *m = one_secret();
    check(m, "a hunter2-hunter2 b hunter2-hunter2", "a [secret] b [secret]");
    check(m, "hunter2-hunter", "hunter2-hunter");
    check(m, "hunter2-hunter2-hunter2", "[secret]-hunter2");
    check(m, "", "");
    mask_free(m);
}

TEST(base64_is_found_at_every_alignment)
{
    mask *m = one_secret();
    for (size_t before = 0; before < 7; before++) {
        AUTO_BUF plain = {0}, text = {0}, out = {0};
        for (size_t i = 0; i < before; i++)
            buf_char(&plain, (char)('a' + i));
        buf_str(&plain, secret);
        buf_str(&plain, " and more");
        base64_encode(&text, plain.data, plain.len);
        CHECK(mask_text(m, text.data, text.len, &out));
        // What is left of it, decoded in any way, does not hold its middle any more.
        AUTO_FREE char *middle = mem_strndup(secret + 2, 10);
        AUTO_BUF again = {0};
        base64_encode(&again, middle, 9);
        CHECK(!strstr(out.data, again.data));
        CHECK_HAS(out.data, MASK_TEXT);
    }
    mask_free(m);
}

// What a printer writes of a secret in quotes is the secret, too.
TEST(escaped_spellings_are_replaced)
{
    mask *m = mask_new();
    static const char odd[] = "pq\"as\\s&w<0>rd\t1";
    mask_add(m, odd, strlen(odd));
    check(m, "pq\"as\\s&w<0>rd\t1", "[secret]");
    check(m, "{\"a\":\"pq\\\"as\\\\s&w<0>rd\\t1\"}", "{\"a\":\"[secret]\"}");
    check(m, "{token = \"pq\\\"as\\\\s&w<0>rd\\0091\"}", "{token = \"[secret]\"}");
    check(m, "pq\\\"as\\\\s\\u0026w\\u003c0\\u003erd\\t1", "[secret]");
    check(m, "pq\\\\\\\"as\\\\\\\\s\\\\u0026w\\\\u003c0\\\\u003erd\\\\t1", "[secret]");
    check(m, "pq\\\\\\\"as\\\\\\\\s&w<0>rd\\\\t1", "[secret]");
    mask_add(m, "caf\xC3\xA9 \xF0\x9F\x94\x91 au lait", 18);
    check(m, "\"caf\\u00e9 \\ud83d\\udd11 au lait\"", "\"[secret]\"");
    mask_add(m, "line one\nline two", 17);
    check(m, "x: \"line one\\nline two\"", "x: \"[secret]\"");
    mask_free(m);
}

TEST(base64_of_an_escaped_secret_is_replaced)
{
    mask *m = mask_new();
    mask_add(m, "hunter\"2\"hunter", 15);
    static const char auth[] = "{\"auths\":{\"password\":\"hunter\\\"2\\\"hunter\"}}";
    AUTO_BUF text = {0}, out = {0};
    base64_encode(&text, auth, strlen(auth));
    CHECK(mask_text(m, text.data, text.len, &out));
    mask_free(m);
}

TEST(chunks_of_a_stream_give_what_the_whole_gives)
{
    mask *m = one_secret();
    mask_add(m, "hunter2-h", 9); // a prefix of the other
    mask_add(m, "2-hunter2!!", 11);
    mask_add(m, "say \"hi\" to", 11);
    static const char text[] =
        "x hunter2-hunter2 hunter2-h hunter2-hunterX 2-hunter2!! say \\\"hi\\\" to say\"hi "
        "hunter2-hunte";
    AUTO_BUF whole = {0};
    mask_text(m, text, strlen(text), &whole);
    for (size_t a = 0; a <= strlen(text); a++) {
        for (size_t b = a; b <= strlen(text); b++) {
            mask_stream s;
            AUTO_BUF out = {0};
            mask_stream_init(&s, m);
            mask_stream_feed(&s, text, a, &out);
            mask_stream_feed(&s, text + a, b - a, &out);
            mask_stream_feed(&s, text + b, strlen(text) - b, &out);
            mask_stream_flush(&s, &out);
            CHECK_STR(buf_cstr(&out), whole.data);
            mask_stream_done(&s);
        }
    }
    mask_free(m);
}

TEST(little_is_held_back)
{
    mask *m = one_secret();
    mask_stream s;
    AUTO_BUF out = {0};
    mask_stream_init(&s, m);
    mask_stream_feed(&s, "an ordinary line\nPassword: hunt", 31, &out);
    CHECK_STR(buf_cstr(&out), "an ordinary line\nPassword: ");
    mask_stream_flush(&s, &out);
    CHECK_STR(buf_cstr(&out), "an ordinary line\nPassword: hunt");
    mask_stream_done(&s);
    mask_free(m);
}

TEST(strings_and_keys_of_json_are_masked)
{
    mask *m = one_secret();
    static const char text[] = "{\"a\":[\"x hunter2-hunter2\",1],\"hunter2-hunter2\":null}";
    AUTO_JSON *j = json_parse(text, strlen(text), NULL);
    CHECK(j);
    CHECK(mask_json(m, j));
    AUTO_FREE char *masked = json_to_str(j);
    CHECK_STR(masked, "{\"a\":[\"x [secret]\",1],\"[secret]\":null}");
    CHECK(!mask_json(m, j));
    mask_free(m);
}

TEST(lines_of_a_key_are_secrets_too)
{
    mask *m = mask_new();
    static const char pem[] = "-----BEGIN KEY-----\nabcdefghij\r\nKLMNOPQRST\n-----END KEY-----\n";
    mask_add(m, pem, strlen(pem));
    check(m, "-----BEGIN KEY----- abcdefghij KLMNOPQRST", "-----BEGIN KEY----- [secret] [secret]");
    mask_add(m, "short", 5); // too short to be one
    check(m, "short", "short");
    mask_free(m);
}

TEST(variables_are_secret_by_their_names)
{
    CHECK(mask_env_name("GITHUB_TOKEN") && mask_env_name("my_secret_x") &&
          mask_env_name("PGPASSWORD"));
    CHECK(mask_env_name("AWS_ACCESS_KEY") && mask_env_name("X_CREDENTIALS"));
    CHECK(!mask_env_name("KEYBOARD") && !mask_env_name("PATH") && !mask_env_name("_KEYS"));
    mask *m = mask_new();
    mask_add_env(
        m, (const char *const[]){"API_TOKEN=t0p-s3cret", "HOME=/home/ann", "B_KEY=abc", NULL});
    check(m, "t0p-s3cret in /home/ann abc", "[secret] in /home/ann abc");
    mask_free(m);
}

int main(void)
{
    return tap_run();
}
