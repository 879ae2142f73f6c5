// SPDX-License-Identifier: MIT
#include "trainer/serve/body.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Depths of brackets: 1 in the request, 2 in the list of inputs, 3 in an input, 4 in its data.
enum { IN_REQUEST = 1, IN_INPUTS = 2, IN_INPUT = 3, IN_DATA = 4 };
enum {
    FRAME_MOST = 64 << 10,
    INPUTS_MOST = 64,
    WORD_MOST = 1000, // characters of a number
    FLOATS_FIRST = 256,
    EXACT_POWER = 22, // 10^22 is the greatest power of ten that a double holds exactly
};
static const size_t nowhere = SIZE_MAX;

// The data of one input. The first value of each kind is kept for errors, which need the input's
// name, known only later.
struct data {
    float *at;
    size_t n, room;
    buf texts;
    size_t first_text, first_number, first_fraction, first_great, low_at, high_at;
    double low, high;
    char great[40];
    // Lists may be flat or nested, but not ragged: length[d] is the length of each list at depth d
    // + 1.
    size_t depth, deepest, leaf, count[TENSOR_MAX_DIMS], length[TENSOR_MAX_DIMS];
    size_t first_ragged;
};

enum expects { VALUE, VALUE_OR_END, COMMA_OR_END };

struct body {
    buf frame, word; // word: a number or a text of data that is incomplete so far
    cJSON *tree;
    size_t seen, begun; // bytes before this piece, and before the last value of data
    // Of the frame.
    size_t depth, string; // where the last string begins in the frame
    char kind[IN_INPUT + 1];
    bool in_string, escaped, has_escapes, is_inputs, in_inputs, is_data, has_data;
    // Of data.
    bool reading;
    enum expects expects;
    size_t datas;
    struct data *data;
};

body *body_new(void)
{
    return mem_alloc(sizeof(body));
}

void body_free(body *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->datas; i++) {
        free(b->data[i].at);
        buf_done(&b->data[i].texts);
    }
    free(b->data);
    buf_done(&b->frame);
    buf_done(&b->word);
    cJSON_Delete(b->tree);
    free(b);
}

size_t body_held(const body *b)
{
    size_t held = sizeof *b + b->datas * sizeof *b->data + b->frame.cap + b->word.cap;
    for (size_t i = 0; i < b->datas; i++)
        held += b->data[i].room * sizeof(float) + b->data[i].texts.cap;
    return held;
}

static int fail(size_t at, const char *what, err *e)
{
    return err_set(e, ERR_INVALID, "not JSON: byte %zu: %s", at + 1, what);
}

// Numbers.

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// RFC 8259, section 6: a number has no other form.
struct decimal {
    bool negative, whole; // whole: without a fraction and a power
    uint64_t digits;      // without its point, if that is exact
    int power;            // of ten
    bool exact;           // digits and power say all
};

static size_t read_digits(const char *p, const char *end, struct decimal *d, int step)
{
    size_t n = 0;
    for (; p + n < end && is_digit(p[n]); n++) {
        if (d->digits > (UINT64_MAX - 9) / 10)
            d->exact = false;
        else if (d->exact)
            d->digits = d->digits * 10 + (uint64_t)(p[n] - '0');
        d->power += d->exact ? step : 0;
    }
    return n;
}

static bool read_power(const char **p, const char *end, struct decimal *d)
{
    int power = 0;
    size_t n = 0;
    bool down = *p < end && **p == '-';
    *p += down || (*p < end && **p == '+');
    for (; *p + n < end && is_digit((*p)[n]); n++)
        power = power < 10000 ? power * 10 + (*p)[n] - '0' : power;
    *p += n;
    d->power += down ? -power : power;
    d->whole = false;
    return n > 0;
}

static bool read_decimal(const char *p, size_t length, struct decimal *d)
{
    const char *end = p + length;
    *d = (struct decimal){.negative = p < end && *p == '-', .whole = true, .exact = true};
    p += d->negative;
    size_t n = read_digits(p, end, d, 0);
    if (n == 0 || (n > 1 && *p == '0'))
        return false;
    p += n;
    if (p < end && *p == '.') {
        d->whole = false;
        p++;
        n = read_digits(p, end, d, -1);
        if (n == 0)
            return false;
        p += n;
    }
    if (p < end && (*p == 'e' || *p == 'E') && (p++, !read_power(&p, end, d)))
        return false;
    return p == end;
}

// The nearest double. The quotient or product of two exact doubles is exact, except for its one
// rounding; longer numbers are parsed by strtod. word ends with a NUL.
static double value_of(const struct decimal *d, const char *word)
{
    static const double powers[EXACT_POWER + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
        1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!d->exact || d->digits > UINT64_C(1) << 53 || d->power > EXACT_POWER ||
        d->power < -EXACT_POWER)
        return strtod(word, NULL);
    double value = (double)d->digits;
    value = d->power < 0 ? value / powers[-d->power] : value * powers[d->power];
    return d->negative ? -value : value;
}

static int grow(struct data *d, err *e)
{
    size_t room = d->room ? 2 * d->room : FLOATS_FIRST;
    float *more = realloc(d->at, room * sizeof *more);
    if (!more)
        return err_set(e, ERR_LIMIT, "there is no memory for %zu numbers", room);
    d->at = more;
    d->room = room;
    return 0;
}

static void note(size_t *first, size_t here)
{
    *first = *first == nowhere ? here : *first;
}

// Adds a value. All values must be equally deep.
static void count_value(struct data *d)
{
    d->leaf = d->leaf ? d->leaf : d->depth;
    if (d->leaf != d->depth)
        note(&d->first_ragged, d->n);
    d->count[d->depth - 1]++;
    d->n++;
}

static void note_range(struct data *d, double value)
{
    if (value < d->low) {
        d->low = value;
        d->low_at = d->n;
    }
    if (value > d->high) {
        d->high = value;
        d->high_at = d->n;
    }
}

static int add_number(
    struct data *d, double value, bool whole, const char *word, size_t length, err *e)
{
    if (d->n == d->room && grow(d, e) < 0)
        return -1;
    float f = (float)value;
    note(&d->first_number, d->n);
    if (!isfinite(f) && d->first_great == nowhere) {
        d->first_great = d->n;
        snprintf(d->great, sizeof d->great, "%.*s", (int)length, word);
    }
    if (!whole && value != floor(value))
        note(&d->first_fraction, d->n);
    note_range(d, value);
    if (d->first_text == nowhere) // otherwise it is wrong already
        d->at[d->n] = f;
    count_value(d);
    return 0;
}

static bool is_word(const char *word, size_t n, const char *text)
{
    return strlen(text) == n && memcmp(word, text, n) == 0;
}

// The other characters between two marks of data, except texts; a number must not continue after
// them.
static int add_word(body *b, const char *word, size_t n, err *e)
{
    struct data *d = &b->data[b->datas - 1];
    struct decimal number;
    b->expects = COMMA_OR_END;
    if (n > WORD_MOST)
        return fail(b->begun, "a number has up to 1000 characters", e);
    if (is_word(word, n, "true") || is_word(word, n, "false"))
        return add_number(d, *word == 't', true, word, n, e);
    if (is_word(word, n, "null")) {
        note(&d->first_text, d->n); // not a number either: reported when the input's name is known
        count_value(d);
        return 0;
    }
    if (!read_decimal(word, n, &number))
        return fail(b->begun, "that is no number", e);
    return add_number(d, value_of(&number, word), number.whole, word, n, e);
}

static int add_text(body *b, err *e)
{
    struct data *d = &b->data[b->datas - 1];
    AUTO_JSON *text = json_parse(b->word.data, b->word.len, e);
    buf_clear(&b->word);
    b->expects = COMMA_OR_END;
    if (!text)
        return err_wrap(e, "the text from byte %zu on", b->begun + 1);
    buf_add(&d->texts, text->valuestring, strlen(text->valuestring) + 1);
    note(&d->first_text, d->n);
    count_value(d);
    return 0;
}

// Data. Each function takes bytes from p[*i] on, and moves *i after them.

static bool is_of_word(char c)
{
    return is_digit(c) || c == '.' || c == '-' || c == '+' || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

static int take_word(body *b, const char *p, size_t n, size_t *i, err *e)
{
    size_t from = *i;
    while (*i < n && is_of_word(p[*i]))
        ++*i;
    if (*i < n && !b->word.len)
        return add_word(b, p + from, *i - from, e);
    buf_add(&b->word, p + from, *i - from);
    if (*i == n && b->word.len <= WORD_MOST)
        return 0; // the next piece may continue it
    int status = add_word(b, b->word.data, b->word.len, e);
    buf_clear(&b->word);
    return status;
}

static int take_text(body *b, const char *p, size_t n, size_t *i, err *e)
{
    size_t from = *i;
    for (; *i < n && b->in_string; ++*i) {
        b->in_string = b->escaped || p[*i] != '"';
        b->escaped = !b->escaped && p[*i] == '\\';
    }
    buf_add(&b->word, p + from, *i - from);
    return b->in_string ? 0 : add_text(b, e);
}

static int begin_list(body *b, size_t i, err *e)
{
    struct data *d = &b->data[b->datas - 1];
    if (d->depth == TENSOR_MAX_DIMS)
        return fail(b->seen + i, "data is nested deeper than a shape can be", e);
    if (d->depth > 0)
        d->count[d->depth - 1]++;
    if (d->leaf && d->depth >= d->leaf)
        note(&d->first_ragged, d->n);
    d->count[d->depth++] = 0;
    d->deepest = d->depth > d->deepest ? d->depth : d->deepest;
    b->expects = VALUE_OR_END;
    return 0;
}

static void end_list(body *b)
{
    struct data *d = &b->data[b->datas - 1];
    size_t count = d->count[--d->depth], *length = &d->length[d->depth];
    note(length, count);
    if (count != *length)
        note(&d->first_ragged, d->n);
    b->expects = COMMA_OR_END;
    if (d->depth > 0)
        return;
    b->reading = false;
    b->depth--;
    buf_char(&b->frame, ']');
}

static int take_mark(body *b, const char *p, size_t n, size_t *i, err *e)
{
    char c = p[*i];
    bool value_may_come = b->expects != COMMA_OR_END;
    b->begun = b->seen + *i;
    if (c == ',' && b->expects == COMMA_OR_END) {
        b->expects = VALUE;
    } else if (c == ']' && b->expects != VALUE) {
        end_list(b);
    } else if (c == '[' && value_may_come) {
        if (begin_list(b, *i, e) < 0)
            return -1;
    } else if (c == '"' && value_may_come) {
        buf_char(&b->word, c);
        b->in_string = true;
    } else if (is_of_word(c) && value_may_come) {
        return take_word(b, p, n, i, e);
    } else {
        return fail(b->seen + *i, c == '{' ? "data has no objects" : "that is out of place", e);
    }
    ++*i;
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static int take_data(body *b, const char *p, size_t n, size_t *i, err *e)
{
    while (*i < n && b->reading) {
        int status = 0;
        if (b->in_string)
            status = take_text(b, p, n, i, e);
        else if (b->word.len)
            status = take_word(b, p, n, i, e);
        else if (is_blank(p[*i]))
            ++*i;
        else
            status = take_mark(b, p, n, i, e);
        if (status < 0)
            return -1;
    }
    return 0;
}

// The frame.

static int begin_data(body *b, size_t i, err *e)
{
    if (b->has_data)
        return err_set(e, ERR_INVALID, "an input has data twice");
    if (b->datas == INPUTS_MOST)
        return err_set(e, ERR_INVALID, "a request has up to %d inputs", INPUTS_MOST);
    b->data = mem_resize(b->data, b->datas + 1, sizeof *b->data);
    struct data *d = &b->data[b->datas++];
    *d = (struct data){.first_text = nowhere,
        .first_number = nowhere,
        .first_fraction = nowhere,
        .first_great = nowhere,
        .first_ragged = nowhere,
        .low = INFINITY,
        .high = -INFINITY};
    for (size_t k = 0; k < TENSOR_MAX_DIMS; k++)
        d->length[k] = nowhere;
    b->has_data = b->reading = true;
    buf_fmt(&b->frame, "%zu", b->datas - 1);
    return begin_list(b, i, e);
}

static int open_bracket(body *b, char c, size_t i, err *e)
{
    bool listed = c == '[';
    b->depth++;
    if (b->depth <= IN_INPUT)
        b->kind[b->depth] = c;
    if (listed && b->depth == IN_INPUTS)
        b->in_inputs = b->kind[IN_REQUEST] == '{' && b->is_inputs;
    if (b->depth == IN_INPUT)
        b->has_data = b->is_data = false;
    if (listed && b->depth == IN_DATA && b->in_inputs && b->kind[IN_INPUT] == '{' && b->is_data)
        return begin_data(b, i, e);
    return 0;
}

static void close_bracket(body *b)
{
    b->depth -= b->depth > 0;
    if (b->depth < IN_INPUTS)
        b->in_inputs = false;
}

static bool is_key(const body *b, const char *name)
{
    const char *key = b->frame.data + b->string;
    return is_word(key, strcspn(key, "\""), name);
}

// Data is found by its key, so the key must be written in one way only.
static int note_key(body *b, err *e)
{
    bool looked_at = b->depth == IN_REQUEST || (b->depth == IN_INPUT && b->in_inputs);
    if (looked_at && b->has_escapes)
        return err_set(e, ERR_INVALID, "the names of a request's members have no escapes (\\)");
    if (b->depth == IN_REQUEST)
        b->is_inputs = is_key(b, "inputs");
    else if (b->depth == IN_INPUT)
        b->is_data = is_key(b, "data");
    return 0;
}

static int take_of_frame(body *b, char c, size_t i, err *e)
{
    buf_char(&b->frame, c);
    if (b->in_string) {
        b->in_string = b->escaped || c != '"';
        b->escaped = !b->escaped && c == '\\';
        b->has_escapes = b->has_escapes || b->escaped;
        return 0;
    }
    if (c == '"') {
        b->in_string = true;
        b->has_escapes = false;
        b->string = b->frame.len;
    } else if (c == '[' || c == '{') {
        return open_bracket(b, c, i, e);
    } else if (c == ']' || c == '}') {
        close_bracket(b);
    } else if (c == ':') {
        return note_key(b, e);
    } else if (c == ',') {
        b->is_inputs = b->is_inputs && b->depth != IN_REQUEST;
        b->is_data = b->is_data && b->depth != IN_INPUT;
    }
    return 0;
}

int body_feed(body *b, const char *bytes, size_t n, err *e)
{
    for (size_t i = 0; i < n;) {
        if (b->reading) {
            if (take_data(b, bytes, n, &i, e) < 0)
                return -1;
            continue;
        }
        if (b->frame.len >= FRAME_MOST)
            return err_set(
                e, ERR_INVALID, "besides its data a request has up to %d KiB", FRAME_MOST >> 10);
        if (take_of_frame(b, bytes[i], i, e) < 0)
            return -1;
        i++;
    }
    b->seen += n;
    return 0;
}

static int check_twice(const cJSON *object, err *e)
{
    AUTO_FREE const cJSON **members = json_sorted(object);
    for (size_t i = 1; members[0] && members[i]; i++)
        if (str_eq(members[i]->string, members[i - 1]->string))
            return err_set(e, ERR_INVALID, "%s is given twice", members[i]->string);
    return 0;
}

int body_end(body *b, err *e)
{
    if (b->reading)
        return fail(b->seen, "it ends within data", e);
    b->tree = json_parse(b->frame.data, b->frame.len, e);
    if (!b->tree)
        return b->datas ? err_wrap(e, "around its data") : -1;
    const cJSON *input, *inputs = json_get(b->tree, "inputs");
    if (check_twice(b->tree, e) < 0)
        return -1;
    cJSON_ArrayForEach(input, inputs) if (check_twice(input, e) < 0) return -1;
    return 0;
}

const cJSON *body_frame(const body *b)
{
    return b->tree;
}

// Inputs.

static const struct type {
    const char *name;
    bool whole;
    double low, high;
} types[] = {{"FP32", false, 0, 0}, {"FP64", false, 0, 0}, {"FP16", false, 0, 0},
    {"BOOL", true, 0, 1}, {"INT8", true, INT8_MIN, INT8_MAX}, {"INT16", true, INT16_MIN, INT16_MAX},
    {"INT32", true, INT32_MIN, INT32_MAX}, {"INT64", true, -0x1p63, 0x1p63},
    {"UINT8", true, 0, UINT8_MAX}, {"UINT16", true, 0, UINT16_MAX}, {"UINT32", true, 0, UINT32_MAX},
    {"UINT64", true, 0, 0x1p64}};

struct shape {
    int dims;
    size_t size[TENSOR_MAX_DIMS], count;
};

const char *body_name(const cJSON *input, err *e)
{
    const char *name = json_str(input, "name");
    if (!name)
        err_set(e, ERR_INVALID, "an input has no name");
    return name;
}

bool body_is_text(const cJSON *input)
{
    return str_eq(json_str(input, "datatype"), "BYTES");
}

static int read_shape(const cJSON *input, const char *name, struct shape *s, err *e)
{
    const cJSON *list = json_get(input, "shape");
    *s = (struct shape){.count = 1};
    for (const cJSON *j = list ? list->child : NULL; j; j = j->next) {
        int64_t size;
        if (s->dims == TENSOR_MAX_DIMS || !json_int(j, &size) || size < 1 ||
            __builtin_mul_overflow(s->count, (size_t)size, &s->count))
            return err_set(e, ERR_INVALID, "input %s: shape is a list of up to %d sizes from 1 on",
                name, TENSOR_MAX_DIMS);
        s->size[s->dims++] = (size_t)size;
    }
    return s->dims ? 0 : err_set(e, ERR_INVALID, "input %s has no shape", name);
}

// "[0]" in the frame stands for data 0. NULL with e: there is no data, or it has another shape.
static const struct data *find_data(
    const body *b, const cJSON *input, const char *name, const struct shape *s, err *e)
{
    const cJSON *list = json_get(input, "data");
    if (!cJSON_IsArray(list) || !list->child) {
        err_set(e, ERR_INVALID, "input %s has no data", name);
        return NULL;
    }
    const struct data *d = &b->data[list->child->valueint];
    if (d->n != s->count) {
        err_set(e, ERR_INVALID, "input %s: its shape asks for %zu values, data has %zu", name,
            s->count, d->n);
        return NULL;
    }
    return d;
}

// The data may be flat, or nested like the shape; the innermost lists may have several of its
// dimensions.
static int check_nesting(const struct data *d, const char *name, const struct shape *s, err *e)
{
    AUTO_BUF have = {0}, want = {0};
    size_t last = s->count, levels = d->leaf;
    bool fits = levels <= (size_t)s->dims;
    if (d->first_ragged != nowhere || d->deepest != d->leaf)
        return err_set(e, ERR_INVALID,
            "input %s: data is ragged: its lists differ in length or depth, first at value %zu",
            name, d->first_ragged == nowhere ? 0 : d->first_ragged);
    for (size_t k = 0; k + 1 < levels && fits; k++) {
        fits = d->length[k] == s->size[k];
        last /= s->size[k];
    }
    if (fits && d->length[levels - 1] == last)
        return 0;
    shape_text((int)levels, d->length, &have);
    shape_text(s->dims, s->size, &want);
    return err_set(e, ERR_INVALID, "input %s: data is nested as %s, its shape is %s", name,
        buf_cstr(&have), buf_cstr(&want));
}

static int wrong(const char *name, const struct shape *s, size_t at, const char *what, err *e)
{
    return err_set(e, ERR_INVALID, "input %s: number %zu of data (row %zu) %s", name, at,
        at / (s->count / s->size[0]), what);
}

static int check_numbers(
    const struct data *d, const struct type *type, const char *name, const struct shape *s, err *e)
{
    AUTO_BUF what = {0};
    if (d->first_text != nowhere)
        return wrong(name, s, d->first_text, "is no number", e);
    bool above = d->high > type->high;
    size_t at = above ? d->high_at : d->low_at;
    if (type->whole && (above || d->low < type->low))
        buf_fmt(&what, "is %.9g, beyond %s", above ? d->high : d->low, type->name);
    else if (type->whole && (at = d->first_fraction) != nowhere)
        buf_fmt(&what, "is %.9g, no %s", (double)d->at[at], type->name);
    else if ((at = d->first_great) != nowhere)
        buf_fmt(&what, "is %s, beyond FP32", d->great);
    return what.len ? wrong(name, s, at, buf_cstr(&what), e) : 0;
}

static const struct type *type_of(const cJSON *input, const char *name, err *e)
{
    const char *type = json_str(input, "datatype");
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_eq(type, types[i].name))
            return &types[i];
    err_set(e, ERR_INVALID, "input %s: datatype is one of FP32, FP64, INT64, …, not %s", name,
        type ? type : "missing");
    return NULL;
}

tensor *body_take_tensor(body *b, const cJSON *input, err *e)
{
    struct shape s;
    const char *name = body_name(input, e);
    const struct type *type = name ? type_of(input, name, e) : NULL;
    if (!type || read_shape(input, name, &s, e) < 0)
        return NULL;
    const struct data *found = find_data(b, input, name, &s, e);
    if (!found)
        return NULL;
    if (s.dims < 2) {
        err_set(e, ERR_INVALID,
            "input %s: shape is the number of rows, then the sizes of a row; it has %d", name,
            s.dims);
        return NULL;
    }
    if (check_nesting(found, name, &s, e) < 0 || check_numbers(found, type, name, &s, e) < 0)
        return NULL;
    struct data *d = &b->data[found - b->data];
    tensor *t = tensor_over(TENSOR_F32, s.dims, s.size, d->at, free, d->at, e);
    if (t) {
        d->at = NULL;
        d->n = d->room = 0;
    }
    return t;
}

const char *body_texts(const body *b, const cJSON *input, size_t *n, err *e)
{
    struct shape s;
    const char *name = body_name(input, e);
    const struct data *d =
        name && read_shape(input, name, &s, e) == 0 ? find_data(b, input, name, &s, e) : NULL;
    if (!d || check_nesting(d, name, &s, e) < 0)
        return NULL;
    if (d->first_number != nowhere) {
        err_set(e, ERR_INVALID, "input %s: value %zu of data is no text", name, d->first_number);
        return NULL;
    }
    *n = d->n;
    return buf_cstr(&d->texts);
}
