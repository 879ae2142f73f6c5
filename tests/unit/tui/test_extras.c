// SPDX-License-Identifier: MIT
// The bytes that ask a terminal for more than cells, and that no text in them is a command.
#include "tests/support/tap.h"
#include "tui/term/extras.h"

static const struct term_options xterm = {.type = "xterm-256color"};
static const struct term_options foot = {.type = "foot"};
static const struct term_options kitty = {.type = "xterm-kitty"};
static const struct term_options linux_console = {.type = "linux"};
static const struct term_options tmux = {.type = "tmux-256color", .tmux = true};
static const struct term_options gnu_screen = {.type = "screen", .screen = true};

static const char *begin(const struct term_options *o, bool xterm_title, bool mouse)
{
    static buf out;
    struct extras x = extras_of(o, xterm_title, mouse);
    buf_clear(&out);
    extras_begin(&x, &out);
    buf_str(&out, " ");
    extras_end(&x, &out);
    return buf_cstr(&out);
}

TEST(what_is_begun_is_ended)
{
    CHECK_STR(begin(&xterm, true, true), "\x1b[22;2t\x1b[?1004h\x1b[?1000h\x1b[?1006h\x1b[?2026$p "
                                         "\x1b[?2026l\x1b[?1006l\x1b[?1000l\x1b[?1004l\x1b[23;2t");
    struct term_options asks = xterm;
    asks.asks_background = true; // before the question whose answer is waited for at the end
    CHECK_HAS(begin(&asks, true, true), "\x1b]11;?\x1b\\\x1b[?2026$p");
    CHECK_STR(begin(&linux_console, false, false), " "); // not a byte that it does not know
    CHECK_STR(begin(&gnu_screen, false, false), "\x1b[22;2t\x1b[?1004h \x1b[?1004l\x1b[23;2t");
}

static const char *title(const struct term_options *o, bool xterm_title, const char *text)
{
    static buf out;
    struct extras x = extras_of(o, xterm_title, false);
    buf_clear(&out);
    extras_title(&x, text, &out);
    return buf_cstr(&out);
}

TEST(a_title_is_text)
{
    CHECK_STR(title(&xterm, true, "mnist.lua: läuft"), "\x1b]2;mnist.lua: läuft\a");
    CHECK_STR(title(&xterm, true, "a\x07\x1b]52;c;eA==\xc2\x9c\xe2\x80\xae!"),
        "\x1b]2;a  ]52;c;eA==  !\a");
    CHECK_STR(title(&linux_console, false, "x"), "");
    char longest[500];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK(strlen(title(&xterm, true, longest)) < 150);
    // 120 columns are too few for a flag and one half of the next
    memcpy(longest + 119, "\U0001F1E9\U0001F1EA", 9);
    CHECK_INT(strlen(title(&xterm, true, longest)), 119 + strlen("\x1b]2;\a"));
    memcpy(longest + 118, "\U0001F1E9\U0001F1EA", 9);
    CHECK_INT(strlen(title(&xterm, true, longest)), 118 + 8 + strlen("\x1b]2;\a"));
    CHECK_STR(title(&xterm, true, "e\u0301 \U0001F469\u200D\U0001F467"),
        "\x1b]2;e\u0301 \U0001F469 \U0001F467\a"); // what is joined stands side by side
}

static const char *notify(struct term_options o, const char *words)
{
    static buf out;
    struct extras x = extras_of(&o, o.type != linux_console.type, false);
    buf_clear(&out);
    extras_notify(&x, "n;b", words, &out);
    return buf_cstr(&out);
}

TEST(a_notification_is_what_the_terminal_shows)
{
    CHECK_STR(notify(xterm, "done"), "\a");
    CHECK_STR(notify(foot, "done"), "\x1b]777;notify;n b;done\a");
    CHECK_STR(notify(kitty, "do\x1b[2Jne"), "\x1b]9;n b: do [2Jne\a");
    CHECK_STR(notify(tmux, "done"), "\a");
    struct term_options o = xterm;
    o.program = "WezTerm";
    CHECK_STR(notify(o, "done"), "\x1b]9;n b: done\a");
    o = tmux;
    o.notify = NOTIFY_OSC9;
    CHECK_STR(notify(o, "done"), "\x1bPtmux;\x1b\x1b]9;n b: done\a\x1b\\\a");
    o.notify = NOTIFY_NONE;
    CHECK_STR(notify(o, "done"), "");
    o = linux_console;
    o.notify = NOTIFY_OSC777; // which would be printed there
    CHECK_STR(notify(o, "done"), "\a");
}

TEST(a_copy_is_in_base64)
{
    AUTO_BUF out = {0};
    struct extras x = extras_of(&xterm, true, false);
    extras_copy(&x, "hi\n", 3, &out);
    CHECK_STR(buf_cstr(&out), "\x1b]52;c;aGkK\a");
    buf_clear(&out);
    x = extras_of(&tmux, false, false);
    extras_copy(&x, "hi\n", 3, &out);
    CHECK_STR(buf_cstr(&out), "\x1b]52;c;aGkK\a"); // its own clipboard
    buf_clear(&out);
    x = extras_of(&gnu_screen, false, false);
    char many[1000] = {0};
    extras_copy(&x, many, sizeof many, &out);
    CHECK(strncmp(buf_cstr(&out), "\x1bP\x1b]52;c;AAAA", 13) == 0);
    for (const char *at = buf_cstr(&out), *end; (end = strstr(at, "\x1b\\")); at = end + 2)
        CHECK(end - at < 700); // what screen lets through at once
    CHECK(strstr(buf_cstr(&out), "\a\x1b\\"));
}

int main(void)
{
    return tap_run();
}
