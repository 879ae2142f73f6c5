// SPDX-License-Identifier: MIT
// Bytes of keyboards as events, and the terminal in memory.
#include "base/mem.h"
#include "tests/support/tap.h"
#include "tui/term/input.h"

static const char *events(input *in, const char *bytes, size_t n, bool late)
{
    static buf out;
    buf_clear(&out);
    input_feed(in, bytes, n);
    for (struct term_event ev; (ev = input_next(in, late)).kind != EVENT_NONE;) {
        char name[KEY_NAME_SIZE];
        if (ev.kind == EVENT_KEY) {
            key_print(ev.key, name);
            buf_fmt(&out, "%s ", name);
        } else if (ev.kind == EVENT_MOUSE) {
            static const char *const kinds[] = {"click", "double", "up", "down"};
            buf_fmt(&out, "%s@%d,%d ", kinds[ev.mouse.kind], ev.mouse.x, ev.mouse.y);
        } else if (ev.kind == EVENT_FOCUS) {
            buf_str(&out, ev.on ? "here " : "elsewhere ");
        } else if (ev.kind == EVENT_MODE) {
            buf_fmt(&out, "mode%u:%d ", ev.mode, ev.on);
        } else if (ev.kind == EVENT_BACKGROUND) {
            buf_str(&out, ev.on ? "light " : "dark ");
        } else if (ev.kind == EVENT_DEVICE) {
            buf_str(&out, ev.on ? "sixels " : "no-sixels ");
        } else if (ev.kind == EVENT_NAME) {
            buf_fmt(&out, "name:%s ", ev.name);
        } else if (ev.kind == EVENT_KITTY) {
            buf_str(&out, ev.on ? "kitty " : "no-kitty ");
        } else if (ev.kind == EVENT_COLORS) {
            buf_fmt(&out, "colors:%u ", ev.mode);
        } else if (ev.kind == EVENT_CELL_SIZE) {
            buf_fmt(&out, "cell:%dx%d ", ev.w, ev.h);
        } else {
            buf_fmt(&out, "<%.*s> ", (int)ev.n, ev.text);
        }
    }
    return buf_cstr(&out);
}

static void check(const char *bytes, const char *want)
{
    input *in = input_new();
    CHECK_STR(events(in, bytes, strlen(bytes), true), want);
    input_free(in);
    in = input_new(); // byte by byte
    AUTO_BUF all = {0};
    for (size_t i = 0; i < strlen(bytes); i++)
        buf_str(&all, events(in, bytes + i, 1, false));
    buf_str(&all, events(in, "", 0, true));
    CHECK_STR(buf_cstr(&all), want);
    input_free(in);
}

TEST(what_terminals_say_of_pictures_is_no_key)
{
    check("\x1b[?62;4;22cq\x1b[?1;2c", "sixels q no-sixels ");
    check("\x1b[?64;14;41;42c\x1b[?4c", "no-sixels sixels ");
    check("\x1bP>|kitty(0.36.2)\x1b\\x", "name:kitty(0.36.2) x ");
    check("\x1bP>|a name that is longer than there is room for\x1b\\",
        "name:a name that is longer than t… ");
    check("\x1b_Gi=31;OK\x1b\\x", "kitty x ");
    check("\x1b_Gi=31;EINVAL:bad\x1b\\x\x1b_G\x1b\\", "no-kitty x no-kitty ");
    check("\x1b[?1;0;256S\x1b[?1;3;0S\x1b[6;20;10tx", "colors:256 cell:10x20 x ");
    check("\x1b_Gi=31;O\x03q", "C-c q "); // cut off
    check("\x1bP\x1b_", "M-P M-_ ");
}

TEST(characters_and_controls)
{
    check("aé漢 ", "a é 漢 Space ");
    check("\x01\r\t\x7f\x1c\x1f", "C-a Enter Tab Backspace C-\\ C-_ ");
    input *in = input_new();
    CHECK_STR(events(in, "\0", 1, false), "C-Space ");
    input_free(in);
}

TEST(sequences_of_xterm_linux_and_vt100)
{
    check("\x1b[A\x1bOB\x1b[H\x1bOF", "Up Down Home End ");
    check("\x1b[5~\x1b[6;5~\x1b[3~\x1b[1~", "PgUp C-PgDn Delete Home ");
    check("\x1b[1;2A\x1b[1;3B\x1b[1;6C\x1b[1;8D", "S-Up M-Down C-S-Right C-M-S-Left ");
    check("\x1bOP\x1b[15~\x1b[24~\x1b[[A\x1b[[E", "F1 F5 F12 F1 F5 ");
    check("\x1b[Z\x1bOM", "S-Tab Enter ");
    check("\x1bOp\x1bOk", "0 + "); // the keypad
}

TEST(keys_that_were_asked_for)
{
    check("\x1b[27;2;13~\x1b[27;5;101~", "S-Enter C-e ");
    check("\x1b[13;5u\x1b[97;3u\x1b[127;5u", "C-Enter M-a C-Backspace ");
}

TEST(alt_is_escape_before_a_key)
{
    check("\x1bx\x1b\r\x1b\x7f\x1bé", "M-x M-Enter M-Backspace M-é ");
    check("\x1b\x1b[A", "M-Up ");
    check("\x1b[", "M-[ ");
    check("\x1b", "Esc ");
    check("\x1b\x1b", "Esc Esc ");
}

// In one packet; a key that comes alone is Alt with it.
TEST(esc_before_a_letter_twice_is_typed)
{
    input *in = input_new();
    CHECK_STR(events(in, "\033dd", 3, false), "Esc d d ");
    CHECK_STR(events(in, "\033bX", 3, false), "M-b X ");
    CHECK_STR(events(in, "\033b\033b", 4, false), "M-b M-b ");
    CHECK_STR(events(in, "\x1b\rx\x1b\x7fx", 6, false), "M-Enter x M-Backspace x ");
    input_free(in);
}

TEST(what_nobody_knows_is_dropped)
{
    check("a\x1b[?1;2nb\x1b[>0;10;10Mc\x1b[200;1$yd\x1b[99~e", "a b c d e ");
    check("a\x1b[12\nb", "a Enter b ");
    check("a\xff\xc3(b", "a ( b ");
    check("\x1b\xff\xff"
          "b",
        "b "); // Esc belongs to what is dropped, also if that is there twice
}

TEST(a_paste_is_one_event_whatever_is_in_it)
{
    check("\x1b[200~a\x1b[A\nq\x1b[201~b", "<a\x1b[A\nq> b ");
    input *in = input_new();
    CHECK_STR(events(in, "\x1b[200~long", 10, false), "");
    CHECK_STR(events(in, "er\x1b[20", 6, false), "");
    CHECK_STR(events(in, "1~", 2, true), "<longer> ");
    input_free(in);
}

TEST(a_paste_without_an_end_is_over_when_nothing_comes)
{
    input *in = input_new();
    CHECK_STR(events(in, "\x1b[200~one\ndd", 12, false), "");
    CHECK(input_wait_ms(in, 25) > 500); // a slow line is not taken for an end
    CHECK_STR(events(in, "", 0, true), "<one\ndd> ");
    CHECK_STR(events(in, "00dd", 4, false), ""); // the line had only stopped
    CHECK_STR(events(in, "more\x1b[201~j", 11, false), "<00ddmore> j ");
    CHECK_STR(events(in, "\x1b[200~two", 9, false), "");
    CHECK_STR(events(in, "", 0, true), "<two> ");
    CHECK_STR(events(in, "j", 1, false), "j "); // somebody types
    CHECK_STR(events(in, "dd", 2, false), "d d ");
    input_free(in);
}

TEST(ctrl_c_gets_through_a_paste_without_an_end)
{
    input *in = input_new();
    CHECK_STR(events(in, "\x1b[200~dd\x03", 9, false), "");
    CHECK_INT(input_wait_ms(in, 25), 25);
    CHECK_STR(events(in, "", 0, true), "<dd> C-c ");
    CHECK_INT(input_wait_ms(in, 25), -1);
    CHECK_STR(events(in, "\x1b[200~\x03", 7, false), "");
    CHECK_STR(events(in, "", 0, true), "C-c ");
    CHECK_STR(events(in, "\x1b[200~a\x03 dd\x1b[201~j", 18, false), "<a\x03 dd> j "); // pasted
    input_free(in);
}

TEST(a_paste_has_a_size)
{
    enum { LIMIT = 16 << 20, CHUNK = 1 << 20 };
    char *chunk = mem_alloc(CHUNK);
    memset(chunk, 'd', CHUNK);
    input *in = input_new();
    input_feed(in, "\x1b[200~", 6);
    for (int i = 0; i < LIMIT / CHUNK + 2; i++) {
        input_feed(in, chunk, CHUNK);
        CHECK_INT(input_next(in, false).kind, EVENT_NONE);
    }
    input_feed(in, "\x1b[201~j", 7);
    struct term_event ev = input_next(in, false);
    CHECK(ev.kind == EVENT_PASTE && ev.n == LIMIT);
    ev = input_next(in, false);
    CHECK(ev.kind == EVENT_KEY && ev.key == 'j'); // and the excess is lost
    input_free(in);
    free(chunk);
}

TEST(alt_says_how_it_came)
{
    static const struct {
        const char *bytes;
        key want;
    } cases[] = {{"\x1bk", 'k' | KEY_ALT | KEY_ESCAPED}, {"\x1b[1;3A", FK_UP | KEY_ALT},
        {"\x1b\x1b[A", FK_UP | KEY_ALT | KEY_ESCAPED}, {"\x1b[107;3u", 'k' | KEY_ALT}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        input *in = input_new();
        input_feed(in, cases[i].bytes, strlen(cases[i].bytes));
        CHECK_INT(input_next(in, false).key, cases[i].want);
        input_free(in);
    }
}

TEST(what_is_cut_off_waits_as_long_as_it_may_go_on)
{
    input *in = input_new();
    events(in, "\x1b", 1, false);
    CHECK_INT(input_wait_ms(in, 25), 25);
    events(in, "[", 1, false);
    CHECK(input_wait_ms(in, 25) > 25);
    events(in, "1;", 2, false);
    CHECK(input_wait_ms(in, 25) > 25);
    CHECK_STR(events(in, "5A", 2, false), "C-Up ");
    events(in, "\x1b[<0;10", 7, false); // no part of a report is a key, even if the rest is late
    CHECK_INT(input_wait_ms(in, 25), -1);
    CHECK_STR(events(in, "", 0, true), "");
    CHECK_STR(events(in, ";5Mj", 4, true), "click@9,4 j ");
    CHECK_STR(events(in, "\x1b[?2026;\x03", 9, true), "C-c ");
    CHECK_STR(events(in, "\x1b\x1b\x1b", 3, true), "Esc Esc Esc ");
    input_free(in);
}

TEST(what_the_terminal_reports_is_no_key)
{
    check("\x1b[<0;1;2M\x1b[<0;1;2m", "click@0,1 "); // down, and up again
    check("\x1b[<64;80;24M\x1b[<65;300;24M", "up@79,23 down@299,23 ");
    check("\x1b[<2;5;5M\x1b[<32;5;5M\x1b[<35;5;5M\x1b[<66;5;5M\x1b[<0;0;5Mx", "x "); // others
    check("\x1b[<0;99999999999999999999;5M\x1b[<;;Mx", "x ");
    check("\x1b[I\x1b[Oq\x1b[?2026;2$y\x1b[?2026;0$y", "here elsewhere q mode2026:1 mode2026:0 ");
    check("\x1b[<0;1\x1b[<0;3;3M\x1b[<\x1b[A", "click@2,2 Up "); // the first was cut off
    check("\x1b]11;rgb:f/f/e\x1b\\x\x1b]11;rgb:0000/0000/7fff\ay", "light x dark y ");
    check("\x1b]11;nothing\ax\x1b]11;rgb:ff\x1b[A", "x Up "); // no colour; cut off
}

TEST(a_terminals_own_sequences_win)
{
    input *in = input_new();
    input_add_key(in, "\x1b[11^", FK_F1 | KEY_CTRL);
    input_add_key(in, "\x1b[b", FK_DOWN | KEY_SHIFT);
    CHECK_STR(events(in, "\x1b[11^\x1b[b\x1b[11~", 13, false), "C-F1 S-Down F1 ");
    input_free(in);
}

TEST(the_terminal_in_memory)
{
    term *t = term_fake_open(20, 5);
    term_fake_type(t, "a C-e");
    term_fake_paste(t, "text");
    term_fake_resize(t, 10, 2);
    struct term_event ev = term_read(t);
    CHECK(ev.kind == EVENT_KEY && ev.key == 'a');
    ev = term_read(t);
    CHECK(ev.kind == EVENT_KEY && ev.key == ('e' | KEY_CTRL));
    ev = term_read(t);
    CHECK(ev.kind == EVENT_PASTE && ev.n == 4);
    ev = term_read(t);
    CHECK(ev.kind == EVENT_RESIZE && ev.w == 10);
    CHECK(term_read(t).kind == EVENT_NONE);
    grid *g = grid_new(10, 2);
    grid_print(g, grid_area(g), 0, 0, (style){0}, "shown");
    term_present(t, g);
    CHECK_INT(grid_at(term_fake_grid(t), 4, 0)->points[0], 'n');
    CHECK_INT(term_fake_presents(t), 1);
    grid_free(g);
    term_close(t);
}

// A serial line pauses anywhere: each sequence, cut at each place, is what it is in one piece.
TEST(a_sequence_may_be_cut_anywhere)
{
    static const struct {
        const char *bytes, *want;
    } all[] = {{"\x1b[A", "Up "}, {"\x1bOB", "Down "}, {"\x1b[1;2C", "S-Right "},
        {"\x1b[5~", "PgUp "}, {"\x1b[20~", "F9 "}, {"\x1b[[A", "F1 "}, {"\x1b[13;5u", "C-Enter "},
        {"\x1b[<0;5;3M", "click@4,2 "}, {"\x1b[<0;5;3m", ""}, {"\x1b[<65;1;1M", "down@0,0 "},
        {"\x1b[I", "here "}, {"\x1b[?2026;1$y", "mode2026:1 "}, {"\x1b[200~dd\x1b[201~", "<dd> "},
        {"\x1b[?62;4c", "sixels "}, {"\x1bP>|kitty(0.36)\x1b\\", "name:kitty(0.36) "},
        {"\x1b_Gi=31;OK\x1b\\", "kitty "}, {"\x1b[6;20;10t", "cell:10x20 "},
        {"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "light "}, {"\x1b]11;rgb:1e/1e/2e\a", "dark "}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (size_t cut = 1; cut < strlen(all[i].bytes); cut++) {
            input *in = input_new();
            AUTO_BUF heard = {0};
            buf_str(&heard, events(in, all[i].bytes, cut, false));
            if (cut == 1) { // after 25 ms it is an Esc, which cannot be taken back; nothing else is
                CHECK_INT(input_wait_ms(in, 25), 25);
                buf_str(&heard, events(in, "", 0, true));
                CHECK_STR(buf_cstr(&heard), "Esc ");
                buf_clear(&heard);
            } else if (input_wait_ms(in, 25) >= 0) {
                CHECK(input_wait_ms(in, 25) >= 1000);
            }
            buf_str(&heard, events(in, all[i].bytes + cut, strlen(all[i].bytes) - cut, false));
            CHECK_STR(buf_cstr(&heard), all[i].want);
            input_free(in);
        }
}

TEST(what_a_person_types_behind_an_escape_is_typed)
{
    static const struct {
        const char *bytes, *want;
    } all[] = {{"[", "[ "}, {"O", "O "}, {"Oj", "O j "}, {"[x", "[ x "}, {"[]", "[ ] "},
        {"d", "d "}, {"[[", "[ [ "}, {"[ ", "[ Space "}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        input *in = input_new();
        CHECK_STR(events(in, "\x1b", 1, true), "Esc ");
        AUTO_BUF heard = {0};
        buf_str(&heard, events(in, all[i].bytes, strlen(all[i].bytes), false));
        if (input_wait_ms(in, 25) >= 0) {
            CHECK_INT(input_wait_ms(in, 25), 25);
            buf_str(&heard, events(in, "", 0, true));
        }
        CHECK_STR(buf_cstr(&heard), all[i].want);
        input_free(in);
    }
}

// What announces a paste never becomes keys, however long the pause in it: the paste is not obeyed.
TEST(a_paste_is_none_of_keys_when_its_mark_is_late)
{
    for (size_t cut = 3; cut < 6; cut++) {
        input *in = input_new();
        AUTO_BUF heard = {0};
        static const char bytes[] = "\x1b[200~dd\x1b[201~";
        buf_str(&heard, events(in, bytes, cut, false));
        CHECK_INT(input_wait_ms(in, 25), -1);
        buf_str(&heard, events(in, "", 0, true));
        buf_str(&heard, events(in, bytes + cut, sizeof bytes - 1 - cut, false));
        CHECK_STR(buf_cstr(&heard), "<dd> ");
        input_free(in);
    }
}

int main(void)
{
    return tap_run();
}
