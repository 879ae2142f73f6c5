// SPDX-License-Identifier: MIT
// Writes JSON trees as YAML, as go-yaml does for `kubectl -o yaml`.
#include "base/json/yaml.h"
#include "base/json/yamlscalar.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 80 };

// Characters that JSON prints raw, but that YAML takes for line breaks or does not allow.
static bool is_special(uint32_t point)
{
    return (point < 0x20 && point != '\n') || (point >= 0x7f && point < 0xa0) || point == 0x2028 ||
           point == 0x2029 || point == 0xfeff || point == 0xfffe || point == 0xffff;
}

static bool has_special(const char *s)
{
    size_t n = strlen(s), len;
    for (; n; s += len, n -= len)
        if (is_special(utf8_decode(s, n, &len)))
            return true;
    return false;
}

static size_t digits(const char *s, size_t most)
{
    size_t n = 0;
    while (n < most && isdigit((unsigned char)s[n]))
        n++;
    return n;
}

// "12:30:45", which YAML 1.1 takes for a number to the base of 60.
static bool is_base_60(const char *s)
{
    s += *s == '+' || *s == '-';
    size_t n = strspn(s, "0123456789_"), parts = 0;
    if (!isdigit((unsigned char)*s))
        return false;
    for (s += n; *s == ':'; s += n, parts++) {
        n = 1 + digits(s + 1, 2);
        if (n == 1 || (n == 3 && s[1] > '5'))
            return false;
    }
    return parts && (!*s || (*s == '.' && !s[1 + strspn(s + 1, "0123456789_")]));
}

// Would YAML read the text, written plain, as a number, a boolean, a date or null?
static bool reads_as_other(const char *s)
{
    AUTO_JSON *read_back = yaml_scalar(NULL, s, false, NULL); // NULL: an infinity
    return !cJSON_IsString(read_back) || yaml_is_bool(s) || yaml_is_date(s) || is_base_60(s);
}

// Does the text, written plain, look like YAML syntax?
static bool has_indicator(const char *s)
{
    size_t n = strlen(s);
    bool alone = !s[1] || s[1] == ' ';
    if (strchr(",[]{}#&*!|>'\"%@` ", *s) || (strchr("-?:", *s) && alone) || s[n - 1] == ' ' ||
        str_starts(s, "---") || str_starts(s, "..."))
        return true;
    for (const char *p = s; *p; p++)
        if (*p == '\n' || (*p == ':' && (p[1] == ' ' || !p[1])) || (*p == ' ' && p[1] == '#'))
            return true;
    return false;
}

static size_t column_of(const buf *out)
{
    size_t columns = 0;
    for (size_t i = out->len; i && out->data[i - 1] != '\n'; i--)
        columns += ((unsigned char)out->data[i - 1] & 0xc0) != 0x80;
    return columns;
}

// May a line break replace the space at p? In double quotes also the first of several spaces.
static bool can_break(const char *s, const char *p, char quote)
{
    if (*p != ' ' || p == s || p[-1] == ' ')
        return false;
    return quote == '"' ? p > s + 1 && p[1] && p[2] : p[1] && p[1] != ' ';
}

// Folds a text into lines of about 80 columns, as go-yaml does: the first space after column 80
// becomes a line end. indent 0: no folding.
static void print_folded(buf *out, const char *s, int indent, char quote)
{
    size_t columns = column_of(out);
    for (const char *p = s; *p; p++) {
        if (indent > 0 && columns > WIDTH && can_break(s, p, quote)) {
            buf_fmt(out, "\n%*s%s", indent, "", p[1] == ' ' ? "\\" : "");
            columns = (size_t)indent + (p[1] == ' ');
            continue;
        }
        buf_char(out, *p);
        if (quote == '\'' && *p == quote)
            buf_char(out, *p);
        columns += ((unsigned char)*p & 0xc0) != 0x80;
    }
}

static void print_single_quoted(buf *out, const char *s, int indent)
{
    buf_char(out, '\'');
    print_folded(out, s, indent, '\'');
    buf_char(out, '\'');
}

static void print_block(buf *out, const char *s, int indent)
{
    size_t n = strlen(s);
    buf_str(out, "|");
    if (*s == ' ')
        buf_str(out, "2");
    if (s[n - 1] != '\n')
        buf_str(out, "-");
    else if (n > 1 && s[n - 2] == '\n')
        buf_str(out, "+");
    for (const char *line = s; *line;) {
        size_t len = strcspn(line, "\n");
        buf_fmt(out, "\n%*s%.*s", len ? indent : 0, "", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

// YAML accepts JSON's double-quoted strings, once no special character is raw in them.
static void print_quoted(buf *out, const cJSON *j, int indent)
{
    AUTO_BUF text = {0}, quoted = {0};
    json_print(&text, j);
    for (size_t at = 0, len; at < text.len; at += len) {
        uint32_t point = utf8_decode(text.data + at, text.len - at, &len);
        if (is_special(point))
            buf_fmt(&quoted, "\\u%04x", (unsigned)point);
        else
            buf_add(&quoted, text.data + at, len);
    }
    print_folded(out, buf_cstr(&quoted), indent, '"');
}

// Prints a scalar; indent 0: a key. A text with several lines becomes a block, if a reader can
// recognise its indentation. Quotes are chosen as in go-yaml: double ones for a text that would be
// read as something else, or that needs escapes.
static void print_scalar(buf *out, const cJSON *j, int indent)
{
    const char *s = cJSON_GetStringValue(j);
    bool several = s && strchr(s, '\n');
    if (several && *s != '\n' && indent > 0 && !has_special(s) && !str_ends(s, " ") &&
        !strstr(s, " \n"))
        print_block(out, s, indent);
    else if (!s || several || has_special(s) || reads_as_other(s) || str_eq(s, "<<") ||
             str_eq(s, "="))
        print_quoted(out, j, indent);
    else if (has_indicator(s))
        print_single_quoted(out, s, indent);
    else
        print_folded(out, s, indent, '\0');
}

static void print_node(buf *out, const cJSON *j, int indent, bool in_sequence);

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static bool is_empty(const cJSON *j)
{
    return (cJSON_IsObject(j) || cJSON_IsArray(j)) && !j->child;
}

static void print_object(buf *out, const cJSON *j, int indent, bool in_sequence)
{
    size_t n = (size_t)cJSON_GetArraySize(j), i = 0;
    AUTO_FREE const cJSON **items = mem_array(n, sizeof *items);
    const cJSON *item;
    cJSON_ArrayForEach(item, j) items[i++] = item;
    qsort(items, n, sizeof *items, by_key);
    for (i = 0; i < n; i++) {
        AUTO_JSON *key = cJSON_CreateString(items[i]->string);
        buf_fmt(out, "%*s", in_sequence && !i ? 0 : indent, "");
        print_scalar(out, key, 0);
        buf_char(out, ':');
        bool is_nested = (cJSON_IsObject(items[i]) || cJSON_IsArray(items[i])) && items[i]->child;
        buf_char(out, is_nested ? '\n' : ' ');
        // A sequence starts at the column of its key, as in kubectl's output.
        print_node(
            out, items[i], is_nested && cJSON_IsArray(items[i]) ? indent : indent + 2, false);
    }
}

static void print_node(buf *out, const cJSON *j, int indent, bool in_sequence)
{
    if (is_empty(j)) {
        buf_str(out, cJSON_IsObject(j) ? "{}\n" : "[]\n");
    } else if (cJSON_IsObject(j)) {
        print_object(out, j, indent, in_sequence);
    } else if (cJSON_IsArray(j)) {
        const cJSON *item;
        bool is_first = true;
        cJSON_ArrayForEach(item, j)
        {
            buf_fmt(out, "%*s- ", in_sequence && is_first ? 0 : indent, "");
            print_node(out, item, indent + 2, true);
            is_first = false;
        }
    } else {
        print_scalar(out, j, indent);
        buf_char(out, '\n');
    }
}

void yaml_print(buf *out, const cJSON *j)
{
    print_node(out, j, 0, false);
}
