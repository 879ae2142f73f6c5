// SPDX-License-Identifier: MIT
#include "tui/term/input.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <string.h>

enum { ESC = 0x1B, CTRL_C = 3, LONGEST = 64, PASTE_LIMIT = 16 << 20 };
// After this silence, an incomplete sequence counts as cut off, and a paste as having lost its end.
enum { SEQUENCE_MS = 1000, PASTE_MS = 2000 };

struct own_key {
    char sequence[INPUT_SEQUENCE];
    size_t n;
    key key;
};

struct input {
    buf bytes;
    buf paste;                           // lent to the caller when it is complete
    enum { KEYS, PASTING, PASTED } mode; // PASTED: a paste has not ended yet
    bool cut; // the last event was an Esc, since nothing followed it in time
    struct own_key *own;
    size_t own_n;
};

input *input_new(void)
{
    return mem_alloc(sizeof(input));
}

void input_free(input *in)
{
    if (!in)
        return;
    buf_done(&in->bytes);
    buf_done(&in->paste);
    free(in->own);
    free(in);
}

void input_add_key(input *in, const char *sequence, key k)
{
    size_t n = strlen(sequence);
    if (n < 2 || n >= INPUT_SEQUENCE || sequence[0] != ESC)
        return; // single bytes mean the same on every terminal
    in->own = mem_resize(in->own, in->own_n + 1, sizeof *in->own);
    in->own[in->own_n] = (struct own_key){.n = n, .key = k};
    memcpy(in->own[in->own_n++].sequence, sequence, n);
}

void input_feed(input *in, const char *bytes, size_t n)
{
    buf_add(&in->bytes, bytes, n);
}

// The result of the parsers below: a key of `n` bytes, or a report; n bytes to ignore (key 0); or,
// with n = 0, the start of something longer.
struct found {
    key key;
    size_t n;
    struct term_event report;
};
static const struct found more = {0};

// xterm's modifier parameter: 1 + shift + 2 alt + 4 ctrl + 8 meta.
static key modifiers(unsigned parameter)
{
    unsigned bits = parameter ? parameter - 1 : 0;
    return (bits & 1 ? KEY_SHIFT : 0) | (bits & 10 ? KEY_ALT : 0) | (bits & 4 ? KEY_CTRL : 0);
}

static key letter_key(char final)
{
    static const struct {
        char letter;
        key key;
    } table[] = {{'A', FK_UP}, {'B', FK_DOWN}, {'C', FK_RIGHT}, {'D', FK_LEFT}, {'H', FK_HOME},
        {'F', FK_END}, {'P', FK_F1}, {'Q', FK_F2}, {'R', FK_F3}, {'S', FK_F4}, {'M', FK_ENTER}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].letter == final)
            return table[i].key;
    return 0;
}

// The VT220's numbers, "\e[5~", with xterm's and rxvt's.
static key number_key(unsigned number)
{
    static const key table[] = {[1] = FK_HOME,
        [2] = FK_INSERT,
        [3] = FK_DELETE,
        [4] = FK_END,
        [5] = FK_PGUP,
        [6] = FK_PGDN,
        [7] = FK_HOME,
        [8] = FK_END,
        [11] = FK_F1,
        [12] = FK_F2,
        [13] = FK_F3,
        [14] = FK_F4,
        [15] = FK_F5,
        [17] = FK_F6,
        [18] = FK_F7,
        [19] = FK_F8,
        [20] = FK_F9,
        [21] = FK_F10,
        [23] = FK_F11,
        [24] = FK_F12};
    return number < ARRAY_LEN(table) ? table[number] : 0;
}

static key coded_key(unsigned code)
{
    switch (code) {
    case '\r':
    case 57414: // kitty's keypad Enter
        return FK_ENTER;
    case '\t':
        return FK_TAB;
    case ESC:
        return FK_ESC;
    case 8:
    case 127:
        return FK_BACKSPACE;
    default:
        return code >= ' ' && code < 0x110000 && point_width(code) > 0 ? code : 0;
    }
}

static key csi_key(const unsigned p[4], char final)
{
    key k;
    switch (final) {
    case '~':
        if (p[0] == 27) // modifyOtherKeys
            return (k = coded_key(p[2])) ? key_normal(k | modifiers(p[1])) : 0;
        k = number_key(p[0]);
        break;
    case 'u':
        k = coded_key(p[0]);
        break;
    case 'Z':
        return FK_TAB | KEY_SHIFT;
    case 'M': // a mouse report in the old form; we never request one
        return 0;
    default:
        k = letter_key(final);
    }
    return k ? key_normal(k | modifiers(p[1])) : 0;
}

// xterm's SGR mouse: button, column and row. Only pressing the left button, and the wheel, mean
// something here; with Shift the terminal itself uses the mouse.
static struct found parse_mouse(const unsigned p[4], char final, size_t n)
{
    enum { BUTTON = 3, MOTION = 32, WHEEL = 64, MORE = 128, PLACES = 10000 };
    bool wheel = p[0] & WHEEL, known = wheel ? (p[0] & BUTTON) < 2 : (p[0] & BUTTON) == 0;
    struct found f = {.n = n};
    if (final != 'M' || p[0] & (MOTION | MORE) || !known || !p[1] || !p[2] || p[1] > PLACES ||
        p[2] > PLACES)
        return f;
    f.report = (struct term_event){.kind = EVENT_MOUSE,
        .mouse = {!wheel                 ? MOUSE_CLICK
                  : (p[0] & BUTTON) == 1 ? MOUSE_DOWN
                                         : MOUSE_UP,
            (int)p[1] - 1, (int)p[2] - 1}};
    return f;
}

// Is it among the numbers of "62;4;22"?
static bool has_number(const char *s, size_t n, const char *number)
{
    for (size_t at = 0, len; at < n; at += len + 1) {
        const char *end = memchr(s + at, ';', n - at);
        len = end ? (size_t)(end - s) - at : n - at;
        if (len == strlen(number) && memcmp(s + at, number, len) == 0)
            return true;
    }
    return false;
}

// Sequences that begin with "\e[?", "\e[<", "\e[>" or have a '$' are reports of the terminal, not
// keys.
static struct found parse_report(const char *s, const unsigned p[4], char final, size_t n)
{
    if (s[2] == '<')
        return parse_mouse(p, final, n);
    struct found f = {.n = n};
    if (s[2] == '?' && final == 'y' && s[n - 2] == '$') // DECRPM: 1, 2 and 3 are modes it has
        f.report =
            (struct term_event){.kind = EVENT_MODE, .mode = p[0], .on = p[1] >= 1 && p[1] <= 3};
    else if (s[2] == '?' && final == 'c')
        f.report = (struct term_event){.kind = EVENT_DEVICE, .on = has_number(s + 3, n - 4, "4")};
    else if (s[2] == '?' && final == 'S' && p[0] == 1 && p[1] == 0) // XTSMGRAPHICS: registers
        f.report = (struct term_event){.kind = EVENT_COLORS, .mode = p[2]};
    return f;
}

// "\e[" parameters final. Private sequences ("\e[?…", "\e[>…") are answers, not keys.
static struct found parse_csi(const char *s, size_t n)
{
    if (n > 2 && s[2] == '[') // the Linux console's F1–F5: "\e[[A"
        return n < 4                        ? more
               : s[3] >= 'A' && s[3] <= 'E' ? (struct found){FK_F1 + (key)(s[3] - 'A'), 4}
                                            : (struct found){0, (unsigned char)s[3] < 0x20 ? 3 : 4};
    unsigned p[4] = {0}, count = 0;
    bool private = false;
    for (size_t i = 2; i < n && i < LONGEST; i++) {
        if (s[i] >= '0' && s[i] <= '9') {
            if (count < 4 && p[count] < 1000000)
                p[count] = p[count] * 10 + (unsigned)(s[i] - '0');
        } else if (s[i] == ';') {
            count++;
        } else if (s[i] >= 0x20 && s[i] < 0x40) {
            private = true;
        } else if (s[i] >= 0x40 && s[i] < 0x7F) {
            if (private)
                return parse_report(s, p, s[i], i + 1);
            if (s[i] == 't' && p[0] == 6 && p[1] < 1000 && p[2] < 1000) // the size of a cell
                return (struct found){.n = i + 1,
                    .report = {.kind = EVENT_CELL_SIZE, .w = (int)p[2], .h = (int)p[1]}};
            if (i == 2 && (s[i] == 'I' || s[i] == 'O'))
                return (struct found){.n = 3, .report = {.kind = EVENT_FOCUS, .on = s[i] == 'I'}};
            return (struct found){csi_key(p, s[i]), i + 1};
        } else {
            return (struct found){0, i}; // a control byte or more text: the sequence was cut off
        }
    }
    return n < LONGEST ? more : (struct found){0, LONGEST};
}

static struct found parse_ss3(const char *s, size_t n)
{
    if (n < 3)
        return more;
    if ((unsigned char)s[2] < 0x20) // it was cut off, or typed
        return (struct found){'O' | KEY_ALT | KEY_ESCAPED, 2};
    key k = letter_key(s[2]);
    if (!k && s[2] >= 'j' && s[2] <= 'y') // the keypad in application mode
        k = (key) "*+,-./0123456789"[s[2] - 'j'];
    return (struct found){k, 3};
}

static struct found parse_plain(const char *s, size_t n)
{
    unsigned char c = (unsigned char)s[0];
    if (c == 0)
        return (struct found){' ' | KEY_CTRL, 1};
    if (c == '\r' || c == '\n')
        return (struct found){FK_ENTER, 1};
    if (c == 0x7F)
        return (struct found){FK_BACKSPACE, 1};
    if (c < 0x20) // C-a … C-z, C-\ C-] C-^ C-_
        return (struct found){key_normal((c <= 26 ? c + 'a' - 1u : c + 64u) | KEY_CTRL), 1};
    size_t len;
    if (!utf8_len(s, n))
        return utf8_partial(s, n) == n ? more : (struct found){0, 1};
    key k = utf8_decode(s, n, &len);
    return (struct found){point_width(k) < 0 ? 0 : k, len};
}

static struct found parse_own(const input *in, const char *s, size_t n, bool *begins)
{
    struct found best = {0, 0};
    for (size_t i = 0; i < in->own_n; i++) {
        const struct own_key *own = &in->own[i];
        size_t common = n < own->n ? n : own->n;
        if (memcmp(s, own->sequence, common) != 0)
            continue;
        if (n < own->n)
            *begins = true;
        else if (own->n > best.n)
            best = (struct found){own->key, own->n};
    }
    return best;
}

// Answers that are strings, ended by BEL or "\e\": the background's colour, the terminal's name
// (XTVERSION), and what kitty's graphics protocol says.
static void read_color(const char *words, struct term_event *out);
static void read_name(const char *words, struct term_event *out);
static void read_kitty(const char *words, struct term_event *out);
static const struct answer {
    const char *begin;
    void (*read)(const char *words, struct term_event *out); // words: what follows
} answers[] = {{"\x1b]11;", read_color}, {"\x1bP>|", read_name}, {"\x1b_G", read_kitty}};

// NULL: this is the start of none of them.
static const struct answer *begun_answer(const char *s, size_t n)
{
    for (size_t i = 0; n > 2 && i < ARRAY_LEN(answers); i++) {
        size_t whole = strlen(answers[i].begin), common = n < whole ? n : whole;
        if (memcmp(s, answers[i].begin, common) == 0)
            return &answers[i];
    }
    return NULL;
}

// Could the second byte of "\e]", "\eP", "\e_" begin one? Late it is Alt with that key.
static bool may_answer(char second)
{
    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        if (answers[i].begin[1] == second)
            return true;
    return false;
}

// A part of it, "ffff" of 1 to 4 digits, as a number up to 1.
static double color_part(const char **s)
{
    char *end;
    unsigned long value = strtoul(*s, &end, 16);
    size_t digits = (size_t)(end - *s);
    *s = end + (*end == '/');
    return digits && digits <= 4 ? (double)value / (double)((1ul << (4 * digits)) - 1) : 0;
}

// "rgb:ffff/ffff/ffff"
static void read_color(const char *words, struct term_event *out)
{
    const char *rgb = strstr(words, "rgb:");
    if (!rgb)
        return;
    rgb += strlen("rgb:");
    double red = color_part(&rgb), green = color_part(&rgb), blue = color_part(&rgb);
    *out = (struct term_event){.kind = EVENT_BACKGROUND, .on = color_is_light(red, green, blue)};
}

static void read_name(const char *words, struct term_event *out)
{
    out->kind = EVENT_NAME;
    str_fit(out->name, sizeof out->name, words);
}

// "i=31;OK"
static void read_kitty(const char *words, struct term_event *out)
{
    const char *said = strchr(words, ';');
    *out = (struct term_event){.kind = EVENT_KITTY, .on = said && str_starts(said + 1, "OK")};
}

static struct found parse_answer(const struct answer *a, const char *s, size_t n)
{
    enum { MOST = 256 };
    size_t from = strlen(a->begin), end = from;
    while (end < n && end < MOST && (unsigned char)s[end] >= 0x20)
        end++;
    if (n < from || (end == n && end < MOST))
        return more;
    bool st = end + 1 < n && s[end] == ESC && s[end + 1] == '\\', bell = end < n && s[end] == '\a';
    if (end + 1 == n && s[end] == ESC)
        return more;
    struct found f = {.n = end + (st ? 2 : bell)};
    char words[MOST + 1] = "";
    memcpy(words, s + from, end - from);
    if (st || bell)
        a->read(words, &f.report);
    return f;
}

static struct found parse_escape(const input *in, const char *s, size_t n)
{
    bool begins = false;
    struct found own = parse_own(in, s, n, &begins);
    if (own.n && !begins)
        return own;
    if (n < 2)
        return more;
    const struct answer *a = begun_answer(s, n);
    if (a)
        return parse_answer(a, s, n);
    if (n == 2 && may_answer(s[1]))
        return more;
    if (s[1] == '[' || s[1] == 'O') {
        struct found f = s[1] == '[' ? parse_csi(s, n) : parse_ss3(s, n);
        return f.n ? f : more;
    }
    if (s[1] == ESC && n > 2 && s[2] == ESC)
        return (struct found){FK_ESC, 1};
    // Alt sends Esc before the key; also before a sequence (rxvt). Two keys in one packet look the
    // same, except for a letter that is there twice: Esc d d was typed.
    struct found f = s[1] == ESC ? parse_escape(in, s + 1, n - 1) : parse_plain(s + 1, n - 1);
    if (!f.n)
        return more;
    if (f.key && f.n == 1 && n > 2 && s[1] == s[2])
        return (struct found){FK_ESC, 1};
    return (struct found){f.key ? f.key | KEY_ALT | KEY_ESCAPED : 0, f.n + 1};
}

static const char paste_begin[] = "\x1b[200~", paste_end[] = "\x1b[201~";
enum { MARK = sizeof paste_begin - 1 };

// Is this the start of a terminal's answer or mouse report, or of what announces a paste? Those
// never become keys, even if late: what follows would be obeyed.
static bool begins_report(const char *s, size_t n)
{
    bool paste = n > 2 && n < MARK && memcmp(s, paste_begin, n) == 0;
    return paste || begun_answer(s, n) ||
           (n > 2 && *s == ESC && s[1] == '[' && s[2] >= '<' && s[2] <= '?');
}

// No more bytes come: the first byte is a key by itself; "\eO" and "\e[" are Alt with a letter.
static struct found parse_late(const char *s, size_t n)
{
    if (begins_report(s, n))
        return more;
    if (*s != ESC)
        return (struct found){0, 1};
    if (n == 2 && s[1] != ESC)
        return (struct found){(key)(unsigned char)s[1] | KEY_ALT | KEY_ESCAPED, 2};
    return (struct found){n > 2 ? 0 : FK_ESC, n > 2 ? n : 1};
}

static size_t begun_end(const char *s, size_t n)
{
    size_t tail = n < MARK ? n : MARK - 1;
    while (tail && memcmp(s + n - tail, paste_end, tail) != 0)
        tail--;
    return tail;
}

static bool ends_with_ctrl_c(const buf *bytes)
{
    return bytes->len && bytes->data[bytes->len - 1] == CTRL_C;
}

// Takes pasted bytes, up to the end of the paste; or to a possible start of the end; or to a C-c
// that nothing follows. true: the paste is over; bytes beyond a paste's limit are dropped.
static bool take_paste(input *in, bool late)
{
    buf *b = &in->bytes;
    const char *end = b->len ? memmem(b->data, b->len, paste_end, MARK) : NULL;
    size_t n = end                   ? (size_t)(end - b->data)
               : ends_with_ctrl_c(b) ? b->len - 1
                                     : b->len - begun_end(buf_cstr(b), b->len);
    size_t room = PASTE_LIMIT - in->paste.len;
    if (n)
        buf_add(&in->paste, b->data, n < room ? n : room);
    buf_consume(b, n + (end ? MARK : 0));
    in->mode = end ? KEYS : !late ? PASTING : ends_with_ctrl_c(b) ? KEYS : PASTED;
    return end || late;
}

// After a paste without an end, later bytes are part of it, unless they are one key. So no pasted
// byte is obeyed, however long the line was silent, and a person's first key works.
static bool is_one_key(const input *in)
{
    const char *s = in->bytes.data;
    size_t n = in->bytes.len;
    struct found f = *s == ESC ? parse_escape(in, s, n) : parse_plain(s, n);
    return f.n == n || (!f.n && n < MARK);
}

static bool begins_paste(const input *in)
{
    return in->bytes.len >= MARK && memcmp(in->bytes.data, paste_begin, MARK) == 0;
}

static void begin_paste(input *in, size_t skip)
{
    buf_consume(&in->bytes, skip);
    buf_clear(&in->paste);
    in->mode = PASTING;
}

// Is this the rest of a sequence whose Esc was taken for a key because a slow line cut it there? A
// person does not type that within a moment. begins: it may become one.
static bool is_rest(const input *in, bool *begins)
{
    AUTO_BUF whole = {0};
    const char *s = in->bytes.data;
    size_t n = in->bytes.len;
    buf_char(&whole, ESC);
    buf_add(&whole, s, n < LONGEST ? n : LONGEST);
    const struct answer *a = begun_answer(whole.data, whole.len);
    *begins = *s == '[' || (*s == 'O' && n == 1) || a;
    if (a)
        return whole.len >= strlen(a->begin);
    if (*s == 'O' && n > 1 && s[1] && strchr("ABCDHFPQRS", s[1]))
        return true;
    if (*s != '[')
        return false;
    struct found f = parse_escape(in, whole.data, whole.len);
    bool report = whole.len > 2 && whole.data[2] >= '<' && whole.data[2] <= '?';
    bool paste = f.n == MARK && memcmp(whole.data, paste_begin, MARK) == 0;
    *begins = !f.n;
    return f.key || f.report.kind || report || paste;
}

// Puts the Esc back before the rest of its sequence. false: wait for more of it.
static bool join_cut(input *in, bool late)
{
    bool begins, is = is_rest(in, &begins);
    if (!is && begins && !late)
        return false;
    in->cut = false;
    if (!is)
        return true;
    AUTO_BUF whole = {0};
    buf_char(&whole, ESC);
    buf_add(&whole, in->bytes.data, in->bytes.len);
    buf_clear(&in->bytes);
    buf_add(&in->bytes, whole.data, whole.len);
    return true;
}

struct term_event input_next(input *in, bool late)
{
    static const struct term_event nothing = {.kind = EVENT_NONE};
    for (;;) {
        if (in->mode == PASTING) {
            if (!take_paste(in, late))
                return nothing;
            if (in->paste.len)
                return (struct term_event){
                    .kind = EVENT_PASTE, .text = buf_cstr(&in->paste), .n = in->paste.len};
        }
        if (!in->bytes.len || (in->cut && !join_cut(in, late)))
            return nothing;
        if (begins_paste(in)) {
            begin_paste(in, MARK);
            continue;
        }
        if (in->mode == PASTED && !is_one_key(in)) {
            begin_paste(in, 0);
            continue;
        }
        const char *s = in->bytes.data;
        size_t n = in->bytes.len;
        struct found f = *s == ESC ? parse_escape(in, s, n) : parse_plain(s, n);
        if (!f.n && late)
            f = parse_late(s, n);
        if (!f.n)
            return nothing;
        in->mode = KEYS;
        in->cut = n == 1 && f.key == FK_ESC;
        buf_consume(&in->bytes, f.n);
        if (f.report.kind)
            return f.report;
        if (f.key)
            return (struct term_event){.kind = EVENT_KEY, .key = f.key};
    }
}

int input_wait_ms(const input *in, int escape_ms)
{
    if (in->mode == PASTING)
        return ends_with_ctrl_c(&in->bytes) ? escape_ms : PASTE_MS;
    size_t n = in->bytes.len;
    if (!n || begins_report(in->bytes.data, n))
        return -1;
    return in->cut || (n == 1 && in->bytes.data[0] == ESC) ? escape_ms : SEQUENCE_MS;
}
