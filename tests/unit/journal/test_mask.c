// SPDX-License-Identifier: MIT
#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/mask/mask.h"
#include "tests/support/tap.h"

static const char secret[] = "hunter2-hunter2";

static mask *one_secret(void)
{
    mask *m = mask_new();
    mask_add(m, secret, strlen(secret));
    return m;
}

static void add(mask *m, const char *text)
{
    mask_add(m, text, strlen(text));
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
        // The rest of it, decoded in any way, must not contain its middle.
        AUTO_FREE char *middle = mem_strndup(secret + 2, 10);
        AUTO_BUF again = {0};
        base64_encode(&again, middle, 9);
        CHECK(!strstr(out.data, again.data));
        CHECK_HAS(out.data, MASK_TEXT);
    }
    mask_free(m);
}

// A secret that a printer has quoted is still the secret.
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
        "hunter2-hunte\xe2\x80\xa6unter2-hunt\n[\xe2\x80\xa6]\nter2-hunter2 hunter2...";
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

// Libraries cut texts before a mask sees them: what is left of a secret is a part of it.
TEST(parts_of_a_secret_beside_a_cut_are_replaced)
{
    mask *m = one_secret();
    check(m, "“hunter2-hunt…” is no name", "“[secret]…” is no name");
    check(m, "hunter…", "[secret]…");
    check(m, "hunte…", "hunte…");
    check(m, "hunter2-hunt", "hunter2-hunt");
    check(m, "hunter2-hunt...", "[secret]...");
    check(m, "hunter2-hun...", "hunter2-hun...");
    check(m, "{\"a\":\"hunter2\\u2026\"}", "{\"a\":\"[secret]\\u2026\"}");
    check(m, "hunter2&#8230;", "[secret]&#8230;");
    check(m, "hunter2-h\n[… 7 bytes left out …]\nhunter2 b",
        "[secret]\n[… 7 bytes left out …]\n[secret] b");
    check(m, "hunter2-h\\n[… 7 bytes left out …]\\nhunter2 b",
        "[secret]\\n[… 7 bytes left out …]\\n[secret] b");
    check(m, "a …unter2-hunter2 b", "a …[secret] b");
    check(m, "a …nter2-hunt… b", "a …[secret]… b");
    check(m, "a …nter2-hunt b", "a …nter2-hunt b");
    check(m, "[…]\nnter2-hunter2", "[…]\n[secret]");
    check(m, "...unter2-hunter2", "...[secret]");
    check(m, "....unter2-hunter2", "....[secret]");
    check(m, "https://me:unknown…", "https://me:[secret]…");
    check(m, "https://host:8080…", "https://host:8080…");
    check(m, "68756e746572…", "[secret]…"); // in hexadecimal digits
    mask_add(
        m, "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n", 70);
    check(m, "-----BEGIN KEY----- MIIEvQIBADANBgkqhkiG9w0BAQEFAASC BKcwgg…", "[secret]…");
    check(m, "at BKcwgg…", "at [secret]…");
    check(m, "p\xc3\xa4ssw\xc3", "p\xc3\xa4ssw\xc3");
    add(m, "p\xc3\xa4ssw\xc3\xb6rter");
    check(m, "p\xc3\xa4ssw" UTF8_REPLACEMENT "\n[… 7 bytes left out …]\n" UTF8_REPLACEMENT "rter",
        "[secret]" UTF8_REPLACEMENT "\n[… 7 bytes left out …]\n" UTF8_REPLACEMENT "rter");
    mask_free(m);
}

// As an error or a table shows a secret that is not in UTF-8, or has line breaks.
TEST(a_secret_is_known_as_it_is_shown)
{
    mask *m = mask_new();
    add(m, "p\xe4ssw\xf6rter");
    check(m, "p" UTF8_REPLACEMENT "ssw" UTF8_REPLACEMENT "rter", "[secret]");
    add(m, "ab\n  cd\nef\ngh");
    check(m, "ab cd ef gh", "[secret]");
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
    static const char *const secret_names[] = {"GITHUB_TOKEN", "my_secret_x", "PGPASSWORD",
        "AWS_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "X_CREDENTIALS",
        "REGISTRY_AUTH", "GITHUB_PAT", "SSH_PASSPHRASE", "PGPASS", "DB_PASS", "MYSQL_PWD",
        "db_password", "api-key", "dbPassword"};
    static const char *const plain_names[] = {"KEYBOARD", "PATH", "_KEYS", "SSH_AUTH_SOCK",
        "TOKENIZERS_PARALLELISM", "max_tokens", "tokenizer", "OLDPWD", "AWS_REGION", "XAUTHORITY",
        "PATCH", "COMPASS"};
    for (size_t i = 0; i < ARRAY_LEN(secret_names); i++)
        if (!secret_name(secret_names[i]))
            tap_fail(__FILE__, __LINE__, "%s is the name of a secret", secret_names[i]);
    for (size_t i = 0; i < ARRAY_LEN(plain_names); i++)
        if (secret_name(plain_names[i]))
            tap_fail(__FILE__, __LINE__, "%s is not the name of a secret", plain_names[i]);
    mask *m = mask_new();
    mask_add_env(
        m, (const char *const[]){"API_TOKEN=t0p-s3cret", "HOME=/home/ann", "B_KEY=abc", NULL});
    check(m, "t0p-s3cret in /home/ann abc", "[secret] in /home/ann abc");
    mask_free(m);
}

// The part before the "@" of a URL is for its server only, whoever prints it.
TEST(passwords_of_urls_are_replaced)
{
    mask *m = mask_new();
    check(m, "server http://u:PW@host:6443 is away", "server http://u:[secret]@host:6443 is away");
    check(m, "\"a+b://ann:p:w%40@[::1]/x\"", "\"a+b://ann:[secret]@[::1]/x\"");
    static const char *const plain[] = {"http://host:80/a@b", "ssh://git@host",
        "see http://host:80", "http://u:@host", "psql://$USER:$PASSWORD@db", "x://u:${PW}@db",
        "x://u:{pw}@db", "x://u:***@db", "http://a: b@c", "http://[::1]:80/", "x://u:%s@db",
        "x://u:[secret]@db"};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        check(m, plain[i], plain[i]);
    static const char text[] = "to http://u:PW@host";
    for (size_t a = 0; a <= strlen(text); a++) {
        AUTO_BUF out = {0};
        mask_stream s;
        mask_stream_init(&s, m);
        mask_stream_feed(&s, text, a, &out);
        mask_stream_feed(&s, text + a, strlen(text) - a, &out);
        mask_stream_flush(&s, &out);
        CHECK_STR(buf_cstr(&out), "to http://u:[secret]@host");
        mask_stream_done(&s);
    }
    mask_add(m, "ghp_0123456789", 14);
    check(m, "https://ghp_0123456789:x@github.com", "https://[secret]:[secret]@github.com");
    mask_free(m);
}

TEST(settings_with_a_url_hold_its_password)
{
    mask *m = mask_new();
    mask_add_env(m, (const char *const[]){"DATABASE_URL=postgres://app:hunter%2F2/x@db:5432/app",
                        "SITE=http://host:8080/path@x", NULL});
    check(m, "hunter/2/x hunter%2F2/x hunter%2f2%2fx", "[secret] [secret] [secret]");
    check(m, "app db 8080/path", "app db 8080/path");
    mask_free(m);
}

// The short end of a line is not held back, even if a secret may begin with it: the rest of the
// secret is found on the next line.
TEST(ends_of_lines_are_shown_at_once)
{
    mask *m = one_secret();
    mask_stream s;
    AUTO_BUF out = {0};
    mask_stream_init(&s, m);
    mask_stream_feed(&s, "YXVudA== aHVud\n", 15, &out); // base64 of the secret begins so
    CHECK_STR(buf_cstr(&out), "YXVudA== aHVud\n");
    mask_stream_feed(&s, "GVyMi1odW50ZXIy\n", 16, &out);
    CHECK_STR(buf_cstr(&out), "YXVudA== aHVud\n[secret]\n");
    mask_stream_done(&s);
    mask_free(m);
}

int main(void)
{
    return tap_run();
}
