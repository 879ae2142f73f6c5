// SPDX-License-Identifier: MIT
// The text of a marker line, by jupytext's rules: the title is all words before the first option.
// An option is key=value with a JSON value (or a Python literal); or one JSON object has all
// options.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

struct scan {
    const char *p, *end;
    char *problem;
};

static bool key_char(char c)
{
    return isalnum((unsigned char)c) || strchr("_.@/-", c);
}

static void skip_space(struct scan *s)
{
    while (s->p < s->end && isspace((unsigned char)*s->p))
        s->p++;
}

static const char *quoted_end(const char *p, const char *end)
{
    char quote = *p++;
    for (; p < end && *p != quote; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    return p < end ? p + 1 : NULL;
}

// The end of the value at p: a string, something in brackets, or a word. NULL: it has no end.
static const char *value_end(const char *p, const char *end)
{
    int depth = 0;
    while (p < end) {
        if (*p == '"' || *p == '\'') {
            if (!(p = quoted_end(p, end)))
                return NULL;
        } else {
            if (isspace((unsigned char)*p) && depth == 0)
                return p;
            depth += *p == '[' || *p == '{' || *p == '(';
            depth -= *p == ']' || *p == '}' || *p == ')';
            p++;
        }
        if (depth < 0)
            return NULL;
    }
    return depth == 0 ? p : NULL;
}

// Converts a Python string in single quotes, up to `close`, to a JSON string.
static void python_string(const char *p, const char *close, buf *json)
{
    buf_char(json, '"');
    for (p++; p < close - 1; p++) {
        if (*p == '\\' && p[1] == '\'')
            p++;
        else if (*p == '\\')
            buf_char(json, *p++);
        else if (*p == '"')
            buf_char(json, '\\');
        buf_char(json, *p);
    }
    buf_char(json, '"');
}

// Converts a Python literal to JSON text: quotes, True, False, None.
static void python_to_json(const char *p, const char *end, buf *json)
{
    static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    while (p < end) {
        size_t w = 0;
        while (w < ARRAY_LEN(words) && (size_t)(end - p) < strlen(words[w][0]))
            w++;
        while (w < ARRAY_LEN(words) && strncmp(p, words[w][0], strlen(words[w][0])) != 0)
            w++;
        const char *close = *p == '\'' || *p == '"' ? quoted_end(p, end) : NULL;
        if (close && *p == '\'') {
            python_string(p, close, json);
            p = close;
        } else if (close) {
            buf_add(json, p, (size_t)(close - p));
            p = close;
        } else if (w < ARRAY_LEN(words)) {
            buf_str(json, words[w][1]);
            p += strlen(words[w][0]);
        } else {
            buf_char(json, *p++);
        }
    }
}

static cJSON *parse_value(const char *p, size_t n)
{
    cJSON *value = json_parse(p, n, NULL);
    if (value)
        return value;
    AUTO_BUF json = {0};
    python_to_json(p, p + n, &json);
    return json_parse(buf_cstr(&json), json.len, NULL);
}

static void option(struct scan *s, cJSON *metadata)
{
    const char *key = s->p;
    while (s->p < s->end && key_char(*s->p))
        s->p++;
    AUTO_FREE char *name = mem_strndup(key, (size_t)(s->p - key));
    skip_space(s);
    if (!*name || s->p == s->end || *s->p != '=') {
        const char *word = *name ? name : key;
        s->problem = str_fmt(
            "cannot read the options at \"%s\": they are key=\"value\"", str_short(word, 40).text);
        return;
    }
    s->p++;
    skip_space(s);
    const char *end = value_end(s->p, s->end);
    cJSON *value = end ? parse_value(s->p, (size_t)(end - s->p)) : NULL;
    if (!value) {
        int shown = (int)((end ? end : s->end) - s->p);
        s->problem =
            !end ? str_fmt("the value of %s does not end: %s=%.*s", name, name, shown, s->p)
                 : str_fmt("the value of %s needs quotes: %s=\"%.*s\"", name, name, shown, s->p);
        return;
    }
    if (json_get(metadata, name))
        s->problem = str_fmt("option %s is given twice", name);
    json_set(metadata, name, value);
    s->p = end;
    skip_space(s);
}

// The end of the title: before the word with the first '=', or before '{'.
static const char *title_end(const char *text, const char *end)
{
    const char *equals = memchr(text, '=', (size_t)(end - text));
    const char *brace = memchr(text, '{', (size_t)(end - text));
    if (brace && (!equals || brace < equals))
        return brace;
    if (!equals)
        return end;
    while (equals > text && isspace((unsigned char)equals[-1]))
        equals--;
    while (equals > text && !isspace((unsigned char)equals[-1]))
        equals--;
    return equals;
}

// What sets a cell's kind, the strongest first.
static const struct {
    const char *mark;
    cell_kind kind;
} kind_marks[] = {{"[markdown]", CELL_MARKDOWN}, {"[raw]", CELL_RAW}, {"[md]", CELL_MARKDOWN}};

// Takes the first of the n strongest marks in the title out of it; its index, or n.
static size_t take_mark(buf *title, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *at = strstr(buf_cstr(title), kind_marks[i].mark);
        if (!at)
            continue;
        size_t length = strlen(kind_marks[i].mark);
        memmove(at, at + length, strlen(at + length) + 1);
        title->len -= length;
        return i;
    }
    return n;
}

// Takes "[markdown]" out of the title and sets the kind; for the short spelling also "region_name".
// What is left may read as such a mark, or a stronger one ("[mark[raw]down]"): these go, too.
static void take_kind(buf *title, cell_kind *kind, cJSON *metadata)
{
    size_t none = ARRAY_LEN(kind_marks), mark = none;
    for (size_t i = take_mark(title, none); i < none && i <= mark; i = take_mark(title, mark + 1))
        mark = i;
    *kind = mark < none ? kind_marks[mark].kind : CELL_CODE;
    if (mark == 2)
        json_set_str(metadata, "region_name", "md");
}

// "%% Sub" is a cell of depth 1 in Spyder: jupytext keeps the depth.
static void take_depth(buf *title, cJSON *metadata)
{
    int depth = (int)strspn(buf_cstr(title), "%");
    if (depth)
        json_set_int(metadata, "cell_depth", depth);
    buf_consume(title, (size_t)depth);
}

cJSON *marker_parse(const char *text, cell_kind *kind, char **title, char **problem)
{
    const char *end = text + strlen(text), *options = title_end(text, end);
    cJSON *metadata = cJSON_CreateObject();
    AUTO_BUF words = {0};
    buf_add(&words, text, (size_t)(options - text));
    take_kind(&words, kind, metadata);
    take_depth(&words, metadata);
    char *trimmed = str_trim(buf_cstr(&words), words.len);
    *title = *trimmed ? STEAL(trimmed) : NULL;
    free(trimmed);
    struct scan s = {.p = options, .end = end};
    if (s.p < s.end && *s.p == '{') {
        cJSON *all = parse_value(s.p, (size_t)(end - s.p));
        if (!cJSON_IsObject(all))
            s.problem = str_fmt("the options are not a JSON object: %s", str_short(s.p, 60).text);
        for (cJSON *item; cJSON_IsObject(all) && (item = all->child);)
            json_set(metadata, item->string, cJSON_DetachItemViaPointer(all, item));
        cJSON_Delete(all);
    } else {
        while (s.p < s.end && !s.problem)
            option(&s, metadata);
    }
    *problem = s.problem;
    return metadata;
}

// Prints as Python's json.dumps does: with ", " and ": ", and only ASCII.
static void python_json(const cJSON *j, buf *out);

static void python_json_string(const char *s, buf *out)
{
    AUTO_JSON *j = cJSON_CreateString(s);
    AUTO_BUF text = {0};
    json_print(&text, j);
    for (size_t i = 0; i < text.len;) {
        size_t n = utf8_len(text.data + i, text.len - i);
        const unsigned char *u = (const unsigned char *)text.data + i;
        if (n <= 1) {
            buf_char(out, text.data[i++]);
            continue;
        }
        unsigned code = u[0] & (0xffu >> (n + 1));
        for (size_t k = 1; k < n; k++)
            code = code << 6 | (u[k] & 0x3fu);
        if (code > 0xffff)
            buf_fmt(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 | (code & 0x3ff));
        else
            buf_fmt(out, "\\u%04x", code);
        i += n;
    }
}

static void python_json(const cJSON *j, buf *out)
{
    if (cJSON_IsString(j)) {
        python_json_string(j->valuestring, out);
    } else if (cJSON_IsArray(j) || cJSON_IsObject(j)) {
        bool object = cJSON_IsObject(j);
        buf_char(out, object ? '{' : '[');
        for (const cJSON *item = j->child; item; item = item->next) {
            if (object) {
                python_json_string(item->string, out);
                buf_str(out, ": ");
            }
            python_json(item, out);
            buf_str(out, item->next ? ", " : "");
        }
        buf_char(out, object ? '}' : ']');
    } else {
        json_print(out, j);
    }
}

// A language of Jupyter's, which jupytext puts last, and before it what its magic is given.
static int comes_late(const cJSON *item)
{
    bool language = str_eq(item->string, "language") && cJSON_IsString(item) &&
                    jupyter_language(item->valuestring);
    return language ? 2 : str_eq(item->string, "magic_args");
}

static int by_key(const void *a, const void *b)
{
    const cJSON *x = *(cJSON *const *)a, *y = *(cJSON *const *)b;
    int late = comes_late(x) - comes_late(y);
    return late ? late : strcmp(x->string, y->string);
}

// The options in order, without those that jupytext keeps elsewhere. New; *n entries.
static const cJSON **sorted_options(const cJSON *metadata, size_t *n)
{
    const cJSON **sorted = mem_array((size_t)cJSON_GetArraySize(metadata) + 1, sizeof *sorted);
    *n = 0;
    for (const cJSON *item = metadata->child; item; item = item->next)
        if (!str_eq(item->string, "region_name") && !str_eq(item->string, "cell_depth") &&
            !str_eq(item->string, "lines_to_next_cell"))
            sorted[(*n)++] = item;
    qsort(sorted, *n, sizeof *sorted, by_key);
    return sorted;
}

// How `marker` spells the value of another tool's option; false: as JSON.
static bool raw_value(const char *marker, const cJSON *item, const char **value, size_t *n)
{
    if (!marker || !(option_is_foreign(item->string) || option_is_unknown(item->string) ||
                       cJSON_IsObject(item)))
        return false;
    const char *end = marker + strlen(marker);
    struct scan s = {.p = title_end(marker, end), .end = end};
    while (s.p < end && *s.p != '{') {
        const char *key = s.p;
        while (s.p < end && key_char(*s.p))
            s.p++;
        size_t length = (size_t)(s.p - key);
        skip_space(&s);
        if (s.p == end || *s.p++ != '=')
            return false;
        skip_space(&s);
        *value = s.p;
        const char *after = value_end(s.p, end);
        if (!after)
            return false;
        *n = (size_t)(after - *value);
        if (strlen(item->string) == length && strncmp(key, item->string, length) == 0)
            return true;
        s.p = after;
        skip_space(&s);
    }
    return false;
}

static void print_options(const cJSON *metadata, const char *marker, bool json, buf *out)
{
    size_t n;
    AUTO_FREE const cJSON **sorted = sorted_options(metadata, &n);
    if (n && json)
        buf_fmt(out, "%s{", out->len ? " " : "");
    for (size_t i = 0; i < n; i++) {
        if (json) {
            buf_str(out, i ? ", " : "");
            python_json_string(sorted[i]->string, out);
            buf_str(out, ": ");
        } else {
            buf_fmt(out, "%s%s=", out->len ? " " : "", sorted[i]->string);
        }
        const char *value;
        size_t length;
        if (!json && raw_value(marker, sorted[i], &value, &length))
            buf_add(out, value, length);
        else
            python_json(sorted[i], out);
    }
    if (n && json)
        buf_char(out, '}');
}

bool marker_is_json(const char *text)
{
    const char *options = title_end(text, text + strlen(text));
    return *options == '{';
}

void marker_print(const cell *c, bool json, buf *out)
{
    const cJSON *metadata = c->kept->metadata;
    int64_t depth = json_int_or(metadata, "cell_depth", 0);
    for (int64_t i = 0; i < depth && i < 8; i++)
        buf_char(out, '%');
    if (c->title)
        buf_fmt(out, "%s%s", depth ? " " : "", c->title);
    if (c->kind != CELL_CODE)
        buf_fmt(out, "%s[%s]", out->len ? " " : "",
            json_str_or(metadata, "region_name", cell_kind_name(c->kind)));
    print_options(metadata, c->marker, json, out);
}
