// SPDX-License-Identifier: MIT
#include "base/json/json.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "tests/support/tap.h"

static void check(const char *text, const char *want)
{
    AUTO_BUF out = {0};
    printable(&out, text, strlen(text));
    CHECK_STR(buf_cstr(&out), want);
}

TEST(ordinary_text_stays_as_it_is)
{
    static const char *const texts[] = {"", "a\tb\n", "caf\xC3\xA9 \xF0\x9F\x94\x91",
        "\xD7\xA9\xE2\x80\x8F", "\xC2\xA0", "^[", "\xEF\xBF\xBD"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        check(texts[i], texts[i]);
}

TEST(what_a_terminal_would_obey_is_shown)
{
    check("\033]52;c;aGk=\a", "^[]52;c;aGk=^G");
    check("\033[2J\x7F\b", "^[[2J^?^H");
    check("\xC2\x9B"
          "2J\xC2\x9D",
        "<U+009B>2J<U+009D>");
    check("user\xE2\x80\xAEtxt.exe\xE2\x81\xA9", "user<U+202E>txt.exe<U+2069>");
    check("a\r\nb\rc\r", "a\nb^Mc^M");
    check("caf\xE9 \x9B"
          "2J \xE2\x80",
        "caf<E9> <9B>2J <E2><80>");
    AUTO_BUF out = {0};
    printable(&out, "a\0b", 3);
    CHECK_STR(buf_cstr(&out), "a^@b");
}

TEST(json_keeps_its_meaning)
{
    static const char text[] = "{\"a\":\"\xC2\x9B x \xE2\x80\xAE\x7F \xC3\xA9\"}\n";
    AUTO_BUF out = {0};
    printable_json(&out, text, strlen(text));
    CHECK_STR(buf_cstr(&out), "{\"a\":\"\\u009b x \\u202e\\u007f \xC3\xA9\"}\n");
    AUTO_JSON *before = json_parse(text, strlen(text), NULL);
    AUTO_JSON *after = json_parse(out.data, out.len, NULL);
    CHECK(before && json_equal(before, after));
}

int main(void)
{
    return tap_run();
}
