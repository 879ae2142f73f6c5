// SPDX-License-Identifier: MIT
#include "tui/edit/vi.h"

#include "base/text/utf8.h"

#include <ctype.h>
#include <string.h>

struct motion {
    pos to;
    bool lines, inclusive, ok;
    pos from; // of a text object; else the cursor
    bool has_from;
};

static size_t length_of(const text *t, size_t line)
{
    size_t n;
    text_line(t, line, &n);
    return n;
}

static char byte_at(const text *t, pos p)
{
    size_t n;
    const char *line = text_line(t, p.line, &n);
    return p.byte < n ? line[p.byte] : '\n';
}

static size_t step_of(const text *t, pos p)
{
    size_t n;
    const char *line = text_line(t, p.line, &n);
    return p.byte < n ? utf8_cluster(line + p.byte, n - p.byte) : 1;
}

static pos left_of(const text *t, pos p)
{
    int goal = -1;
    return p.byte ? cursor_move(t, p, MOVE_LEFT, 1, &goal) : p;
}

// The next place, also over the end of a line; false at the end of the text.
static bool forward(const text *t, pos *p)
{
    if (p->byte < length_of(t, p->line)) {
        p->byte += step_of(t, *p);
        return true;
    }
    if (p->line + 1 >= text_lines(t))
        return false;
    *p = (pos){p->line + 1, 0};
    return true;
}

static bool backward(const text *t, pos *p)
{
    if (p->byte) {
        *p = left_of(t, *p);
        return true;
    }
    if (!p->line)
        return false;
    *p = (pos){p->line - 1, length_of(t, p->line - 1)};
    return true;
}

// 0: blank or the end of a line, 1: of a word, 2: other signs, which are words of their own.
static int class_of(const text *t, pos p, bool big)
{
    unsigned char c = (unsigned char)byte_at(t, p);
    if (c == ' ' || c == '\t' || c == '\n')
        return 0;
    return big || isalnum(c) || c == '_' || c >= 0x80 ? 1 : 2;
}

static bool is_empty_line(const text *t, pos p)
{
    return !length_of(t, p.line);
}

static pos word_forward(const text *t, pos p, bool big)
{
    int was = class_of(t, p, big);
    size_t line = p.line;
    while (class_of(t, p, big) == was && was && p.line == line && forward(t, &p))
        ;
    while (class_of(t, p, big) == 0 && !(p.line != line && is_empty_line(t, p)) && forward(t, &p))
        ;
    return p;
}

static pos word_end(const text *t, pos p, bool big)
{
    if (!forward(t, &p))
        return p;
    while (class_of(t, p, big) == 0 && forward(t, &p))
        ;
    int in = class_of(t, p, big);
    for (pos next = p; forward(t, &next) && class_of(t, next, big) == in && next.line == p.line;)
        p = next;
    return p;
}

static pos word_back(const text *t, pos p, bool big)
{
    if (!backward(t, &p))
        return p;
    while (class_of(t, p, big) == 0 && backward(t, &p))
        ;
    int in = class_of(t, p, big);
    for (pos next = p; backward(t, &next) && class_of(t, next, big) == in && next.line == p.line;)
        p = next;
    return p;
}

static pos first_word(const text *t, size_t line)
{
    size_t n;
    const char *words = text_line(t, line, &n);
    return (pos){line, strspn(words, " \t")};
}

static struct motion find_on_line(const text *t, pos p, char how, char what, size_t count)
{
    size_t n;
    const char *line = text_line(t, p.line, &n);
    bool ahead = how == 'f' || how == 't';
    size_t at = p.byte;
    while (count--) {
        do {
            if (ahead ? at + 1 >= n : at == 0)
                return (struct motion){.ok = false};
            at += ahead ? 1 : (size_t)-1;
        } while (line[at] != what);
    }
    if (how == 't')
        at--;
    else if (how == 'T')
        at++;
    return (struct motion){.to = text_clamp(t, (pos){p.line, at}), .inclusive = ahead, .ok = true};
}

// i( a( and the like: between two brackets around the cursor.
static struct motion brackets(const text *t, pos p, char open, char close, bool around)
{
    int depth = 0;
    pos from = p;
    if (byte_at(t, from) == close)
        backward(t, &from);
    while (byte_at(t, from) != open || depth) {
        depth += (byte_at(t, from) == close) - (byte_at(t, from) == open);
        if (!backward(t, &from))
            return (struct motion){.ok = false};
    }
    pos to = from;
    for (depth = 0; forward(t, &to);) {
        char c = byte_at(t, to);
        if (c == close && depth-- == 0)
            break;
        depth += c == open;
        if (to.line + 1 == text_lines(t) && to.byte >= length_of(t, to.line))
            return (struct motion){.ok = false};
    }
    if (around)
        forward(t, &to);
    else
        forward(t, &from);
    return (struct motion){.from = from, .has_from = true, .to = to, .ok = true};
}

static struct motion quotes(const text *t, pos p, char quote, bool around)
{
    size_t n, open = SIZE_MAX;
    const char *line = text_line(t, p.line, &n);
    for (size_t i = 0; i < n; i++) {
        if (line[i] != quote || (i && line[i - 1] == '\\'))
            continue;
        if (open == SIZE_MAX) {
            open = i;
        } else if (i >= p.byte) {
            return (struct motion){.from = {p.line, open + !around},
                .has_from = true,
                .to = {p.line, i + around},
                .ok = true};
        } else {
            open = SIZE_MAX;
        }
    }
    return (struct motion){.ok = false};
}

static struct motion word_object(const text *t, pos p, bool around, bool big)
{
    int in = class_of(t, p, big);
    pos from = p, to = p;
    size_t n = length_of(t, p.line);
    for (pos next = from; next.byte && (next = left_of(t, next), class_of(t, next, big) == in);)
        from = next;
    while (to.byte < n && class_of(t, to, big) == in)
        to.byte += step_of(t, to);
    for (; around && to.byte < n && class_of(t, to, big) == 0;)
        to.byte++;
    return (struct motion){.from = from, .has_from = true, .to = to, .ok = n > 0};
}

static struct motion object(const text *t, pos p, bool around, char c)
{
    static const char pairs[] = "()b[]r{}B<>";
    const char *at = strchr(pairs, c);
    if (c == 'w' || c == 'W')
        return word_object(t, p, around, c == 'W');
    if (c == '"' || c == '\'' || c == '`')
        return quotes(t, p, c, around);
    if (!at || c == 'r')
        return (struct motion){.ok = false};
    const char *pair = pairs + (at - pairs) / 3 * 3;
    return brackets(t, p, pair[0], pair[1], around);
}

static size_t times(const struct vi *v)
{
    size_t a = v->count ? v->count : 1, b = v->count_before ? v->count_before : 1;
    return a * b < 10000 ? a * b : 10000;
}

static bool has_count(const struct vi *v)
{
    return v->count || v->count_before;
}

static pos down(const text *t, pos p, size_t n, bool up)
{
    int goal = -1;
    while (n--)
        p = cursor_move(t, p, up ? MOVE_UP : MOVE_DOWN, 1, &goal);
    return p;
}

static pos paragraph(const text *t, pos p, bool up)
{
    do {
        if (up ? p.line == 0 : p.line + 1 >= text_lines(t))
            return up ? (pos){0} : text_end(t);
        p = (pos){up ? p.line - 1 : p.line + 1, 0};
    } while (!is_empty_line(t, p));
    return p;
}

// Where a motion leads.
static struct motion move(struct vi *v, const edit *e, const text *t, char c)
{
    pos p = edit_cursor(e), here, there;
    size_t n = times(v), lines = text_lines(t);
    struct motion m = {.to = p, .ok = true};
    switch (c) {
    case 'h':
        while (n--)
            m.to = left_of(t, m.to);
        return m;
    case 'l':
    case ' ':
        while (n-- && m.to.byte < length_of(t, m.to.line))
            m.to.byte += step_of(t, m.to);
        return m;
    case 'j':
    case 'k':
        m.lines = true;
        m.ok = c == 'k' ? p.line > 0 : p.line + 1 < lines;
        m.to = down(t, p, n, c == 'k');
        return m;
    case 'w':
    case 'W':
        while (n--)
            m.to = word_forward(t, m.to, c == 'W');
        if (v->operator&& m.to.line> p.line) // an operator stays on the line
            m.to = (pos){p.line, length_of(t, p.line)};
        return m;
    case 'b':
    case 'B':
        while (n--)
            m.to = word_back(t, m.to, c == 'B');
        return m;
    case 'e':
    case 'E':
        m.inclusive = true;
        while (n--)
            m.to = word_end(t, m.to, c == 'E');
        return m;
    case '0':
        m.to.byte = 0;
        return m;
    case '^':
        m.to = first_word(t, p.line);
        return m;
    case '$':
        m.to = (pos){p.line + n - 1 < lines ? p.line + n - 1 : lines - 1, 0};
        m.to.byte = length_of(t, m.to.line);
        return m;
    case 'G':
        m.lines = true;
        m.to = first_word(t, has_count(v) && n <= lines ? n - 1 : lines - 1);
        return m;
    case '{':
    case '}':
        while (n--)
            m.to = paragraph(t, m.to, c == '{');
        return m;
    case '%':
        m.ok = cursor_bracket(t, p, &here, &there);
        m.to = there;
        m.inclusive = true;
        if (m.ok && pos_compare(there, p) < 0) { // both brackets belong to it
            m.from = here;
            m.from.byte += 1;
            m.has_from = true;
            m.inclusive = false;
        }
        return m;
    case ';':
    case ',':
        if (!v->find)
            return (struct motion){.ok = false};
        return find_on_line(t, p,
            c == ';'
                ? v->find
                : (char)(islower((unsigned char)v->find) ? toupper(v->find) : tolower(v->find)),
            v->find_what, n);
    }
    return (struct motion){.ok = false};
}

// In normal mode the cursor is on a character.
static void stay_on_line(edit *e)
{
    const text *t = edit_text(e);
    pos p = edit_cursor(e);
    size_t n = length_of(t, p.line);
    if (n && p.byte >= n)
        edit_set_cursor(e, left_of(t, (pos){p.line, n}));
}

static void cut(edit *e, pos from, pos to, bool lines, bool removes, struct vi *v, buf *clipboard)
{
    buf_clear(clipboard);
    text_copy(edit_text(e), from, to, clipboard);
    v->lines = lines;
    edit_select(e, to, from); // undo comes back to its start
    if (removes)
        edit_insert(e, "", 0);
    else
        edit_set_cursor(e, from);
}

static void shift(edit *e, size_t first, size_t last, bool right)
{
    edit_select(e, (pos){first, 0}, (pos){last, length_of(edit_text(e), last)});
    if (right)
        edit_indent(e);
    else
        edit_unindent(e);
    edit_set_cursor(e, first_word(edit_text(e), first));
}

static void begin_insert(struct vi *v, const edit *e)
{
    v->mode = VI_INSERT;
    v->inserted = edit_cursor(e);
}

// Whole lines, for c with an empty line in their place.
static void operate_lines(struct vi *v, edit *e, char op, size_t first, size_t last, buf *clipboard)
{
    text *t = edit_text(e);
    pos was = edit_cursor(e), from = {first, 0}, to = {last, length_of(t, last)};
    if (op == '>' || op == '<') {
        shift(e, first, last, op == '>');
        return;
    }
    if (op == 'c')
        from = first_word(t, first);
    cut(e, from, to, true, op == 'c', v, clipboard);
    if (op == 'y') {
        edit_set_cursor(e, text_clamp(t, (pos){first, was.byte}));
    } else if (op == 'c') {
        begin_insert(v, e);
    } else { // in one step with the end of the line, or the one before it
        bool more = last + 1 < text_lines(t);
        from = more || !first ? from : (pos){first - 1, length_of(t, first - 1)};
        edit_select(e, more ? (pos){last + 1, 0} : to, from);
        edit_insert(e, "", 0);
        edit_set_cursor(e, first_word(t, more || !first ? first : first - 1));
    }
}

static void operate(struct vi *v, edit *e, char op, struct motion m, buf *clipboard)
{
    text *t = edit_text(e);
    pos from = m.has_from ? m.from : edit_cursor(e), to = m.to;
    if (pos_compare(to, from) < 0) {
        pos swap = from;
        from = to;
        to = swap;
    } else if (m.inclusive) {
        to.byte += to.byte < length_of(t, to.line) ? step_of(t, to) : 0;
    }
    if (m.lines || op == '>' || op == '<') {
        operate_lines(v, e, op, from.line, to.line, clipboard);
        return;
    }
    cut(e, from, to, false, op != 'y', v, clipboard);
    if (op == 'c')
        begin_insert(v, e);
    else
        stay_on_line(e);
}

static void put(struct vi *v, edit *e, bool before, buf *clipboard)
{
    text *t = edit_text(e);
    pos p = edit_cursor(e);
    size_t n = times(v);
    AUTO_BUF words = {0};
    for (size_t i = 0; i < n; i++) {
        if (v->lines && !before)
            buf_char(&words, '\n');
        buf_add(&words, buf_cstr(clipboard), clipboard->len);
        if (v->lines && before)
            buf_char(&words, '\n');
    }
    if (v->lines)
        p = before ? (pos){p.line, 0} : (pos){p.line, length_of(t, p.line)};
    else if (!before && p.byte < length_of(t, p.line))
        p.byte += step_of(t, p);
    edit_set_cursor(e, p);
    edit_insert(e, buf_cstr(&words), words.len);
    edit_set_cursor(
        e, v->lines ? first_word(t, before ? p.line : p.line + 1) : left_of(t, edit_cursor(e)));
}

static void join(struct vi *v, edit *e)
{
    text *t = edit_text(e);
    for (size_t n = times(v) > 2 ? times(v) - 1 : 1; n--;) {
        pos p = edit_cursor(e);
        if (p.line + 1 >= text_lines(t))
            return;
        pos at = {p.line, length_of(t, p.line)};
        edit_select(e, at, first_word(t, p.line + 1));
        edit_insert(e, at.byte ? " " : "", at.byte ? 1 : 0);
        edit_set_cursor(e, at);
    }
}

static void replace_characters(struct vi *v, edit *e, const char *with, size_t with_n, bool turn)
{
    text *t = edit_text(e);
    for (size_t n = times(v); n--;) {
        pos p = edit_cursor(e), to = p;
        AUTO_BUF words = {0};
        if (p.byte >= length_of(t, p.line))
            return;
        to.byte += step_of(t, p);
        text_copy(t, p, to, &words);
        char c = words.data[0];
        if (turn && isalpha((unsigned char)c))
            words.data[0] = (char)(islower((unsigned char)c) ? toupper(c) : tolower(c));
        edit_select(e, p, to);
        edit_insert(e, turn ? words.data : with, turn ? words.len : with_n);
        if (!turn && !n)
            edit_set_cursor(e, p);
    }
}

static void open_line(struct vi *v, edit *e, bool above, buf *clipboard)
{
    text *t = edit_text(e);
    pos p = edit_cursor(e);
    if (above && p.line == 0) {
        edit_set_cursor(e, (pos){0});
        edit_insert(e, "\n", 1);
        edit_set_cursor(e, (pos){0});
    } else {
        size_t line = above ? p.line - 1 : p.line;
        edit_set_cursor(e, (pos){line, length_of(t, line)});
        edit_act(e, ACT_INSERT_NEWLINE, clipboard); // indented as the text wants it
    }
    begin_insert(v, e);
}

static bool is_visual(const struct vi *v)
{
    return v->mode == VI_VISUAL || v->mode == VI_VISUAL_LINES;
}

static void forget(struct vi *v)
{
    v->count = v->count_before = 0;
    v->operator= v->prefix = 0;
}

// The selection as one sees it: with the character under the cursor, or whole lines.
static void show_selection(struct vi *v, edit *e, pos cursor)
{
    text *t = edit_text(e);
    pos a = v->start, b = cursor;
    if (v->mode == VI_VISUAL_LINES) {
        bool down_ = a.line <= b.line;
        edit_select(e, (pos){a.line, down_ ? 0 : length_of(t, a.line)},
            (pos){b.line, down_ ? length_of(t, b.line) : 0});
        return;
    }
    edit_select(e, a, b);
}

static bool operate_visual(struct vi *v, edit *e, char op, buf *clipboard)
{
    pos from, to;
    bool lines = v->mode == VI_VISUAL_LINES;
    pos cursor = edit_cursor(e);
    if (!edit_selection(e, &from, &to))
        from = to = cursor;
    v->mode = VI_NORMAL;
    if (op == 'x')
        op = 'd';
    if (lines || op == '>' || op == '<') {
        operate_lines(v, e, op, from.line, to.line, clipboard);
        return true;
    }
    to.byte += to.byte < length_of(edit_text(e), to.line) ? step_of(edit_text(e), to) : 0;
    cut(e, from, to, false, op != 'y', v, clipboard);
    if (op == 'c' || op == 's')
        begin_insert(v, e);
    return true;
}

static void go(struct vi *v, edit *e, pos to)
{
    if (is_visual(v)) {
        show_selection(v, e, to);
        return;
    }
    edit_set_cursor(e, to);
    stay_on_line(e);
}

static bool finish_motion(struct vi *v, edit *e, struct motion m, buf *clipboard)
{
    char op = v->operator;
    if (m.ok && op)
        operate(v, e, op, m, clipboard);
    else if (m.ok && is_visual(v) && m.has_from) {
        v->start = m.from;
        go(v, e, left_of(edit_text(e), m.to));
    } else if (m.ok)
        go(v, e, m.to);
    forget(v);
    return true;
}

static bool with_prefix(struct vi *v, edit *e, uint32_t c, buf *clipboard)
{
    char prefix = v->prefix, words[4];
    const text *t = edit_text(e);
    v->prefix = 0;
    if (prefix == 'r') {
        replace_characters(v, e, words, utf8_encode(c, words), false);
        forget(v);
        return true;
    }
    if (c >= 128) {
        forget(v);
        return false;
    }
    if (prefix == 'g') {
        struct motion m = {
            .to = first_word(t, has_count(v) && times(v) <= text_lines(t) ? times(v) - 1 : 0),
            .lines = true,
            .ok = c == 'g'};
        return finish_motion(v, e, m, clipboard) && c == 'g';
    }
    if (prefix == 'i' || prefix == 'a')
        return finish_motion(v, e, object(t, edit_cursor(e), prefix == 'a', (char)c), clipboard);
    v->find = prefix;
    v->find_what = (char)c;
    return finish_motion(
        v, e, find_on_line(t, edit_cursor(e), prefix, (char)c, times(v)), clipboard);
}

static void to_insert_at(struct vi *v, edit *e, pos p)
{
    edit_set_cursor(e, p);
    begin_insert(v, e);
}

// Commands that are no operators and no motions. false: c is none.
static bool command(struct vi *v, edit *e, char c, buf *clipboard)
{
    text *t = edit_text(e);
    pos p = edit_cursor(e), end = {p.line, length_of(t, p.line)}, next = p;
    size_t n = times(v);
    next.byte += p.byte < end.byte ? step_of(t, p) : 0;
    switch (c) {
    case 'i':
        to_insert_at(v, e, p);
        break;
    case 'a':
        to_insert_at(v, e, next);
        break;
    case 'I':
        to_insert_at(v, e, first_word(t, p.line));
        break;
    case 'A':
        to_insert_at(v, e, end);
        break;
    case 'o':
    case 'O':
        open_line(v, e, c == 'O', clipboard);
        break;
    case 'x':
    case 's':
        for (next = p; n-- && next.byte < end.byte;)
            next.byte += step_of(t, next);
        cut(e, p, next, false, true, v, clipboard);
        if (c == 's')
            begin_insert(v, e);
        else
            go(v, e, edit_cursor(e));
        break;
    case 'X':
        for (next = p; n--;)
            next = left_of(t, next);
        cut(e, next, p, false, true, v, clipboard);
        break;
    case 'D':
    case 'C':
        cut(e, p, end, false, true, v, clipboard);
        if (c == 'C')
            begin_insert(v, e);
        else
            go(v, e, edit_cursor(e));
        break;
    case 'S':
        operate_lines(v, e, 'c', p.line, p.line, clipboard);
        break;
    case 'Y':
        operate_lines(v, e, 'y', p.line, p.line, clipboard);
        break;
    case 'p':
    case 'P':
        put(v, e, c == 'P', clipboard);
        break;
    case 'J':
        join(v, e);
        break;
    case '~':
        replace_characters(v, e, "", 0, true);
        break;
    case 'u':
        while (n--)
            edit_act(e, ACT_UNDO, clipboard);
        break;
    case 'v':
    case 'V':
        v->start = p;
        v->mode = c == 'v' ? VI_VISUAL : VI_VISUAL_LINES;
        show_selection(v, e, p);
        break;
    default:
        return false;
    }
    forget(v);
    return true;
}

static bool take_digit(struct vi *v, uint32_t c)
{
    if (c < '0' || c > '9' || (c == '0' && !v->count))
        return false;
    v->count = v->count < 100000 ? v->count * 10 + (c - '0') : v->count;
    return true;
}

static bool take_operator(struct vi *v, edit *e, char c, buf *clipboard)
{
    pos p = edit_cursor(e);
    size_t last;
    if (v->operator== c) { // twice: lines
        last = p.line + times(v) - 1;
        last = last < text_lines(edit_text(e)) ? last : text_lines(edit_text(e)) - 1;
        v->operator= 0;
        operate_lines(v, e, c, p.line, last, clipboard);
        forget(v);
        return true;
    }
    if (v->operator) {
        forget(v);
        return false;
    }
    v->operator= c;
    v->count_before = v->count;
    v->count = 0;
    return true;
}

static bool take(struct vi *v, edit *e, uint32_t point, buf *clipboard)
{
    char c = (char)point;
    if (v->prefix)
        return with_prefix(v, e, point, clipboard);
    if (point >= 128)
        return false;
    if (take_digit(v, point))
        return true;
    if (is_visual(v) && strchr("dxcsy><", c))
        return operate_visual(v, e, c, clipboard);
    if (strchr("dcy><", c))
        return take_operator(v, e, c, clipboard);
    bool pending = v->operator|| is_visual(v);
    if (strchr("gfFtT", c) || (c == 'r' && !pending) || (pending && strchr("ia", c))) {
        v->prefix = c;
        return true;
    }
    if (v->operator== 'c' &&(c == 'w' || c == 'W') && class_of(edit_text(e), edit_cursor(e), false))
        c = c == 'w' ? 'e' : 'E'; // as vi has it: the blank behind stays
    if (!v->operator&& is_visual(v) && (c == 'v' || c == 'V')) {
        edit_set_cursor(e, edit_cursor(e));
        v->mode = VI_NORMAL;
        return true;
    }
    if (strchr("hl jkwWbBeE0^$G{}%;,", c))
        return finish_motion(v, e, move(v, e, edit_text(e), c), clipboard);
    if (!pending && command(v, e, c, clipboard))
        return true;
    forget(v);
    return false;
}

// Is it over, so that what was typed is one change?
static bool is_over(const struct vi *v)
{
    return !v->operator&& !v->prefix && !v->count && v->mode == VI_NORMAL;
}

static void repeat(struct vi *v, edit *e, buf *clipboard)
{
    AUTO_BUF keys = {0};
    size_t len;
    buf_add(&keys, buf_cstr(&v->change), v->change.len);
    v->repeats = true;
    for (size_t at = 0; at < keys.len; at += len) {
        uint32_t c = utf8_decode(keys.data + at, keys.len - at, &len);
        if (v->mode == VI_INSERT) { // the rest was typed
            edit_insert(e, keys.data + at, keys.len - at);
            break;
        }
        take(v, e, c, clipboard);
    }
    if (v->mode == VI_INSERT)
        vi_escape(v, e);
    v->repeats = false;
}

bool vi_type(struct vi *v, edit *e, uint32_t c, buf *clipboard)
{
    char words[4];
    uint64_t was = text_revision(edit_text(e));
    if (c == '.' && is_over(v)) {
        repeat(v, e, clipboard);
        return true;
    }
    if (is_over(v))
        buf_clear(&v->now);
    buf_add(&v->now, words, utf8_encode(c, words));
    bool done = take(v, e, c, clipboard);
    bool changed = text_revision(edit_text(e)) != was && c != 'u';
    v->records = v->mode == VI_INSERT;
    if ((changed && is_over(v)) || v->records) {
        buf_clear(&v->change);
        buf_add(&v->change, buf_cstr(&v->now), v->now.len);
    }
    return done;
}

bool vi_escape(struct vi *v, edit *e)
{
    pos p = edit_cursor(e);
    bool any = v->mode != VI_NORMAL || v->operator|| v->prefix || v->count;
    if (v->mode == VI_INSERT) {
        if (v->records && !v->repeats && pos_compare(v->inserted, p) < 0)
            text_copy(edit_text(e), v->inserted, p, &v->change);
        edit_set_cursor(e, left_of(edit_text(e), p));
    } else {
        edit_set_cursor(e, p);
    }
    v->records = false;
    v->mode = VI_NORMAL;
    forget(v);
    return any;
}

void vi_insert(struct vi *v, const edit *e)
{
    forget(v);
    v->records = false;
    begin_insert(v, e);
}

void vi_reset(struct vi *v)
{
    forget(v);
    v->records = false;
    v->mode = VI_NORMAL;
}

bool vi_waits(const struct vi *v)
{
    return v->operator|| v->prefix;
}

const char *vi_mode_name(const struct vi *v)
{
    static const char *const names[] = {"NORMAL", "EDIT", "VISUAL", "VISUAL"};
    return names[v->mode];
}

void vi_done(struct vi *v)
{
    buf_done(&v->change);
    buf_done(&v->now);
    *v = (struct vi){0};
}
