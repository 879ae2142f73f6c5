// SPDX-License-Identifier: MIT
#include "base/json/json.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Integers that a double cannot hold. cJSON keeps numbers as doubles only, so the text is rewritten
// before cJSON sees it: such a value becomes a string that starts with a mark no valid text has
// (a raw 0xff), and afterwards that string becomes a cJSON_Raw item of the digits.
enum { EXACT_DIGITS = 15, MARK = 0xff };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool in_number(char c)
{
    return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

static bool is_blank(char c) // for cJSON
{
    return c > 0 && c <= ' ';
}

// 2^53 has 16 digits, too, and begins with a 9.
static bool is_exact(const char *digits, size_t n)
{
    return n <= EXACT_DIGITS || (n == EXACT_DIGITS + 1 && *digits < '9');
}

// If there is an integer at p (of n bytes) with more digits than a double keeps: its length, else
// 0. It also finds integers in the place of a name; cJSON then refuses those. *skip: the length of
// the number.
static size_t big_integer(const char *p, size_t n, size_t *skip)
{
    size_t i = p[0] == '-', first = i;
    while (i < n && is_digit(p[i]))
        i++;
    size_t after = i;
    bool is_big = !is_exact(p + first, i - first) && p[first] != '0';
    for (; i < n && in_number(p[i]); i++)
        is_big = false;
    *skip = i ? i : 1;
    if (!is_big)
        return 0;
    while (after < n && is_blank(p[after]))
        after++;
    bool is_name = after < n && p[after] == ':';
    return is_name ? 0 : i;
}

static void mark_big_integers(const char *text, size_t n, buf *out)
{
    size_t copied = 0;
    bool in_string = false;
    for (size_t i = 0; i < n;) {
        char c = text[i];
        size_t skip = 1;
        if (in_string) {
            if (c == '\\')
                skip = 2;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '-' || is_digit(c)) {
            size_t len = big_integer(text + i, n - i, &skip);
            if (len) {
                buf_add(out, text + copied, i - copied);
                buf_fmt(out, "\"%c%.*s\"", MARK, (int)len, text + i);
                copied = i + len;
            }
        }
        i += skip;
    }
    buf_add(out, text + copied, n - copied);
}

static void unmark(cJSON *j)
{
    for (; j; j = j->next) {
        if (cJSON_IsString(j) && (unsigned char)j->valuestring[0] == MARK) {
            memmove(j->valuestring, j->valuestring + 1, strlen(j->valuestring));
            j->type = (j->type & ~0xff) | cJSON_Raw;
        }
        unmark(j->child);
    }
}

static int place_error(const char *text, size_t at, const char *what, err *e)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column++;
        if (text[i] == '\n') {
            line++;
            column = 1;
        }
    }
    return err_set(e, ERR_INVALID, "not JSON: line %zu, column %zu: %s", line, column, what);
}

static size_t digits(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && is_digit(p[i]))
        i++;
    return i;
}

// Is the text at p, which looks like a number, a JSON number? cJSON also takes "01", "1." and "-.5"
// (RFC 8259, section 6).
static bool is_number(const char *p, size_t n)
{
    size_t i = *p == '-', whole = digits(p + i, n - i);
    if (whole == 0 || (whole > 1 && p[i] == '0'))
        return false;
    i += whole;
    if (i < n && p[i] == '.') {
        size_t part = digits(p + i + 1, n - i - 1);
        if (part == 0)
            return false;
        i += 1 + part;
    }
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i += 1 + (i + 1 < n && (p[i + 1] == '+' || p[i + 1] == '-'));
        size_t power = digits(p + i, n - i);
        if (power == 0)
            return false;
        i += power;
    }
    return i == n || !in_number(p[i]);
}

// A byte that needs no escape in a string.
static bool is_plain(signed char c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

// Makes the checks that cJSON lacks: valid UTF-8, no NUL or \u0000 (which would cut strings off),
// no control characters in strings, numbers as in RFC 8259, no more levels than unmark and print
// can follow. *big: is there an integer with more digits than a double keeps?
static int check_text(const char *text, size_t n, bool *big, err *e)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < n;) {
        char c = text[i];
        if (in_string && is_plain(c)) {
            i++;
            continue;
        }
        size_t len = (signed char)c > 0 ? 1 : utf8_len(text + i, n - i);
        if (!len || c == '\0')
            return place_error(text, i, len ? "a NUL byte" : "an invalid UTF-8 byte", e);
        if (in_string) {
            if (c == '\\') {
                if (n - i >= 6 && memcmp(text + i, "\\u0000", 6) == 0)
                    return place_error(text, i, "\\u0000 in a string", e);
                len = i + 1 < n && text[i + 1] != '\0' && !(text[i + 1] & 0x80) ? 2 : 1;
            } else if ((unsigned char)c < 0x20) {
                return place_error(text, i, "a control character in a string", e);
            }
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '-' || is_digit(c)) {
            if (!is_number(text + i, n - i))
                return place_error(text, i, "a number that JSON writes otherwise", e);
            *big |= big_integer(text + i, n - i, &len) > 0;
        } else if (c == '[' || c == '{') {
            if (++depth > 1000)
                return place_error(text, i, "nested more than 1000 deep", e);
        } else if ((c == ']' || c == '}') && depth) {
            depth--;
        }
        i += len;
    }
    return 0;
}

// Parses a copy that ends with a NUL. cJSON before 1.7.18 reads beyond a text without one
// (CVE-2023-53154), and reports only for such a text that it ends too early. *at: where the error
// is.
static cJSON *parse_copy(const buf *copy, size_t *at)
{
    const char *text = buf_cstr(copy), *end = text;
    cJSON *j = cJSON_ParseWithLengthOpts(text, copy->len + 1, &end, true);
    *at = (size_t)(end - text);
    return j;
}

cJSON *json_parse(const char *text, size_t n, err *e)
{
    bool big = false;
    if (check_text(text, n, &big, e) < 0)
        return NULL;
    AUTO_BUF copy = {0};
    if (big)
        mark_big_integers(text, n, &copy);
    else
        buf_add(&copy, text, n);
    size_t at;
    cJSON *j = parse_copy(&copy, &at);
    if (!j && big) { // the marks shifted the place: find it again in the original
        buf_clear(&copy);
        buf_add(&copy, text, n);
        cJSON_Delete(parse_copy(&copy, &at));
    }
    if (!j)
        place_error(
            text, at < n ? at : n, at < n ? "unexpected character" : "the text ends too early", e);
    else if (big)
        unmark(j);
    return j;
}

// Returns the length of the word at p that Python writes for a number and JSON lacks; 0: no such
// word stands there.
static size_t odd_word(const char *p, size_t n)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (n >= strlen(words[i]) && memcmp(p, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

// Returns the code unit that "\\uXXXX" at p stands for; -1: p has no such escape.
static long code_unit(const char *p, size_t n)
{
    char digits[5] = {0}, *end;
    if (n < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    memcpy(digits, p + 2, 4);
    long unit = strtol(digits, &end, 16);
    return *end || !isxdigit((unsigned char)*digits) ? -1 : unit;
}

// How many bytes of an escape at p to copy; *odd: it stands for no character.
static size_t escape_length(const char *p, size_t n, bool *odd)
{
    long unit = code_unit(p, n), next = unit < 0 ? -1 : code_unit(p + 6, n - 6);
    bool high = unit >= 0xd800 && unit < 0xdc00, low = unit >= 0xdc00 && unit < 0xe000;
    if (high && next >= 0xdc00 && next < 0xe000)
        return 12;
    *odd = unit == 0 || high || low;
    return unit >= 0 ? 6 : n < 2 ? n : 2;
}

// Returns whether there was anything to replace.
static bool replace_odd(const char *text, size_t n, buf *out)
{
    bool in_string = false, any = false;
    for (size_t i = 0, len; i < n; i += len) {
        char c = text[i];
        bool odd = false;
        len = 1;
        if (c == '"')
            in_string = !in_string;
        else if (in_string && c == '\\')
            len = escape_length(text + i, n - i, &odd);
        else if (!in_string && (c == 'N' || c == 'I' || c == '-') && odd_word(text + i, n - i))
            len = odd_word(text + i, n - i), odd = true;
        if (odd)
            buf_str(out, in_string ? UTF8_REPLACEMENT : "null");
        else
            buf_add(out, text + i, len);
        any |= odd;
    }
    return any;
}

cJSON *json_parse_python(const char *text, size_t n, err *e)
{
    err strict = {0};
    AUTO_BUF clean = {0};
    cJSON *j = json_parse(text, n, &strict);
    if (!j && replace_odd(text, n, &clean))
        j = json_parse(buf_cstr(&clean), clean.len, NULL);
    if (!j)
        err_give(e, &strict);
    return j;
}

// Where the list or object at the text's start ends; n: it is not closed.
static size_t value_end(const char *text, size_t n)
{
    size_t depth = 0, i;
    bool in_text = false;
    for (i = 0; i < n; i++) {
        char c = text[i];
        if (in_text && c == '\\')
            i++;
        else if (c == '"')
            in_text = !in_text;
        else if (!in_text && (c == '{' || c == '['))
            depth++;
        else if (!in_text && (c == '}' || c == ']') && (depth <= 1 || !--depth))
            return i + 1;
    }
    return n;
}

cJSON *json_parse_stream(const char *text, size_t n, err *e)
{
    AUTO_JSON *values = cJSON_CreateArray();
    for (size_t at = 0, len; at < n; at += len) {
        for (len = 0; at < n && is_blank(text[at]);)
            at++;
        if (at == n)
            break;
        len = value_end(text + at, n - at);
        cJSON *one = json_parse(text + at, len, e);
        if (!one)
            return NULL;
        cJSON_AddItemToArray(values, one);
    }
    return STEAL(values);
}

// How many bytes at s may stand in a string unescaped: a run of ASCII or one other character; or 0.
static size_t plain_length(const char *s, size_t n)
{
    size_t i = 0;
    if ((unsigned char)*s >= 0x80)
        return utf8_len(s, n);
    while (i < n && is_plain(s[i]) && s[i] != 0x7f)
        i++;
    return i;
}

static void print_escape(buf *out, unsigned char c)
{
    static const char names[] = "btn?fr";
    if (c >= 0x80) // not UTF-8
        buf_str(out, UTF8_REPLACEMENT);
    else if (c == '"' || c == '\\')
        buf_add(out, (char[]){'\\', (char)c}, 2);
    else if (c >= '\b' && c <= '\r' && c != '\v')
        buf_add(out, (char[]){'\\', names[c - '\b']}, 2);
    else
        buf_fmt(out, "\\u%04x", c);
}

// Writes only UTF-8, whatever the tree holds: JSON is UTF-8 (RFC 8259, 8.1), and readers refuse the
// whole text because of one wrong byte.
static void print_string(buf *out, const char *s)
{
    size_t n = strlen(s), from = 0;
    buf_reserve(out, n + 2);
    buf_char(out, '"');
    for (size_t i = 0; i < n;) {
        size_t length = plain_length(s + i, n - i);
        if (length) {
            i += length;
            continue;
        }
        buf_add(out, s + from, i - from);
        print_escape(out, (unsigned char)s[i]);
        from = ++i;
    }
    buf_add(out, s + from, n - from);
    buf_char(out, '"');
}

// A number of at most six decimals and 15 digits, such as a time in ms. Such decimals are what
// "%.15g" prints: the division rounds to the double nearest to them.
static bool print_decimals(buf *out, double value)
{
    double millionths = nearbyint(value * 1e6);
    if (fabs(value) < 1e-4 || fabs(millionths) >= 1e15 || millionths / 1e6 != value)
        return false;
    int64_t all = (int64_t)fabs(millionths), rest = all % 1000000;
    buf_str(out, value < 0 ? "-" : "");
    buf_int(out, all / 1000000);
    buf_char(out, '.');
    for (int64_t digit = 100000; rest; rest %= digit, digit /= 10)
        buf_char(out, (char)('0' + rest / digit));
    return true;
}

static void print_number(buf *out, double value)
{
    if (!isfinite(value)) { // JSON cannot express infinity and NaN
        buf_str(out, "null");
        return;
    }
    if (value == floor(value) && fabs(value) <= 9007199254740992.0) {
        buf_int(out, (int64_t)value);
        return;
    }
    if (print_decimals(out, value))
        return;
    char text[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_str(out, text);
}

struct printer {
    buf *out;
    int indent; // 0: on one line
    bool sorted;
};

static void new_line(const struct printer *p, int depth)
{
    if (p->indent)
        buf_fmt(p->out, "\n%*s", depth * p->indent, "");
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

const cJSON **json_sorted(const cJSON *object)
{
    size_t n = cJSON_IsObject(object) ? (size_t)cJSON_GetArraySize(object) : 0, i = 0;
    const cJSON **members = mem_array(n + 1, sizeof *members);
    for (const cJSON *item = n ? object->child : NULL; item; item = item->next)
        members[i++] = item;
    qsort(members, n, sizeof *members, by_key);
    return members;
}

void json_sort_members(cJSON *object)
{
    const cJSON **members = json_sorted(object);
    for (size_t i = 0; members[i]; i++) {
        cJSON *item = cJSON_DetachItemViaPointer(object, (cJSON *)members[i]);
        cJSON_AddItemToArray(object, item); // keeps its name
    }
    free(members);
}

void json_sort(cJSON *j)
{
    cJSON *item;
    cJSON_ArrayForEach(item, j) json_sort(item);
    json_sort_members(j);
}

static void print_value(const struct printer *p, const cJSON *j, int depth);

static void print_plainly(const struct printer *p, const cJSON *j, int depth)
{
    bool named = cJSON_IsObject(j);
    buf_char(p->out, named ? '{' : '[');
    for (const cJSON *item = j->child; item; item = item->next) {
        if (item != j->child)
            buf_char(p->out, ',');
        if (named) {
            print_string(p->out, item->string);
            buf_char(p->out, ':');
        }
        print_value(p, item, depth + 1);
    }
    buf_char(p->out, named ? '}' : ']');
}

static void print_members(const struct printer *p, const cJSON *j, int depth)
{
    size_t n = (size_t)cJSON_GetArraySize(j), i = 0;
    AUTO_FREE const cJSON **items = mem_array(n, sizeof *items);
    const cJSON *item;
    cJSON_ArrayForEach(item, j) items[i++] = item;
    if (p->sorted && cJSON_IsObject(j))
        qsort(items, n, sizeof *items, by_key);
    buf_char(p->out, cJSON_IsObject(j) ? '{' : '[');
    for (i = 0; i < n; i++) {
        if (i)
            buf_char(p->out, ',');
        new_line(p, depth + 1);
        if (cJSON_IsObject(j)) {
            print_string(p->out, items[i]->string);
            buf_str(p->out, p->indent ? ": " : ":");
        }
        print_value(p, items[i], depth + 1);
    }
    if (n)
        new_line(p, depth);
    buf_char(p->out, cJSON_IsObject(j) ? '}' : ']');
}

static void print_value(const struct printer *p, const cJSON *j, int depth)
{
    switch (j ? j->type & 0xff : cJSON_NULL) {
    case cJSON_True:
        buf_str(p->out, "true");
        break;
    case cJSON_False:
        buf_str(p->out, "false");
        break;
    case cJSON_Number:
        print_number(p->out, j->valuedouble);
        break;
    case cJSON_String:
        print_string(p->out, j->valuestring);
        break;
    case cJSON_Raw:
        buf_str(p->out, j->valuestring);
        break;
    case cJSON_Array:
    case cJSON_Object:
        if (p->indent || p->sorted)
            print_members(p, j, depth);
        else
            print_plainly(p, j, depth);
        break;
    default:
        buf_str(p->out, "null");
    }
}

void json_print(buf *out, const cJSON *j)
{
    print_value(&(struct printer){.out = out}, j, 0);
}

void json_print_canonical(buf *out, const cJSON *j)
{
    print_value(&(struct printer){.out = out, .sorted = true}, j, 0);
}

void json_print_pretty(buf *out, const cJSON *j, int indent)
{
    print_value(&(struct printer){.out = out, .indent = indent}, j, 0);
}

char *json_to_str(const cJSON *j)
{
    buf out = {0};
    json_print(&out, j);
    return buf_take(&out);
}

cJSON *json_new_int(int64_t value)
{
    if (value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53)
        return cJSON_CreateNumber((double)value);
    AUTO_FREE char *text = str_fmt("%lld", (long long)value);
    return cJSON_CreateRaw(text);
}

bool json_int(const cJSON *j, int64_t *value)
{
    if (cJSON_IsRaw(j))
        return str_to_int(j->valuestring, value);
    if (!cJSON_IsNumber(j) || j->valuedouble != floor(j->valuedouble) ||
        fabs(j->valuedouble) > 9007199254740992.0)
        return false;
    *value = (int64_t)j->valuedouble;
    return true;
}

bool json_number(const cJSON *j, double *value)
{
    if (cJSON_IsRaw(j))
        *value = strtod(j->valuestring, NULL);
    else if (cJSON_IsNumber(j))
        *value = j->valuedouble;
    return cJSON_IsRaw(j) || cJSON_IsNumber(j);
}

const cJSON *json_get(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_IsObject(object) ? object->child : NULL;
    while (item && !str_eq(item->string, key))
        item = item->next;
    return item;
}

// json_get with a key of n bytes.
static const cJSON *get_part(const cJSON *object, const char *key, size_t n)
{
    const cJSON *item = cJSON_IsObject(object) ? object->child : NULL;
    while (item && (*item->string != *key || strncmp(item->string, key, n) != 0 || item->string[n]))
        item = item->next;
    return item;
}

const cJSON *json_path(const cJSON *root, const char *path)
{
    while (root && *path) {
        if (*path == '[') {
            int index = atoi(path + 1);
            root = cJSON_IsArray(root) && index >= 0 ? cJSON_GetArrayItem(root, index) : NULL;
            path = strchrnul(path, ']');
            path += *path == ']';
        } else {
            size_t n = strcspn(path, ".[");
            root = get_part(root, path, n);
            path += n;
        }
        path += *path == '.';
    }
    return root;
}

const char *json_str(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(json_get(object, key));
}

const char *json_str_or(const cJSON *object, const char *key, const char *otherwise)
{
    const char *s = json_str(object, key);
    return s ? s : otherwise;
}

int64_t json_int_or(const cJSON *object, const char *key, int64_t otherwise)
{
    int64_t value;
    return json_int(json_get(object, key), &value) ? value : otherwise;
}

bool json_bool_or(const cJSON *object, const char *key, bool otherwise)
{
    const cJSON *j = json_get(object, key);
    return cJSON_IsBool(j) ? cJSON_IsTrue(j) : otherwise;
}

const char *json_path_str(const cJSON *root, const char *path)
{
    return cJSON_GetStringValue(json_path(root, path));
}

void json_put(cJSON *object, const char *key, bool lasts, cJSON *item)
{
    if (json_get(object, key)) {
        AUTO_FREE char *name = mem_strdup(key); // key may be the old item's name, freed first
        cJSON_ReplaceItemInObjectCaseSensitive(object, name, item);
    } else if (lasts) {
        cJSON_AddItemToObjectCS(object, key, item);
    } else {
        cJSON_AddItemToObject(object, key, item);
    }
}

void json_put_str(cJSON *object, const char *name, bool lasts, const char *value)
{
    if (value)
        json_put(object, name, lasts, cJSON_CreateString(value));
}

cJSON *json_object_at(cJSON *object, const char *key)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsObject(item)) {
        item = cJSON_CreateObject();
        json_set(object, key, item);
    }
    return item;
}

cJSON *json_array_at(cJSON *object, const char *key)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsArray(item)) {
        item = cJSON_CreateArray();
        json_set(object, key, item);
    }
    return item;
}

bool json_equal(const cJSON *a, const cJSON *b)
{
    AUTO_BUF left = {0}, right = {0};
    json_print_canonical(&left, a);
    json_print_canonical(&right, b);
    return left.len == right.len && memcmp(buf_cstr(&left), buf_cstr(&right), left.len) == 0;
}
