// SPDX-License-Identifier: MIT
// The percent format of other languages than Lua, by jupytext's rules. A cell that is read keeps
// its bytes, and has them again when it is saved, until it is edited.
//
//   # %% [markdown]          a comment, or (in Python) a text: """ … """
//   # text
//   # %% title tags=["a"]    code as it stands, but for %magics and !commands, which are commented
//   # %% language="bash"     commented
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/others/rules.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

// In the header of the text that the kernel has: what a file of this kind does not say.
#define SAYS_BEGINS "-- jupyter:\n--   jupytext:\n--     main_language: "
#define SAYS_ENDS   "\n--     notebook_metadata_filter: -all\n"
#define RULE        "-- ---\n"

// "In[12]:", "<codecell>": how nbconvert and IPython begin cells.
static bool is_prompt(const char *p, const char *end)
{
    static const char word[] = "<codecell>";
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    if ((size_t)(end - p) == sizeof word - 1 && memcmp(p, word, sizeof word - 1) == 0)
        return true;
    if (end - p < 4 || memcmp(p, "In[", 3) != 0)
        return false;
    for (p += 3; p < end && (isdigit((unsigned char)*p) || *p == ' ');)
        p++;
    if (p == end || *p++ != ']')
        return false;
    return p == end || (end - p == 1 && *p == ':');
}

const char *script_marker(const struct dialect *d, const char *line, size_t n)
{
    const char *end = line + n, *p = bytes_after_space(line, end);
    size_t mark = strlen(d->mark);
    if ((size_t)(end - p) < mark || memcmp(p, d->mark, mark) != 0)
        return NULL;
    p = bytes_after_space(p + mark, end);
    if (is_prompt(p, end))
        return end;
    if (end - p < 2 || memcmp(p, "%%", 2) != 0)
        return NULL;
    const char *after = p += 2;
    while (p < end && *p == '%')
        p++;
    bool bare = bytes_after_space(p, end) == end;
    return (bare && p == after) || (p < end && isspace((unsigned char)*p)) ? after : NULL;
}

static const char *marker_in(const struct dialect *d, const struct line *l)
{
    return script_marker(d, l->text, l->n);
}

static bool has_word(const char *list, const char *between, const char *word)
{
    for (;; list++) {
        size_t n = strcspn(list, between);
        if (n == strlen(word) && strncmp(list, word, n) == 0)
            return true;
        list += n;
        if (!*list)
            return false;
    }
}

// jupytext's "active": the kinds of files in which a cell is code. A frozen one is none in text.
static bool is_active(const cell *c, const char *end, bool otherwise)
{
    const cJSON *metadata = c->kept->metadata;
    const char *active = json_str(metadata, "active");
    if (cJSON_IsTrue(json_path(metadata, "run_control.frozen")))
        return str_eq(end, ".ipynb");
    for (char **tag = c->options.tags; tag && *tag; tag++)
        if (str_starts(*tag, "active-"))
            return has_word(*tag, "-", end + 1);
    return active ? has_word(active, ".,", end + 1) : otherwise;
}

static bool says_active(const cell *c)
{
    bool tagged = false;
    for (char **tag = c->options.tags; tag && *tag; tag++)
        tagged = tagged || str_starts(*tag, "active-");
    return tagged || json_str(c->kept->metadata, "active");
}

// Does the file have a comment mark in front of each of its lines?
static bool is_commented(const cell *c, const struct dialect *d)
{
    if (c->kind == CELL_MARKDOWN)
        return true;
    bool code = c->kind == CELL_CODE || says_active(c);
    return !code || !is_active(c, d->end, !c->options.language);
}

static struct rules rules_of(const notebook *nb, const struct dialect *d, const cell *c)
{
    const char *language = c && c->options.language ? c->options.language : nb->language;
    return (struct rules){language ? language : d->language, d->mark};
}

// A header line with another comment mark, and the extension that it tells.
static void change_line(const struct line *l, const struct dialect *d, bool to_script, buf *out)
{
    const char *from = to_script ? "--" : d->mark, *to = to_script ? d->mark : "--";
    AUTO_FREE char *was = str_fmt("extension: %s", to_script ? ".lua" : d->end);
    AUTO_FREE char *is = str_fmt("extension: %s", to_script ? d->end : ".lua");
    size_t mark = line_starts(l, from) && !line_starts(l, "#!") ? strlen(from) : 0;
    if (mark)
        buf_str(out, to);
    AUTO_FREE char *rest = mem_strndup(l->text + mark, l->whole - mark);
    char *told = strstr(rest, was);
    if (!told) {
        buf_str(out, rest);
        return;
    }
    buf_add(out, rest, (size_t)(told - rest));
    buf_fmt(out, "%s%s", is, told + strlen(was));
}

static bool is_rule(const struct dialect *d, const struct line *l)
{
    size_t mark = strlen(d->mark);
    if (!line_starts(l, d->mark))
        return false;
    AUTO_FREE char *text = str_trim(l->text + mark, l->n - mark);
    return str_eq(text, "---");
}

// How many lines the header has; *top: how many of them come before its block ("#!", the encoding);
// *close: the line that ends the block, 0: there is none; *says: it has a part of jupytext's.
static size_t header_lines(
    const struct dialect *d, const struct lines *ls, size_t *top, size_t *close, bool *says)
{
    size_t i = 0;
    i += i < ls->n && line_starts(&ls->list[i], "#!");
    i += i < ls->n && !marker_in(d, &ls->list[i]) &&
         coding_line(ls->list[i].text, ls->list[i].n, d->mark);
    *top = i;
    if (i < ls->n && is_rule(d, &ls->list[i])) {
        size_t k = i + 1;
        bool has = false;
        AUTO_FREE char *jupyter = str_fmt("%s jupyter:", d->mark);
        for (; k < ls->n && line_starts(&ls->list[k], d->mark) && !is_rule(d, &ls->list[k]); k++)
            has = has || line_starts(&ls->list[k], jupyter);
        if (k < ls->n && is_rule(d, &ls->list[k])) {
            *close = k;
            *says = has;
            i = k + 1;
        }
    }
    while (i < ls->n && line_is_blank(&ls->list[i]))
        i++;
    return i;
}

// The header in Lua's comments, and in it which language the file is in.
static void read_header(
    notebook *nb, const struct dialect *d, const struct lines *ls, const char *text, size_t *first)
{
    size_t top = 0, close = 0;
    bool says = false;
    *first = header_lines(d, ls, &top, &close, &says);
    size_t n =
        ls->n ? (size_t)((*first < ls->n ? ls->list[*first].text
                                         : ls->list[ls->n - 1].text + ls->list[ls->n - 1].whole) -
                         text)
              : 0;
    AUTO_BUF lua = {0};
    for (size_t i = 0; i < *first; i++) {
        if (!says && close ? i == close : !says && i == top)
            buf_fmt(&lua, "%s" SAYS_BEGINS "%s" SAYS_ENDS "%s", close ? "" : RULE, d->language,
                close ? "" : RULE "\n");
        change_line(&ls->list[i], d, false, &lua);
    }
    if (lua.len && lua.data[lua.len - 1] != '\n')
        buf_char(&lua, '\n');
    if (!says && !close && top == *first)
        buf_fmt(&lua, RULE SAYS_BEGINS "%s" SAYS_ENDS RULE "\n", d->language);
    nb->script = d;
    nb->script_header = mem_strndup(text, n);
    nb->header_n = lua.len;
    nb->header = lua.data ? buf_take(&lua) : mem_strdup("");
    nb->script_header_as = mem_strdup(nb->header);
    language_from_metadata(nb);
    if (!nb->language)
        nb->language = mem_strdup(d->language);
}

// Where the cell that begins at `from` ends.
static size_t cell_end(
    const struct dialect *d, const struct rules *r, const struct lines *ls, size_t from, bool text)
{
    quotes q;
    quotes_begin(&q, r);
    for (size_t i = from; i < ls->n; i++) {
        bool inside = q.triple;
        quotes_feed(&q, ls->list[i].text, ls->list[i].n);
        if (inside)
            continue;
        size_t after = text ? lines_after_fence(ls, i, d->mark) : 0;
        if (after)
            i = after - 1;
        else if (i > from && marker_in(d, &ls->list[i]))
            return i;
    }
    return ls->n;
}

static char *join_lines(const struct lines *ls, size_t from, size_t to, const char *mark)
{
    buf text = {0};
    for (size_t i = from; i < to; i++) {
        struct line l = mark ? line_uncommented(ls->list[i], mark) : ls->list[i];
        buf_add(&text, l.text, l.n);
        if (i + 1 < to)
            buf_char(&text, '\n');
    }
    return text.data ? buf_take(&text) : mem_strdup("");
}

// A text cell of Python between quotes; NULL: it is none. *marker: how it was written, new; NULL:
// in a way that jupytext does not keep.
static char *quoted_text(const char *body, char **marker)
{
    static const char *const opens[] = {"\"\"\"", "'''", "r\"\"\"", "r'''", "R\"\"\"", "R'''"};
    AUTO_FREE char *text = str_trim(body, strlen(body));
    for (size_t i = 0; i < ARRAY_LEN(opens); i++) {
        size_t left = strlen(opens[i]), n = strlen(text);
        const char *close = opens[i] + left - 3;
        if (!str_starts(text, opens[i]) || !str_ends(text, close) || n < left + 3)
            continue;
        char *inner = mem_strndup(text + left, n - left - 3);
        bool first = *inner == '\n';
        if (first)
            memmove(inner, inner + 1, strlen(inner));
        bool last = str_ends(inner, "\n");
        if (last)
            inner[strlen(inner) - 1] = '\0';
        if (first && last)
            *marker = mem_strdup(opens[i]);
        else if (left > 3)
            *marker = str_fmt("%s%s,%s%s", opens[i], first ? "\n" : "", last ? "\n" : "", close);
        return inner;
    }
    return NULL;
}

static char *read_source(const notebook *nb, const struct dialect *d, cell *c,
    const struct lines *ls, size_t from, size_t to)
{
    struct rules r = rules_of(nb, d, c);
    char *marker = NULL;
    if (c->kind != CELL_CODE && str_eq(d->language, "python")) {
        AUTO_FREE char *body = join_lines(ls, from, to, NULL);
        char *text = quoted_text(body, &marker);
        if (marker) {
            c->kept->foreign = cJSON_CreateObject();
            json_set_str(c->kept->foreign, "cell_marker", marker);
        }
        free(marker);
        if (text)
            return text;
    }
    bool commented = is_commented(c, d);
    AUTO_FREE char *body = join_lines(ls, from, to, commented ? d->mark : NULL);
    char *source = markers_unescape(c, d, commented ? NULL : &r, body);
    if (commented)
        return source;
    char *clean = rules_uncomment(&r, source);
    free(source);
    return clean;
}

static int rest_lines(
    const struct rules *r, const struct lines *ls, size_t from, size_t body_to, size_t to)
{
    const struct line *end = ls->list + ls->n - 1;
    const char *before = ls->list[from].text, *behind = end->text + end->whole;
    const char *stop =
        body_to > from ? ls->list[body_to - 1].text + ls->list[body_to - 1].whole : before;
    return rules_blank_lines(r, before, (size_t)(stop - before), ls->list[to].text,
        (size_t)(behind - ls->list[to].text));
}

static cell *read_cell(
    notebook *nb, const struct dialect *d, const struct lines *ls, size_t from, size_t *next)
{
    cell *c = cell_new();
    const char *marker = marker_in(d, &ls->list[from]);
    if (marker) {
        AUTO_FREE char *text =
            str_trim(marker, (size_t)(ls->list[from].text + ls->list[from].n - marker));
        cell_mark(c, text);
    }
    if (c->kind == CELL_CODE && !is_active(c, ".ipynb", true))
        c->kind = CELL_RAW;
    struct rules r = rules_of(nb, d, c), own = rules_of(nb, d, NULL);
    size_t to = *next = cell_end(d, &r, ls, from, c->kind != CELL_CODE);
    size_t blank = lines_blank(ls, from, to), body = from + (marker != NULL);
    size_t end = to - blank > body ? to - blank : body;
    bool last = to == ls->n;
    c->line = (int)from + 1;
    c->first_line = (int)body + 1;
    free(c->source);
    c->source = read_source(nb, d, c, ls, body, end);
    c->kept->marked = marker != NULL;
    c->kept->unnamed = true;
    c->kept->spaced = last ? blank > 0 : (int)blank != rest_lines(&own, ls, body, end, to);
    c->kept->blank = c->kept->spaced ? (int)blank : !last;
    const char *start = ls->list[from].text;
    c->kept->script_n = (size_t)(ls->list[to - 1].text + ls->list[to - 1].whole - start);
    c->kept->script = mem_strndup(start, c->kept->script_n);
    return c;
}

notebook *script_parse(const struct dialect *d, const char *text, size_t n, err *e)
{
    if (lines_check(text, n, e) < 0)
        return NULL;
    size_t bom = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, from;
    struct lines ls = {0};
    lines_cut(text + bom, n - bom, &ls);
    notebook *nb = notebook_new();
    nb->crlf = ls.n > 0 && ls.list[0].whole == ls.list[0].n + 2;
    read_header(nb, d, &ls, text, &from);
    while (from < ls.n) {
        cell *c = read_cell(nb, d, &ls, from, &from);
        nb->json = nb->json || marker_is_json(c->marker);
        notebook_add(nb, c);
    }
    free(ls.list);
    return nb;
}

// How a text cell is written between quotes: *left and *right, new. false: in comments.
static bool quotes_of(
    const notebook *nb, const struct dialect *d, const cell *c, char **left, char **right)
{
    const char *marker = json_str(c->kept->foreign, "cell_marker");
    if (!marker && nb->metadata)
        marker = json_path_str(nb->metadata, "jupytext.cell_markers");
    if (!marker || !*marker || c->kind == CELL_CODE || !str_eq(d->language, "python"))
        return false;
    const char *comma = strchr(marker, ','), *bare = marker + strspn(marker, "rR");
    *left = comma ? mem_strndup(marker, (size_t)(comma - marker)) : str_fmt("%s\n", marker);
    *right = comma ? mem_strdup(comma + 1) : str_fmt("\n%s", bare);
    const char *quote = str_starts(bare, "\"\"\"") ? "\"\"\"" : "'''";
    bool raw = bare > marker, is = str_starts(bare, quote) && str_ends(*right, quote) &&
                                   !strstr(c->source, quote) && !str_ends(c->source, "\\") &&
                                   (**right == '\n' || !str_ends(c->source, "\""));
    if (is && !raw && strchr(c->source, '\\')) {
        char *with = str_fmt("r%s", *left);
        free(*left);
        *left = with;
    }
    return is;
}

static void print_body(
    const notebook *nb, const struct dialect *d, const cell *c, const char *newline, buf *out)
{
    AUTO_FREE char *left = NULL;
    AUTO_FREE char *right = NULL;
    if (quotes_of(nb, d, c, &left, &right)) {
        AUTO_FREE char *whole = str_fmt("%s%s%s", left, c->source, right);
        lines_print(whole, NULL, newline, out);
        return;
    }
    struct rules r = rules_of(nb, d, c);
    bool commented = is_commented(c, d);
    AUTO_FREE char *magics = commented ? mem_strdup(c->source) : rules_comment(&r, c->source);
    AUTO_FREE char *text = markers_escape(c, d, commented ? NULL : &r, magics);
    if (*text || commented)
        lines_print(text, commented ? d->mark : NULL, newline, out);
}

// A cell without the blank lines behind it, unless it has its bytes with them.
static void print_cell(const notebook *nb, const struct dialect *d, const cell *c, buf *out)
{
    const char *newline = nb->crlf ? "\r\n" : "\n";
    if (c->kept->script && nb->script == d) {
        buf_add(out, c->kept->script, c->kept->script_n);
        return;
    }
    cell shown = *c;
    if (c->kind == CELL_RAW && says_active(c))
        shown.kind = CELL_CODE;
    if (c->kept->marked)
        marker_line(nb, &shown, d->mark, newline, out);
    print_body(nb, d, c, newline, out);
}

static size_t blank_lines(const notebook *nb, const struct dialect *d, size_t i, const buf *text,
    const char *rest, size_t rest_n)
{
    const struct cell_kept *k = nb->cells[i]->kept;
    struct rules r = rules_of(nb, d, NULL);
    if (k->script && nb->script == d)
        return 0;
    if (k->spaced)
        return (size_t)k->blank;
    return i + 1 == nb->n ? 0
                          : (size_t)rules_blank_lines(&r, buf_cstr(text), text->len, rest, rest_n);
}

// From the last one to the first: how many blank lines follow depends on what comes then.
static void print_cells(const notebook *nb, const struct dialect *d, buf *out)
{
    const char *newline = nb->crlf ? "\r\n" : "\n";
    buf *texts = mem_array(nb->n + 1, sizeof *texts);
    size_t room = 0, used = 0;
    for (size_t i = 0; i < nb->n; i++) {
        print_cell(nb, d, nb->cells[i], &texts[i]);
        size_t blank = nb->cells[i]->kept->blank > 2 ? (size_t)nb->cells[i]->kept->blank : 2;
        room += texts[i].len + blank * strlen(newline);
    }
    char *all = mem_array(room + 1, 1), *end = all + room;
    for (size_t i = nb->n; i-- > 0;) {
        size_t n = blank_lines(nb, d, i, &texts[i], end - used, used);
        for (; n > 0; n--) {
            used += strlen(newline);
            memcpy(end - used, newline, strlen(newline));
        }
        used += texts[i].len;
        if (texts[i].len)
            memcpy(end - used, texts[i].data, texts[i].len);
        buf_done(&texts[i]);
    }
    buf_add(out, end - used, used);
    free(all);
    free(texts);
}

// Without what only the text of the kernel says.
static void print_header(const notebook *nb, const struct dialect *d, buf *out)
{
    if (nb->script == d && str_eq(nb->header, nb->script_header_as)) {
        buf_str(out, nb->script_header);
        return;
    }
    const char *header = nb->header ? nb->header : "";
    AUTO_FREE char *says = str_fmt(SAYS_BEGINS "%s" SAYS_ENDS, nb->language);
    AUTO_FREE char *alone = str_fmt(RULE "%s" RULE "\n", says);
    const char *at = strstr(header, alone), *what = at ? alone : says;
    at = at ? at : strstr(header, says);
    AUTO_BUF text = {0};
    buf_add(&text, header, at ? (size_t)(at - header) : strlen(header));
    buf_str(&text, at ? at + strlen(what) : "");
    AUTO_FREE char *main = str_fmt("--     main_language: %s", nb->language);
    bool own = language_is(nb->language, d->language); // the file's name says it
    struct lines ls = {0};
    lines_cut(buf_cstr(&text), text.len, &ls);
    for (size_t i = 0; i < ls.n; i++)
        if (!own || !line_starts(&ls.list[i], main))
            change_line(&ls.list[i], d, true, out);
    free(ls.list);
}

void script_print(const notebook *nb, const struct dialect *d, buf *out)
{
    print_header(nb, d, out);
    print_cells(nb, d, out);
}
