// SPDX-License-Identifier: MIT
//   lines       0 ... 41 | 42 ... 105 | 106 ...       42: the first that can still be rewritten
//   said                  [by number % ANSI_WINDOW]   what was handed out of those
#include "cli/print/print_stream.h"

#include "base/mem.h"
#include "base/text/ansi.h"

#include <string.h>

// When a program has begun CALM lines after it moved the cursor up, it counts as done with that.
enum { CALM = 3, LONGEST = 1 << 20 };

struct print_stream {
    ansi_text *text;
    size_t open; // bytes fed since the last newline
    char *said[ANSI_WINDOW];
    size_t next;  // lines from here on have not been handed out
    bool as_said; // earlier lines have not been rewritten since
};

print_stream *print_stream_new(void)
{
    print_stream *s = mem_alloc(sizeof *s);
    s->text = ansi_text_new(ANSI_WINDOW);
    return s;
}

static void forget(print_stream *s)
{
    ansi_text_free(s->text);
    for (size_t i = 0; i < ANSI_WINDOW; i++)
        free(STEAL(s->said[i]));
}

void print_stream_free(print_stream *s)
{
    if (!s)
        return;
    forget(s);
    free(s);
}

static void hand_out(print_stream *s, size_t number, print_stream_line *line, void *arg)
{
    size_t dropped = ansi_text_dropped(s->text);
    struct ansi_line l = ansi_text_line(s->text, number - dropped);
    char **said = &s->said[number % ANSI_WINDOW];
    if (number < s->next && *said && strlen(*said) == l.n && memcmp(*said, l.text, l.n) == 0)
        return;
    free(*said);
    *said = mem_strndup(l.text, l.n);
    AUTO_BUF whole = {0};
    buf_add(&whole, l.text, l.n);
    buf_char(&whole, '\n');
    line(arg, buf_cstr(&whole), whole.len);
}

// Hands out the lines before `end` that are new, or that have changed since they were handed out.
static void hand_out_until(print_stream *s, size_t end, print_stream_line *line, void *arg)
{
    size_t first = ansi_text_dropped(s->text);
    for (size_t i = s->as_said && s->next > first ? s->next : first; i < end; i++)
        hand_out(s, i, line, arg);
    s->next = s->next > end ? s->next : end;
}

// Returns true if the text ends with a line that was handed out, and no line before it is held
// back.
static bool settle(print_stream *s, print_stream_line *line, void *arg)
{
    size_t before = s->next;
    size_t end = ansi_text_dropped(s->text) + ansi_text_lines(s->text);
    bool calm = ansi_text_calm(s->text) >= CALM;
    s->as_said = s->as_said && calm;
    if (calm)
        hand_out_until(s, end - ansi_text_is_open(s->text), line, arg);
    else if (end >= ANSI_WINDOW) // the oldest line is dropped
        hand_out_until(s, end - ANSI_WINDOW + 1, line, arg);
    s->as_said = calm;
    return calm && s->next > before;
}

// The length of the complete lines at the beginning that are only printable ASCII.
static size_t plain_lines(const char *s, size_t n)
{
    size_t whole = 0;
    for (size_t i = 0; i < n && (s[i] == '\n' || (s[i] >= ' ' && s[i] < 0x7f)); i++)
        if (s[i] == '\n')
            whole = i + 1;
    return whole;
}

// The bytes of the plain lines that are too far above the end for a cursor movement to reach.
static size_t out_of_reach(const char *s, size_t n)
{
    for (size_t lines = 0; n > 0; n--)
        if (s[n - 1] == '\n' && lines++ == ANSI_WINDOW)
            return n;
    return 0;
}

// After a line that was handed out unchanged, plain lines need no emulated terminal. Only the
// newest are fed to it, since they may still be rewritten. *seen: how far earlier calls have
// scanned.
static size_t pass_plain(print_stream *s, const char *bytes, size_t n, const char **seen,
    print_stream_line *line, void *arg)
{
    if (bytes < *seen || n < ANSI_WINDOW)
        return 0;
    size_t plain = plain_lines(bytes, n), len = out_of_reach(bytes, plain);
    *seen = bytes + plain;
    if (len > 0)
        line(arg, bytes, len);
    return len;
}

void print_stream_feed(
    print_stream *s, const char *bytes, size_t n, print_stream_line *line, void *arg)
{
    const char *seen = bytes;
    for (bool flows = false; n > 0;) {
        size_t passed = flows ? pass_plain(s, bytes, n, &seen, line, arg) : 0;
        bytes += passed;
        n -= passed;
        const char *newline = memchr(bytes, '\n', n);
        size_t len = newline ? (size_t)(newline + 1 - bytes) : n;
        ansi_text_feed(s->text, bytes, len);
        s->open = newline ? 0 : s->open + len;
        flows = newline && settle(s, line, arg);
        if (!newline && s->open > LONGEST)
            print_stream_end(s, line, arg);
        bytes += len;
        n -= len;
    }
}

void print_stream_end(print_stream *s, print_stream_line *line, void *arg)
{
    hand_out_until(s, ansi_text_dropped(s->text) + ansi_text_lines(s->text), line, arg);
    forget(s);
    *s = (print_stream){.text = ansi_text_new(ANSI_WINDOW)};
}

void print_stream_open(const print_stream *s, buf *out)
{
    if (!ansi_text_is_open(s->text))
        return;
    struct ansi_line l = ansi_text_line(s->text, ansi_text_lines(s->text) - 1);
    buf_add(out, l.text, l.n);
}
