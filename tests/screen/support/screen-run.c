// SPDX-License-Identifier: MIT
// Runs a program on an emulated terminal (libvterm) and carries out commands from stdin, one on
// each line. Each answer ends with a line "."; if a wait fails, it prints the screen and exits with
// 1.
//
//   screen-run [-t TERM] [-s 80x24] [-w SECONDS] [-a MILLISECONDS] [-r FILE.cast] [-l FILE]
//              PROGRAM [ARGUMENT…]
//
// -a: each answer to the program's questions comes so late. -r records an asciicast, -l keeps every
// byte that the program sends.
//
//   keys i i S-Enter C-e     presses keys by their names
//   type local x = 1         types characters as they are; \n and \t in it are Enter and Tab
//   paste a\nb               pastes, bracketed when the program asked for that
//   bytes \x1b[A             sends bytes as they are
//   wait TEXT · gone TEXT    until the screen shows the text, or does not any more, and the
//                            picture that it came with is whole
//   quiet MILLISECONDS       until nothing has been drawn for that long
//   screen · styles          the rows after "|", with runs of attributes after each in `styles`
//   cursor                   "cursor X Y visible|hidden"
//   sent                     bytes the program has sent since it was asked last
//   resize 40x10 · signal HUP
//   mark NAME                a marker in the recording
//   tty                      what a shell would find: "cooked|raw main|alternate
//                            paste-on|paste-off keys-on|keys-off" (modifyOtherKeys)
//   modes                    what the program has turned on: the numbers of private modes (25 is
//   the
//                            cursor), keys=N (modifyOtherKeys), keypad, titles=N (kept ones)
//   exit                     waits for the end: "exit CODE" or "signal NUMBER"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tests/screen/support/cast.h"
#include "tui/edit/key.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

enum { SETTLED_MS = 8, PICTURE_MS = 100 };

enum { PRIVATE_MODES = 2100, PARAMETERS = 8 };

// libvterm does not tell all modes (pastes, focus), and does not know modifyOtherKeys.
struct modes {
    bool set[PRIVATE_MODES], keypad;
    int keys, titles;
    enum { TEXT, ESCAPE, SEQUENCE } state; // of what has come so far
    char mark;                             // '?', '>' or 0
    int parameters[PARAMETERS], n;
};

struct run {
    int pty;
    pid_t pid;
    int w, h;
    VTerm *vt;
    VTermScreen *screen;
    bool cursor_visible, alternate, ended;
    struct modes modes;
    int status;
    VTermPos cursor;
    size_t sent;
    int64_t heard;
    int64_t patience; // ns
    unsigned late_ms; // for an answer
    bool listens;     // to what the program sends: what is written back answers that
    cast *record;
    FILE *log;
};

static int on_cursor(VTermPos pos, VTermPos old, int visible, void *user)
{
    ((struct run *)user)->cursor = pos;
    return 1;
}

static int on_property(VTermProp property, VTermValue *value, void *user)
{
    struct run *r = user;
    if (property == VTERM_PROP_CURSORVISIBLE)
        r->cursor_visible = value->boolean;
    if (property == VTERM_PROP_ALTSCREEN)
        r->alternate = value->boolean;
    return 1;
}

static const VTermScreenCallbacks callbacks = {.movecursor = on_cursor, .settermprop = on_property};

static void on_output(const char *s, size_t n, void *user)
{
    const struct run *r = user;
    if (r->listens && r->late_ms)
        usleep(r->late_ms * 1000);
    fd_write_all(r->pty, s, n, NULL);
}

static void start(struct run *r, const char *type, char **argv)
{
    struct winsize size = {.ws_col = (unsigned short)r->w, .ws_row = (unsigned short)r->h};
    r->pid = forkpty(&r->pty, NULL, NULL, &size);
    if (r->pid == 0) {
        setenv("TERM", type, 1);
        unsetenv("LINES");
        unsetenv("COLUMNS");
        execvp(argv[0], argv);
        fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    r->vt = vterm_new(r->h, r->w);
    vterm_set_utf8(r->vt, 1);
    vterm_output_set_callback(r->vt, on_output, r);
    r->screen = vterm_obtain_screen(r->vt);
    vterm_screen_set_callbacks(r->screen, &callbacks, r);
    vterm_screen_enable_altscreen(r->screen, 1);
    vterm_screen_reset(r->screen, 1);
    r->cursor_visible = r->modes.set[25] = true;
    r->heard = clock_mono();
}

static void note_sequence(struct modes *m, char final)
{
    int first = m->parameters[0];
    for (int i = 0; i <= m->n && m->mark == '?' && (final == 'h' || final == 'l'); i++)
        if (m->parameters[i] < PRIVATE_MODES)
            m->set[m->parameters[i]] = final == 'h';
    if (m->mark == '>' && final == 'm' && first == 4)
        m->keys = m->n ? m->parameters[1] : 0;
    if (!m->mark && final == 't')
        m->titles += first == 22 ? 1 : first == 23 ? -1 : 0;
}

static void note_byte(struct modes *m, char c)
{
    if (m->state == SEQUENCE && c >= '0' && c <= '9') {
        int *value = &m->parameters[m->n];
        *value = *value < PRIVATE_MODES ? *value * 10 + c - '0' : *value;
    } else if (m->state == SEQUENCE && c == ';') {
        m->n += m->n + 1 < PARAMETERS;
    } else if (m->state == SEQUENCE && (c == '?' || c == '>')) {
        m->mark = c;
    } else if (m->state == SEQUENCE) {
        note_sequence(m, c);
        m->state = TEXT;
    } else if (m->state == ESCAPE && c == '[') {
        m->state = SEQUENCE;
        m->mark = 0;
        m->n = 0;
        memset(m->parameters, 0, sizeof m->parameters);
    } else {
        if (m->state == ESCAPE && (c == '=' || c == '>'))
            m->keypad = c == '=';
        m->state = c == '\x1b' ? ESCAPE : TEXT;
    }
}

// Takes the program's output for up to ms; false when its terminal has closed.
static bool listen(struct run *r, int ms)
{
    struct pollfd fd = {.fd = r->pty, .events = POLLIN};
    char bytes[16384];
    if (r->ended || poll(&fd, 1, ms) <= 0)
        return !r->ended;
    ssize_t n = read(r->pty, bytes, sizeof bytes);
    if (n <= 0) {
        r->ended = true;
        return false;
    }
    r->heard = clock_mono();
    r->sent += (size_t)n;
    for (ssize_t i = 0; i < n; i++)
        note_byte(&r->modes, bytes[i]);
    r->listens = true;
    vterm_input_write(r->vt, bytes, (size_t)n);
    r->listens = false;
    vterm_screen_flush_damage(r->screen);
    cast_output(r->record, bytes, (size_t)n);
    if (r->log)
        fwrite(bytes, 1, (size_t)n, r->log);
    return true;
}

static bool is_plain_cell(const VTermScreenCell *c)
{
    return (!c->chars[0] || c->chars[0] == ' ') && !c->attrs.reverse && !c->attrs.underline;
}

static void row_text(struct run *r, int y, buf *out)
{
    size_t end = out->len;
    for (int x = 0; x < r->w;) {
        VTermScreenCell c;
        vterm_screen_get_cell(r->screen, (VTermPos){y, x}, &c);
        if (!c.chars[0])
            buf_char(out, ' ');
        for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && c.chars[i]; i++) {
            char bytes[4];
            buf_add(out, bytes, utf8_encode(c.chars[i], bytes));
        }
        if (c.chars[0] && c.chars[0] != ' ')
            end = out->len;
        x += c.width > 0 ? c.width : 1;
    }
    if (out->data) {
        out->len = end;
        out->data[end] = '\0';
    }
}

static bool shows(struct run *r, const char *text)
{
    AUTO_BUF all = {0};
    for (int y = 0; y < r->h; y++) {
        AUTO_BUF row = {0};
        row_text(r, y, &row);
        buf_fmt(&all, "%s\n", buf_cstr(&row));
    }
    return strstr(buf_cstr(&all), text) != NULL;
}

static void add_color(buf *out, const char *name, const VTermColor *c, bool is_default)
{
    if (is_default)
        return;
    if (VTERM_COLOR_IS_INDEXED(c))
        buf_fmt(out, " %s=%d", name, c->indexed.idx);
    else
        buf_fmt(out, " %s=#%02x%02x%02x", name, c->rgb.red, c->rgb.green, c->rgb.blue);
}

static void cell_style(const VTermScreenCell *c, buf *out)
{
    add_color(out, "fg", &c->fg, VTERM_COLOR_IS_DEFAULT_FG(&c->fg));
    add_color(out, "bg", &c->bg, VTERM_COLOR_IS_DEFAULT_BG(&c->bg));
    buf_str(out, c->attrs.bold ? " bold" : "");
    buf_str(out, c->attrs.italic ? " italic" : "");
    buf_str(out, c->attrs.underline ? " underline" : "");
    buf_str(out, c->attrs.blink ? " blink" : "");
    buf_str(out, c->attrs.reverse ? " reverse" : "");
}

static void print_styles(struct run *r, int y)
{
    AUTO_BUF last = {0};
    int from = 0;
    for (int x = 0; x <= r->w; x++) {
        AUTO_BUF now = {0};
        VTermScreenCell c;
        if (x < r->w && vterm_screen_get_cell(r->screen, (VTermPos){y, x}, &c) &&
            !(is_plain_cell(&c) && VTERM_COLOR_IS_DEFAULT_BG(&c.bg)))
            cell_style(&c, &now);
        if (x < r->w && str_eq(buf_cstr(&now), buf_cstr(&last)))
            continue;
        if (last.len)
            printf("  %d-%d%s\n", from, x - 1, buf_cstr(&last));
        buf_clear(&last);
        buf_str(&last, buf_cstr(&now));
        from = x;
    }
}

static void print_screen(struct run *r, bool styles)
{
    for (int y = 0; y < r->h; y++) {
        AUTO_BUF row = {0};
        row_text(r, y, &row);
        printf("|%s\n", buf_cstr(&row));
        if (styles)
            print_styles(r, y);
    }
}

static bool fail(struct run *r, const char *why, const char *what)
{
    printf("failed: %s %s\n", why, what);
    print_screen(r, false);
    return false;
}

// Takes the rest of a picture that has begun to arrive, so that the screen is complete.
static void take_picture(struct run *r)
{
    int64_t until = clock_mono() + PICTURE_MS * CLOCK_MS;
    while (clock_mono() - r->heard < SETTLED_MS * CLOCK_MS && clock_mono() < until)
        if (!listen(r, 2))
            return;
}

static bool wait_text(struct run *r, const char *text, bool wanted)
{
    int64_t until = clock_mono() + r->patience;
    while (shows(r, text) != wanted) {
        if (clock_mono() > until)
            return fail(r, wanted ? "did not come:" : "did not go:", text);
        if (!listen(r, 20) && shows(r, text) != wanted)
            return fail(r, "the program ended before:", text);
    }
    take_picture(r);
    return true;
}

static bool wait_quiet(struct run *r, int64_t ms)
{
    int64_t until = clock_mono() + r->patience;
    r->heard = clock_mono();
    while (clock_mono() - r->heard < ms * CLOCK_MS && listen(r, 5))
        if (clock_mono() > until)
            return fail(r, "never quiet", "");
    return true;
}

static bool wait_exit(struct run *r)
{
    int64_t until = clock_mono() + r->patience;
    while (waitpid(r->pid, &r->status, WNOHANG) == 0) {
        if (clock_mono() > until)
            return fail(r, "did not end", "");
        listen(r, 20);
    }
    while (!r->ended && poll(&(struct pollfd){.fd = r->pty, .events = POLLIN}, 1, 50) > 0)
        listen(r, 0);
    r->pid = 0;
    if (WIFEXITED(r->status))
        printf("exit %d\n", WEXITSTATUS(r->status));
    else
        printf("signal %d\n", WTERMSIG(r->status));
    return true;
}

static VTermKey vterm_key(key code)
{
    static const VTermKey table[] = {[FK_ENTER - FK_FIRST] = VTERM_KEY_ENTER,
        [FK_TAB - FK_FIRST] = VTERM_KEY_TAB,
        [FK_ESC - FK_FIRST] = VTERM_KEY_ESCAPE,
        [FK_BACKSPACE - FK_FIRST] = VTERM_KEY_BACKSPACE,
        [FK_UP - FK_FIRST] = VTERM_KEY_UP,
        [FK_DOWN - FK_FIRST] = VTERM_KEY_DOWN,
        [FK_LEFT - FK_FIRST] = VTERM_KEY_LEFT,
        [FK_RIGHT - FK_FIRST] = VTERM_KEY_RIGHT,
        [FK_HOME - FK_FIRST] = VTERM_KEY_HOME,
        [FK_END - FK_FIRST] = VTERM_KEY_END,
        [FK_PGUP - FK_FIRST] = VTERM_KEY_PAGEUP,
        [FK_PGDN - FK_FIRST] = VTERM_KEY_PAGEDOWN,
        [FK_INSERT - FK_FIRST] = VTERM_KEY_INS,
        [FK_DELETE - FK_FIRST] = VTERM_KEY_DEL};
    if (code >= FK_F1)
        return VTERM_KEY_FUNCTION(1 + code - FK_F1);
    return table[code - FK_FIRST];
}

static bool press(struct run *r, const char *names)
{
    for (size_t len; *names; names += len) {
        if (*names == ' ') {
            len = 1;
            continue;
        }
        key k = key_parse(names, strlen(names), &len);
        if (!k)
            return fail(r, "no such key:", names);
        VTermModifier mods = (k & KEY_SHIFT ? VTERM_MOD_SHIFT : 0) |
                             (k & KEY_ALT ? VTERM_MOD_ALT : 0) |
                             (k & KEY_CTRL ? VTERM_MOD_CTRL : 0);
        key code = k & KEY_CODE;
        if (code < 0x110000 && k & KEY_SHIFT && k & KEY_CTRL) // libvterm drops the Shift
            dprintf(r->pty, "\x1b[%u;6u", code);
        else if (code >= 0x110000)
            vterm_keyboard_key(r->vt, vterm_key(code), mods);
        else
            vterm_keyboard_unichar(r->vt, code, mods);
        // An Esc must not turn the next key into an Alt key, so we wait: people are slower, too.
        if (k == FK_ESC)
            for (int64_t until = clock_mono() + 60 * CLOCK_MS; clock_mono() < until;)
                listen(r, 10);
    }
    return true;
}

// "\n", "\t", "\\" and "\x1b" in an argument.
static void unescape(const char *s, char newline, buf *out)
{
    for (; *s; s++) {
        unsigned byte;
        if (*s != '\\' || !s[1]) {
            buf_char(out, *s);
        } else if (*++s == 'x' && sscanf(s + 1, "%2x", &byte) == 1) {
            buf_char(out, (char)byte);
            s += 2;
        } else {
            buf_char(out, *s == 'n' ? newline : *s == 't' ? '\t' : *s);
        }
    }
}

static void type(struct run *r, const char *s, bool paste)
{
    AUTO_BUF bytes = {0};
    unescape(s, paste ? '\n' : '\r', &bytes);
    if (paste)
        vterm_keyboard_start_paste(r->vt);
    fd_write_all(r->pty, buf_cstr(&bytes), bytes.len, NULL);
    if (paste)
        vterm_keyboard_end_paste(r->vt);
}

// The margins of scrolling go with the size, as in xterm. libvterm 0.1 keeps the upper one, and
// when it is below the new screen, the next scrolling reads before its buffer.
static void drop_margins(struct run *r)
{
    static const char drop[] = "\0337\033[r\0338"; // between: the cursor is kept, which it moves
    for (int i = 0; i < 10 && r->modes.state != TEXT; i++)
        listen(r, PICTURE_MS); // not into the middle of a sequence
    vterm_input_write(r->vt, drop, sizeof drop - 1);
}

static bool resize(struct run *r, const char *size)
{
    if (sscanf(size, "%dx%d", &r->w, &r->h) != 2)
        return fail(r, "not a size:", size);
    drop_margins(r);
    // libvterm 0.1 writes outside of its memory when a wide character does not fit in a line: the
    // program gets the requested size, but the emulated terminal stays a little larger.
    vterm_set_size(r->vt, r->h < 5 ? 5 : r->h, r->w < 20 ? 20 : r->w);
    struct winsize ws = {.ws_col = (unsigned short)r->w, .ws_row = (unsigned short)r->h};
    ioctl(r->pty, TIOCSWINSZ, &ws); // and SIGWINCH
    cast_resize(r->record, r->w, r->h);
    return true;
}

static bool send_signal(struct run *r, const char *name)
{
    for (int i = 1; i < NSIG; i++)
        if (sigabbrev_np(i) && str_eq(sigabbrev_np(i), name)) {
            kill(r->pid, i);
            return true;
        }
    return fail(r, "no such signal:", name);
}

static void print_tty(struct run *r)
{
    struct termios modes = {0};
    tcgetattr(r->pty, &modes);
    bool cooked = modes.c_lflag & ICANON && modes.c_lflag & ECHO;
    printf("%s %s %s %s\n", cooked ? "cooked" : "raw", r->alternate ? "alternate" : "main",
        r->modes.set[2004] ? "paste-on" : "paste-off", r->modes.keys ? "keys-on" : "keys-off");
}

static void print_modes(const struct modes *m)
{
    for (int i = 0; i < PRIVATE_MODES; i++)
        if (m->set[i])
            printf("%d ", i);
    if (m->keys)
        printf("keys=%d ", m->keys);
    printf("%stitles=%d\n", m->keypad ? "keypad " : "", m->titles);
}

static bool obey(struct run *r, const char *command, const char *rest)
{
    if (str_eq(command, "keys"))
        return press(r, rest);
    if (str_eq(command, "wait") || str_eq(command, "gone"))
        return wait_text(r, rest, str_eq(command, "wait"));
    if (str_eq(command, "quiet"))
        return wait_quiet(r, atoi(rest));
    if (str_eq(command, "resize"))
        return resize(r, rest);
    if (str_eq(command, "signal"))
        return send_signal(r, rest);
    if (str_eq(command, "exit"))
        return wait_exit(r);
    if (str_eq(command, "type") || str_eq(command, "bytes")) {
        type(r, rest, false);
    } else if (str_eq(command, "paste")) {
        type(r, rest, true);
    } else if (str_eq(command, "screen") || str_eq(command, "styles")) {
        print_screen(r, str_eq(command, "styles"));
    } else if (str_eq(command, "cursor")) {
        printf("cursor %d %d %s\n", r->cursor.col, r->cursor.row,
            r->cursor_visible ? "visible" : "hidden");
    } else if (str_eq(command, "sent")) {
        printf("%zu\n", r->sent);
        r->sent = 0;
    } else if (str_eq(command, "tty")) {
        print_tty(r);
    } else if (str_eq(command, "modes")) {
        print_modes(&r->modes);
    } else if (str_eq(command, "mark")) {
        cast_mark(r->record, rest);
    } else {
        return fail(r, "no such command:", command);
    }
    return true;
}

static bool obey_all(struct run *r)
{
    AUTO_FREE char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, stdin)) > 0;) {
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (!*line || *line == '#')
            continue;
        char *rest = strchr(line, ' ');
        if (rest)
            *rest++ = '\0';
        while (poll(&(struct pollfd){.fd = r->pty, .events = POLLIN}, 1, 0) > 0 && listen(r, 0))
            continue;
        bool ok = obey(r, line, rest ? rest : "");
        printf(".\n");
        fflush(stdout);
        if (!ok)
            return false;
    }
    return true;
}

static void finish(struct run *r)
{
    close(r->pty); // hangs up
    for (int i = 0; r->pid > 0 && i < 100 && waitpid(r->pid, &r->status, WNOHANG) == 0; i++)
        usleep(10000);
    if (r->pid > 0 && kill(r->pid, 0) == 0) {
        kill(r->pid, SIGKILL);
        waitpid(r->pid, &r->status, 0);
    }
    vterm_free(r->vt);
    cast_close(r->record);
    if (r->log)
        fclose(r->log);
}

static int usage(void)
{
    fputs("usage: screen-run [-t TERM] [-s 80x24] [-w SECONDS] [-r FILE.cast] [-l FILE] PROGRAM…\n",
        stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct run r = {.w = 80, .h = 24, .patience = 10 * CLOCK_SEC};
    const char *type = "xterm-256color", *record = NULL;
    for (int option; (option = getopt(argc, argv, "+t:s:w:a:r:l:")) != -1;) {
        if (option == 't')
            type = optarg;
        else if (option == 'a')
            r.late_ms = (unsigned)atoi(optarg);
        else if (option == 'w')
            r.patience = atoi(optarg) * CLOCK_SEC;
        else if (option == 'r')
            record = optarg;
        else if (option == 'l')
            r.log = fopen(optarg, "w");
        else if (option != 's' || sscanf(optarg, "%dx%d", &r.w, &r.h) != 2)
            return usage();
    }
    if (optind == argc)
        return usage();
    if (record && !(r.record = cast_open(record, r.w, r.h)))
        perror(record);
    signal(SIGPIPE, SIG_IGN);
    start(&r, type, argv + optind);
    bool ok = obey_all(&r);
    finish(&r);
    return ok ? 0 : 1;
}
