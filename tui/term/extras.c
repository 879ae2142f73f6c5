// SPDX-License-Identifier: MIT
// Sequences are xterm's (invisible-island.net/xterm/ctlseqs), iTerm's OSC 9, urxvt's OSC 777 and
// mode 2026 (contour's "synchronized output").
#include "tui/term/extras.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/picture/kitty.h"

#include <string.h>

enum { TITLE_COLUMNS = 120, WORDS_COLUMNS = 200, SCREEN_CHUNK = 512 };
#define MOUSE_ON  "\x1b[?1000h\x1b[?1006h"
#define MOUSE_OFF "\x1b[?1006l\x1b[?1000l"

static bool is_one_of(const char *name, const char *const *names)
{
    for (; name && *names; names++)
        if (str_starts(name, *names))
            return true;
    return false;
}

// Terminals that are known to show one or the other; all others ring.
static enum notify choose_notify(const struct term_options *o)
{
    static const char *const nines[] = {
        "iTerm", "WezTerm", "ghostty", "xterm-kitty", "xterm-ghostty", "wezterm", NULL};
    static const char *const sevens[] = {"foot", "rxvt", "contour", NULL};
    if (o->notify != NOTIFY_AUTO)
        return o->notify;
    if (o->tmux || o->screen) // the terminal around these is unknown; both pass on a bell
        return NOTIFY_BELL;
    if (is_one_of(o->program, nines) || is_one_of(o->type, nines))
        return NOTIFY_OSC9;
    return o->vte || is_one_of(o->type, sevens) ? NOTIFY_OSC777 : NOTIFY_BELL;
}

struct extras extras_of(const struct term_options *o, bool xterm_title, bool mouse)
{
    static const char *const multiplexed[] = {"screen", "tmux", NULL};
    bool in_mux = o->tmux || o->screen || is_one_of(o->type, multiplexed);
    struct extras x = {.osc = xterm_title || in_mux, .notify = choose_notify(o)};
    x.title = x.osc;
    x.focus = x.osc;
    x.mux = o->tmux || str_starts(o->type, "tmux")       ? MUX_TMUX
            : o->screen || str_starts(o->type, "screen") ? MUX_SCREEN
                                                         : MUX_NONE;
    // The console's kmous is for a daemon; and screen, once asked, holds each Esc back for a mouse.
    x.mouse = mouse && x.osc && x.mux != MUX_SCREEN;
    x.sync_asked = x.osc && x.mux != MUX_SCREEN;
    x.background_asked = x.sync_asked && o->asks_background;
    return x;
}

void extras_begin(const struct extras *x, buf *out)
{
    buf_str(out, x->title && !x->keeps_title ? "\x1b[22;2t" : "");
    buf_str(out, x->focus ? "\x1b[?1004h" : "");
    buf_str(out, x->mouse ? MOUSE_ON : "");
    // the answers come later, as events, the one to the last question last
    buf_str(out, x->background_asked ? "\x1b]11;?\x1b\\" : "");
    buf_str(out, x->sync_asked ? "\x1b[?2026$p" : "");
}

void extras_end(const struct extras *x, buf *out)
{
    buf_str(out, x->sync_asked ? EXTRAS_SYNC_OFF : "");
    buf_str(out, x->mouse ? MOUSE_OFF : "");
    buf_str(out, x->focus ? "\x1b[?1004l" : "");
    buf_str(out, x->title && !x->keeps_title ? "\x1b[23;2t" : "");
}

void extras_mouse(bool on, buf *out)
{
    buf_str(out, on ? MOUSE_ON : MOUSE_OFF);
}

static bool is_seen(uint32_t point, char not )
{
    return point_width(point) >= 0 &&
           point != (uint32_t) not &&!(point >= 0x200B && point <= 0x200F) &&
           !(point >= 0x2028 && point <= 0x202E) && !(point >= 0x2066 && point <= 0x2069);
}

// Keeps the visible characters of a cluster, and replaces all others by blanks.
static void add_cluster(buf *out, const char *s, size_t n, char not )
{
    for (size_t at = 0, len; at < n; at += len) {
        if (is_seen(utf8_decode(s + at, n - at, &len), not ))
            buf_add(out, s + at, len);
        else
            buf_char(out, ' ');
    }
}

// Text cut to so many columns, between clusters; `not`: a character that would have a meaning
// there.
static void add_words(buf *out, const char *s, int columns, char not )
{
    size_t n = strlen(s);
    for (size_t at = 0, len; at < n; at += len) {
        len = utf8_cluster(s + at, n - at);
        int width = text_width(s + at, len, 0);
        columns -= width > 0 ? width : 1;
        if (columns < 0)
            return;
        add_cluster(out, s + at, len, not );
    }
}

void extras_title(const struct extras *x, const char *text, buf *out)
{
    if (!x->title)
        return;
    buf_str(out, "\x1b]2;");
    add_words(out, text, TITLE_COLUMNS, 0);
    buf_char(out, '\a');
}

void extras_pass_on(const struct extras *x, const char *sequence, size_t n, buf *out)
{
    if (x->mux == MUX_NONE) {
        buf_add(out, sequence, n);
        return;
    }
    size_t chunk = x->mux == MUX_SCREEN ? SCREEN_CHUNK : n; // longer strings are lost in screen
    for (size_t at = 0; at < n; at += chunk) {
        size_t len = n - at < chunk ? n - at : chunk;
        buf_str(out, x->mux == MUX_TMUX ? "\x1bPtmux;" : "\x1bP");
        for (size_t i = at; i < at + len; i++) {
            if (x->mux == MUX_TMUX && sequence[i] == '\x1b')
                buf_char(out, '\x1b');
            buf_char(out, sequence[i]);
        }
        buf_str(out, "\x1b\\");
    }
}

// The last question is one that all terminals answer.
void extras_ask_pictures(const struct extras *x, buf *out)
{
    buf_str(out, "\x1b[>q");
    extras_pass_on(x, KITTY_QUESTION, strlen(KITTY_QUESTION), out);
    buf_str(out, "\x1b[?1;1;0S" EXTRAS_ASK_CELL "\x1b[c");
}

void extras_notify(const struct extras *x, const char *title, const char *words, buf *out)
{
    AUTO_BUF sequence = {0};
    if (x->notify == NOTIFY_NONE)
        return;
    if (x->notify == NOTIFY_BELL || !x->osc) {
        buf_char(out, '\a');
        return;
    }
    bool both = x->notify == NOTIFY_OSC777;
    buf_str(&sequence, both ? "\x1b]777;notify;" : "\x1b]9;");
    add_words(&sequence, title, WORDS_COLUMNS, ';');
    buf_str(&sequence, both ? ";" : ": ");
    add_words(&sequence, words, WORDS_COLUMNS, ';');
    buf_char(&sequence, '\a');
    extras_pass_on(x, sequence.data, sequence.len, out);
    if (x->mux != MUX_NONE)
        buf_char(out, '\a'); // which does not depend on what it passes on
}

void extras_copy(const struct extras *x, const char *bytes, size_t n, buf *out)
{
    AUTO_BUF sequence = {0};
    buf_str(&sequence, "\x1b]52;c;");
    base64_encode(&sequence, bytes, n);
    buf_char(&sequence, '\a');
    if (x->mux == MUX_SCREEN)
        extras_pass_on(x, sequence.data, sequence.len, out);
    else // tmux has its own clipboard, and passes it on if configured
        buf_add(out, sequence.data, sequence.len);
}
