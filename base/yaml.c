// SPDX-License-Identifier: MIT
#include "base/yaml.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

// Aliases make an expansion bomb grow: the most nodes that one document may expand to.
enum { MAX_NODES = 1000000, MAX_DEPTH = 200, WIDTH = 80 };

struct reader {
    yaml_document_t *doc;
    size_t nodes;
    err *e;
};

static int place_error(const struct reader *r, yaml_mark_t at, const char *fmt, const char *what)
{
    AUTO_BUF text = {0};
    buf_fmt(&text, fmt, str_short(what, 100).text);
    return err_set(
        r->e, ERR_INVALID, "line %zu, column %zu: %s", at.line + 1, at.column + 1, buf_cstr(&text));
}

static bool one_of(const char *s, const char *const words[])
{
    for (; *words; words++)
        if (strcmp(s, *words) == 0)
            return true;
    return false;
}

static const char *const trues[] = {
    "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL};
static const char *const falses[] = {
    "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", NULL};
static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const infinities[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
    "-.Inf", "-.INF", ".nan", ".NaN", ".NAN", NULL};

// go-yaml v2 reads y and n as strings when it reads into an interface, as Kubernetes does.
static bool is_bool(const char *s, bool *value)
{
    *value = one_of(s, trues);
    return strlen(s) > 1 && (*value || one_of(s, falses));
}

// Integers with an optional sign, in base 2, 8 (0777, 0o777), 10 or 16, with '_' between digits.
static bool is_int(const char *s, int64_t *value)
{
    char digits[80];
    size_t n = 0;
    const char *p = s + (*s == '-' || *s == '+');
    int base = 10;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'b' || p[1] == 'o')) {
        base = p[1] == 'x' ? 16 : p[1] == 'b' ? 2 : 8;
        p += 2;
    } else if (p[0] == '0' && p[1]) {
        base = 8;
        p++;
    }
    if (*s == '-')
        digits[n++] = '-';
    if (!isalnum((unsigned char)*p))
        return false;
    for (; *p; p++) {
        if (*p == '_')
            continue;
        if (!isalnum((unsigned char)*p) || n + 1 >= sizeof digits)
            return false;
        digits[n++] = *p;
    }
    digits[n] = '\0';
    char *end;
    errno = 0;
    long long v = strtoll(digits, &end, base);
    *value = v;
    return !*end && !errno;
}

// Decimal floats as in YAML 1.1's core schema: "1.", ".5", "1e3", "-2.5E-3".
static bool is_float(const char *s, double *value)
{
    const char *p = s + (*s == '-' || *s == '+');
    size_t before = strspn(p, "0123456789_"), after = 0;
    p += before;
    if (*p == '.')
        after = strspn(++p, "0123456789_");
    p += after;
    if (!(before + after))
        return false;
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '-' || p[1] == '+');
        size_t n = strspn(p, "0123456789");
        if (!n)
            return false;
        p += n;
    }
    char plain[80];
    size_t n = 0;
    for (const char *q = s; *q && n + 1 < sizeof plain; q++)
        if (*q != '_')
            plain[n++] = *q;
    plain[n] = '\0';
    *value = strtod(plain, NULL);
    return !*p && isfinite(*value);
}

static cJSON *plain_scalar(const char *s)
{
    bool truth;
    int64_t integer;
    double real;
    if (one_of(s, nulls))
        return cJSON_CreateNull();
    if (is_bool(s, &truth))
        return cJSON_CreateBool(truth);
    if (is_int(s, &integer))
        return json_new_int(integer);
    if (is_float(s, &real))
        return cJSON_CreateNumber(real);
    return cJSON_CreateString(s);
}

static cJSON *scalar(const struct reader *r, const yaml_node_t *node)
{
    const char *s = (const char *)node->data.scalar.value;
    const char *tag = (const char *)node->tag;
    if (strlen(s) != node->data.scalar.length) {
        place_error(r, node->start_mark, "%s", "a NUL byte in a string");
        return NULL;
    }
    bool is_plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tag && strcmp(tag, YAML_STR_TAG) != 0) {
        if (strcmp(tag, "tag:yaml.org,2002:binary") == 0 ||
            !str_starts(tag, "tag:yaml.org,2002:")) {
            place_error(r, node->start_mark, "the tag %s is not supported", tag);
            return NULL;
        }
        return plain_scalar(s);
    }
    // libyaml gives every scalar the str tag, even a plain one. Its document API does not tell
    // "!!str 5" from a plain 5, so only quoting makes a string of it.
    return is_plain ? plain_scalar(s) : cJSON_CreateString(s);
}

static cJSON *convert(struct reader *r, int index, int depth);

static int merge_into(struct reader *r, cJSON *object, const yaml_node_t *at, cJSON *merged)
{
    const cJSON *one;
    if (cJSON_IsArray(merged)) {
        cJSON_ArrayForEach(one, merged)
        {
            AUTO_JSON *copy = cJSON_Duplicate(one, true);
            if (merge_into(r, object, at, copy) < 0)
                return -1;
        }
        return 0;
    }
    if (!cJSON_IsObject(merged))
        return place_error(r, at->start_mark, "%s", "<< merges mappings only");
    cJSON_ArrayForEach(one, merged)
    {
        if (!json_get(object, one->string))
            cJSON_AddItemToObject(object, one->string, cJSON_Duplicate(one, true));
    }
    return 0;
}

// A key as JSON has it: a string; a number or a boolean becomes its text, as sigs.k8s.io/yaml does.
static char *key_text(struct reader *r, const yaml_node_t *key)
{
    if (key->type != YAML_SCALAR_NODE) {
        place_error(r, key->start_mark, "%s", "a key must be a plain value");
        return NULL;
    }
    AUTO_JSON *value = scalar(r, key);
    if (!value)
        return NULL;
    return cJSON_IsString(value) ? mem_strdup(value->valuestring) : json_to_str(value);
}

static bool is_merge_key(const yaml_node_t *key)
{
    return key->type == YAML_SCALAR_NODE && key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           strcmp((const char *)key->data.scalar.value, "<<") == 0;
}

static int convert_pairs(
    struct reader *r, const yaml_node_t *node, cJSON *object, bool merges, int depth)
{
    yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    for (; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(r->doc, pair->key);
        if (is_merge_key(key) != merges)
            continue;
        AUTO_FREE char *name = merges ? NULL : key_text(r, key);
        if (!merges && !name)
            return -1;
        if (name && json_get(object, name))
            return place_error(r, key->start_mark, "the key \"%s\" is there twice", name);
        AUTO_JSON *value = convert(r, pair->value, depth + 1);
        if (!value)
            return -1;
        if (!merges)
            cJSON_AddItemToObject(object, name, STEAL(value));
        else if (merge_into(r, object, key, value) < 0)
            return -1;
    }
    return 0;
}

static cJSON *convert(struct reader *r, int index, int depth)
{
    yaml_node_t *node = yaml_document_get_node(r->doc, index);
    if (++r->nodes > MAX_NODES || depth > MAX_DEPTH) {
        place_error(r, node->start_mark, "%s", "too large or too deep (an alias of itself?)");
        return NULL;
    }
    if (node->type == YAML_SCALAR_NODE)
        return scalar(r, node);
    if (node->type == YAML_MAPPING_NODE) {
        AUTO_JSON *object = cJSON_CreateObject();
        if (convert_pairs(r, node, object, false, depth) < 0 ||
            convert_pairs(r, node, object, true, depth) < 0)
            return NULL;
        return STEAL(object);
    }
    AUTO_JSON *array = cJSON_CreateArray();
    yaml_node_item_t *item = node->data.sequence.items.start;
    for (; item < node->data.sequence.items.top; item++) {
        cJSON *value = convert(r, *item, depth + 1);
        if (!value)
            return NULL;
        cJSON_AddItemToArray(array, value);
    }
    return STEAL(array);
}

static int parser_error(const yaml_parser_t *p, err *e)
{
    if (p->error == YAML_READER_ERROR)
        return err_set(e, ERR_INVALID, "byte %zu: %s", p->problem_offset + 1, p->problem);
    return err_set(e, ERR_INVALID, "line %zu, column %zu: %s%s%s", p->problem_mark.line + 1,
        p->problem_mark.column + 1, p->problem ? p->problem : "not YAML", p->context ? ", " : "",
        p->context ? p->context : "");
}

// Reads one document: 1 and *out (NULL if it is empty), 0 at the end of the stream, -1.
static int read_document(yaml_parser_t *parser, cJSON **out, err *e)
{
    yaml_document_t doc;
    *out = NULL;
    if (!yaml_parser_load(parser, &doc))
        return parser_error(parser, e);
    yaml_node_t *root = yaml_document_get_root_node(&doc);
    if (!root) {
        yaml_document_delete(&doc);
        return 0;
    }
    struct reader r = {.doc = &doc, .e = e};
    cJSON *value = convert(&r, 1, 0);
    yaml_document_delete(&doc);
    if (!value)
        return -1;
    if (cJSON_IsNull(value)) {
        cJSON_Delete(value);
        value = NULL;
    }
    *out = value;
    return 1;
}

cJSON *yaml_parse(const char *text, size_t n, err *e)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        mem_out(sizeof parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    AUTO_JSON *documents = cJSON_CreateArray();
    cJSON *one;
    int got;
    while ((got = read_document(&parser, &one, e)) > 0)
        if (one)
            cJSON_AddItemToArray(documents, one);
    yaml_parser_delete(&parser);
    return got < 0 ? NULL : STEAL(documents);
}

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

// "2026-1-2", alone or with a time behind it.
static bool is_date(const char *s)
{
    size_t month, day;
    if (digits(s, 5) != 4 || s[4] != '-' || (month = digits(s += 5, 2)) == 0 || s[month] != '-' ||
        (day = digits(s += month + 1, 2)) == 0)
        return false;
    return !s[day] || (strchr("Tt ", s[day]) && isdigit((unsigned char)s[day + 1]));
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

// Would the text, written plain, be read as a number, a boolean, a date or nothing?
static bool reads_as_other(const char *s)
{
    AUTO_JSON *read_back = plain_scalar(s);
    return !*s || !cJSON_IsString(read_back) || one_of(s, infinities) || one_of(s, trues) ||
           one_of(s, falses) || is_date(s) || is_base_60(s);
}

// Does the text, written plain, look like a part of a document?
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

// May a line end stand for the space at p? In double quotes also for the first of several.
static bool can_break(const char *s, const char *p, char quote)
{
    if (*p != ' ' || p == s || p[-1] == ' ')
        return false;
    return quote == '"' ? p > s + 1 && p[1] && p[2] : p[1] && p[1] != ' ';
}

// Writes a text into lines of about 80 columns, as go-yaml does: the first space behind them
// becomes a line end. indent 0: the text stays whole.
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

// indent 0: it is a key. Prints it as a block, if it has several lines and its indentation can be
// recognised. Quotes are chosen as go-yaml does: double ones for what would be read as something
// else, or has escapes.
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
