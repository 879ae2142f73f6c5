// SPDX-License-Identifier: MIT
#include "trainer/data/table/frame.h"

#include "base/mem.h"
#include "base/str.h"
#include "trainer/cpu/pool.h"
#include "trainer/data/crew.h"
#include "trainer/data/table/calendar.h"
#include "trainer/data/table/column.h"
#include "trainer/data/table/csv.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const kind_names[] = {
#define X(name, text) text,
    FRAME_KINDS(X)
#undef X
};

static const char *const missing_default[] = {"", "NA", "N/A", "#N/A", "#N/A N/A", "#NA", "<NA>",
    "n/a", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "None", "1.#IND", "-1.#IND", "1.#QNAN",
    "-1.#QNAN", NULL}; // pandas's

enum { CATEGORIES_MAX = 1 << 24, NUMBER_MAX = 64, DAY = 86400, TRIED = 16 };

int frame_kind_parse(const char *text, frame_kind *kind, err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_names); i++)
        if (strcmp(kind_names[i], text) == 0) {
            *kind = (frame_kind)i;
            return 0;
        }
    return err_set(
        e, ERR_USAGE, "unknown type \"%s\" (known: auto, category, date, datetime, number)", text);
}

const char *frame_kind_name(frame_kind kind)
{
    return kind_names[kind];
}

frame_column *frame_add(frame *f, const char *name, size_t n)
{
    if ((f->n & (f->n + 1)) == 0) // room for twice as many
        f->column = mem_resize(f->column, 2 * f->n + 1, sizeof *f->column);
    f->column[f->n] = (frame_column){.name = mem_strndup(name, n), .min = INFINITY};
    f->column[f->n].max = -INFINITY;
    return &f->column[f->n++];
}

void frame_add_category(frame_column *c, const char *text, size_t n)
{
    if (!c->codes)
        c->codes = hashmap_new();
    hashmap_set(c->codes, text, n, c->category_n);
    if ((c->category_n & (c->category_n + 1)) == 0) // room for twice as many
        c->categories = mem_resize(c->categories, 2 * c->category_n + 2, sizeof *c->categories);
    c->categories[c->category_n++] = mem_strndup(text, n);
    c->categories[c->category_n] = NULL;
}

void frame_done(frame *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->column[i].name);
        tensor_free(f->column[i].values);
        for (size_t k = 0; k < f->column[i].category_n; k++)
            free(f->column[i].categories[k]);
        free(f->column[i].categories);
        hashmap_free(f->column[i].codes);
    }
    free(f->column);
    free(f->note);
    *f = (frame){0};
}

double frame_std(const frame_column *c)
{
    return c->seen ? sqrt(c->squares / (double)c->seen) : 0;
}

static int64_t digits(const char *s, int n)
{
    int64_t value = 0;
    for (; n > 0; n--, s++) {
        if (!isdigit((unsigned char)*s))
            return -1;
        value = 10 * value + (*s - '0');
    }
    return value;
}

// False: the calendar has no such day.
static bool day_of(int64_t y, int64_t m, int64_t d, int64_t *days)
{
    static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (y < 0 || m < 1 || m > 12 || d < 1)
        return false;
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    if (d > length[m - 1] + (m == 2 && leap))
        return false;
    *days = calendar_days(y, m, d);
    return true;
}

bool frame_date(const char *s, size_t n, int64_t *days)
{
    return n == strlen("YYYY-MM-DD") && s[4] == '-' && s[7] == '-' &&
           day_of(digits(s, 4), digits(s + 5, 2), digits(s + 8, 2), days);
}

// The parts of a date and a time that a format reads.
struct moment {
    int64_t year, month, day, hour, minute, second, east; // east: seconds of the zone
};

// At most `most` digits at *at.
static bool take_digits(const char **at, const char *end, int least, int most, int64_t *out)
{
    int n = 0;
    *out = 0;
    for (; n < most && *at < end && isdigit((unsigned char)**at); n++)
        *out = 10 * *out + (*(*at)++ - '0');
    return n >= least;
}

// "Z", "+02:00", "+0200" or "+02".
static bool take_zone(const char **at, const char *end, struct moment *m)
{
    int64_t hours, minutes = 0;
    if (*at < end && (**at == 'Z' || **at == 'z'))
        return (*at)++, true;
    if (*at == end || (**at != '+' && **at != '-'))
        return false;
    int64_t sign = *(*at)++ == '-' ? -1 : 1;
    if (!take_digits(at, end, 2, 2, &hours) || hours > 14)
        return false;
    if (*at < end && **at == ':')
        (*at)++;
    if (*at < end && !take_digits(at, end, 2, 2, &minutes))
        return false;
    m->east = sign * (hours * 3600 + minutes * 60);
    return minutes < 60;
}

static bool take_month(const char **at, const char *end, struct moment *m)
{
    static const char *const months[] = {"january", "february", "march", "april", "may", "june",
        "july", "august", "september", "october", "november", "december"};
    for (int i = 0; i < 12; i++) {
        size_t n = strlen(months[i]), left = (size_t)(end - *at);
        size_t k = left >= n && strncasecmp(*at, months[i], n) == 0 ? n : 3;
        if (left < k || strncasecmp(*at, months[i], k) != 0)
            continue;
        *at += k;
        m->month = i + 1;
        return true;
    }
    return false;
}

static bool take_part(char part, const char **at, const char *end, struct moment *m, bool *clock)
{
    int64_t n;
    *clock |= strchr("HMSfz", part) != NULL;
    switch (part) {
    case 'Y':
        return take_digits(at, end, 4, 4, &m->year);
    case 'y': // as POSIX: 69 to 99 are of the last century
        return take_digits(at, end, 2, 2, &n) && (m->year = n + (n < 69 ? 2000 : 1900)) > 0;
    case 'm':
        return take_digits(at, end, 1, 2, &m->month);
    case 'd':
        return take_digits(at, end, 1, 2, &m->day);
    case 'H':
        return take_digits(at, end, 1, 2, &m->hour);
    case 'M':
        return take_digits(at, end, 1, 2, &m->minute);
    case 'S':
        return take_digits(at, end, 1, 2, &m->second);
    case 'f': // less than a second
        return take_digits(at, end, 1, 9, &n);
    case 'z':
        return take_zone(at, end, m);
    case 'b':
    case 'B':
        return take_month(at, end, m);
    default:
        return false;
    }
}

static bool take_format(
    const char *format, const char **at, const char *end, struct moment *m, bool *clock)
{
    for (; *format; format++) {
        if (*format != '%') {
            if (*at == end || *(*at)++ != *format)
                return false;
        } else if (*++format == '%' ? *at == end || *(*at)++ != '%'
                                    : !take_part(*format, at, end, m, clock))
            return false;
    }
    return true;
}

static bool take_iso(const char **at, const char *end, struct moment *m, bool *clock)
{
    const char *day = *at;
    if (end - day < 10 || day[4] != '-' || day[7] != '-' ||
        !take_format("%Y-%m-%d", at, end, m, clock) || *at != day + 10)
        return false;
    if (*at == end)
        return true;
    if (**at != ' ' && **at != 'T')
        return false;
    (*at)++;
    if (!take_format("%H:%M", at, end, m, clock))
        return false;
    if (*at < end && **at == ':' && !take_format(":%S", at, end, m, clock))
        return false;
    if (*at < end && **at == '.' && !take_format(".%f", at, end, m, clock))
        return false;
    return *at == end || take_zone(at, end, m);
}

bool frame_time(const char *s, size_t n, const char *format, int64_t *seconds, bool *clock)
{
    const char *at = s, *end = s + n;
    struct moment m = {.year = 1900, .month = 1, .day = 1};
    int64_t days;
    *clock = false;
    if (!format && frame_date(s, n, &days)) { // as nearly all are
        *seconds = days * DAY;
        return true;
    }
    if (!n || !isalnum((unsigned char)*s) ||
        !(format ? take_format(format, &at, end, &m, clock) : take_iso(&at, end, &m, clock)) ||
        at != end || m.hour > 23 || m.minute > 59 || m.second > 60)
        return false;
    if (!day_of(m.year, m.month, m.day, &days))
        return false;
    *seconds = days * DAY + m.hour * 3600 + m.minute * 60 + m.second - m.east;
    return true;
}

// A decimal of few digits without exponent, which needs no rounding but the one of the division
// (Clinger 1990, the fast path); false for any other text.
static bool short_decimal(const char *s, size_t n, double *value, bool *integer)
{
    static const double power[] = {
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    enum { DIGITS = 15 };
    size_t i = n && (s[0] == '-' || s[0] == '+'), count = 0, behind = 0;
    int64_t whole = 0;
    *integer = true;
    for (; i < n; i++) {
        if (s[i] == '.' && *integer) {
            *integer = false;
            continue;
        }
        if ((unsigned char)(s[i] - '0') > 9 || ++count > DIGITS)
            return false;
        whole = 10 * whole + (s[i] - '0');
        behind += !*integer;
    }
    *value = (double)whole / power[behind];
    *value = s[0] == '-' ? -*value : *value;
    return count > 0;
}

// An integer with so many digits that a double may not hold it, such as an identifier.
static bool long_integer(const char *text, int64_t *whole)
{
    char *end;
    const char *at = text + (text[0] == '-' || text[0] == '+');
    if (at[strspn(at, "0123456789")])
        return false;
    errno = 0;
    *whole = strtoll(text, &end, 10);
    return end > at && errno == 0;
}

// A number of a column; `whole` is the same if it is an integer of 64 bits.
struct number {
    double value;
    int64_t whole;
    bool integer;
    bool large; // an integer beyond 64 bits
};

// inf, -Infinity and the like, in any case of letters.
static bool infinity_of(const char *s, size_t n, double *value)
{
    size_t sign = s[0] == '-' || s[0] == '+';
    bool is = (n - sign == 3 && strncasecmp(s + sign, "inf", 3) == 0) ||
              (n - sign == 8 && strncasecmp(s + sign, "infinity", 8) == 0);
    *value = s[0] == '-' ? -INFINITY : INFINITY;
    return is;
}

// Rewrites the number without separators of thousands and with "." for the decimal point. False:
// the separators do not stand between groups of three digits, or the decimal point is another one.
static bool with_points(const frame_spec *o, const char *s, size_t n, char text[NUMBER_MAX])
{
    size_t out = 0, group = 0;
    bool grouped = false, behind = false;
    if (n >= NUMBER_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool decimal = s[i] == (o->decimal ? o->decimal : '.');
        bool digit = isdigit((unsigned char)s[i]);
        bool mark = o->thousands && s[i] == o->thousands && !behind;
        if (mark && (group < 1 || group > 3 || (grouped && group != 3)))
            return false;
        if (!mark && !digit && grouped && !behind && group != 3)
            return false;
        if (s[i] == '.' && !decimal && !mark)
            return false;
        behind |= !mark && !digit && group;
        group = mark ? 0 : group + digit;
        grouped |= mark;
        if (!mark)
            text[out++] = decimal ? '.' : s[i];
    }
    text[out] = 0;
    return !grouped || behind || group == 3;
}

// The number that is the whole text, without "0x" and the like; false: the text is no number.
static bool number_of(const frame_spec *o, const char *s, size_t n, struct number *out)
{
    char points[NUMBER_MAX];
    if (n && (o->thousands || o->decimal)) {
        if (!with_points(o, s, n, points))
            return false;
        s = points;
        n = strlen(points);
    }
    out->large = false;
    char text[NUMBER_MAX], *end = text;
    if (!n || n >= sizeof text)
        return false;
    if (short_decimal(s, n, &out->value, &out->integer)) {
        out->whole = out->integer ? (int64_t)out->value : 0;
        return true;
    }
    if (infinity_of(s, n, &out->value)) {
        out->integer = false;
        return true;
    }
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)s[i]) && (!s[i] || !strchr("+-.eE", s[i])))
            return false;
    memcpy(text, s, n);
    text[n] = 0;
    out->integer = long_integer(text, &out->whole);
    out->large = !out->integer && errno == ERANGE && !strpbrk(text, ".eE");
    out->value = strtod(text, &end);
    return end != text && *end == 0;
}

static void trim(csv_field *f)
{
    while (!f->quoted && f->n && (f->text[0] == ' ' || f->text[0] == '\t'))
        f->text++, f->n--;
    while (!f->quoted && f->n && (f->text[f->n - 1] == ' ' || f->text[f->n - 1] == '\t'))
        f->n--;
}

// `begins`: the possible first bytes of such a text; hardly any field begins with them.
static bool is_missing(const csv_field *f, const char *const *missing, const bool *begins)
{
    if (f->n && !begins[(unsigned char)f->text[0]])
        return false;
    for (; *missing; missing++)
        if (strlen(*missing) == f->n && memcmp(*missing, f->text, f->n) == 0)
            return true;
    return false;
}

static bool is_among(const csv_field *f, const char *const *words)
{
    for (; words && *words; words++)
        if (strlen(*words) == f->n && memcmp(*words, f->text, f->n) == 0)
            return true;
    return false;
}

// As pandas reads truth values.
static bool truth_of(const frame_spec *o, const csv_field *f, struct number *out)
{
    static const char *const yes[] = {"True", "TRUE", "true", NULL};
    static const char *const no[] = {"False", "FALSE", "false", NULL};
    bool is = is_among(f, yes) || is_among(f, o->yes);
    *out = (struct number){.value = is, .whole = is, .integer = true};
    return is || is_among(f, no) || is_among(f, o->no);
}

// What the fields of a column allow it to be.
struct guess {
    bool kept, number, integer, date;
    bool truth, large;      // all fields are truth values; one is an integer beyond 64 bits
    bool whole;             // all fields are integers of any size
    bool clock;             // one of its dates has a time
    size_t column;          // in the frame, if kept
    int64_t least, most;    // range of its integers, days or seconds
    size_t numbers, others; // number of fields that are numbers, and that are not
    size_t line, at;        // place of the first that is not a number; line 0: there is none
    char text[32];
};

// A block of records, whose columns other threads examine. The fields' texts are in `text`.
//
//   the owner's thread   reads block 2      reads block 3     …    and helps with what is left
//   helpers              columns of block 1 columns of block 2     a column has one thread at a
//   time
//
// So each column sees its fields in order, whichever thread examines it.
struct block {
    buf text;
    struct {
        size_t at, n, line, column;
        bool quoted;
    } * field;            // [records][kept]
    size_t records, from; // from: the row of the first
    int status;           // after it there are: 1: more records, 0: the end, -1: an error
    err error;
};

enum { BLOCK_RECORDS = 4096, BLOCK_FIELDS = 1 << 18, BLOCK_BYTES = 1 << 22, HELPERS_MAX = 7 };

struct reading {
    csv *in;
    const frame_spec *spec;
    frame *out;
    struct guess *guess; // for each field of a record
    size_t fields, rows, kept;
    const char *const *missing;
    bool begins[UCHAR_MAX + 1]; // one of the texts for a missing value begins with this byte
    struct block block[2];
    crew *crew; // from the second block on
};

static bool is_wanted(const frame_spec *spec, const char *name, size_t n)
{
    for (const char *const *only = spec->only; only && *only; only++)
        if (strlen(*only) == n && memcmp(*only, name, n) == 0)
            return true;
    return !spec->only;
}

static frame_column *find(const frame *f, const char *name, size_t n)
{
    for (size_t i = 0; f && i < f->n; i++)
        if (strlen(f->column[i].name) == n && memcmp(f->column[i].name, name, n) == 0)
            return &f->column[i];
    return NULL;
}

static void add_column(struct reading *r, const char *name, size_t n)
{
    if ((r->fields & (r->fields + 1)) == 0) // room for twice as many
        r->guess = mem_resize(r->guess, 2 * r->fields + 1, sizeof *r->guess);
    struct guess *g = &r->guess[r->fields++];
    *g = (struct guess){.kept = is_wanted(r->spec, name, n),
        .number = true,
        .integer = true,
        .date = true,
        .truth = true,
        .whole = true,
        .column = r->out->n,
        .least = INT64_MAX,
        .most = INT64_MIN};
    if (!g->kept)
        return;
    const frame_column *known = find(r->spec->known, name, n);
    frame_column *c = frame_add(r->out, name, n);
    r->kept++;
    c->kind = known ? known->kind : FRAME_AUTO;
    c->fixed = known && known->fixed;
    for (size_t i = 0; c->fixed && i < known->category_n; i++)
        frame_add_category(c, known->categories[i], strlen(known->categories[i]));
}

static int not_utf8(const struct reading *r, const csv_field *f, err *e)
{
    return csv_wrong(
        r->in, f, e, "this text is not UTF-8: encoding = \"latin-1\" or \"cp1252\" reads it");
}

// For a file without names: as many columns as the first record has fields.
static void number_names(struct reading *r)
{
    for (size_t i = 0; i < csv_fields(r->in); i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        add_column(r, name, strlen(name));
    }
}

// The first record's names.
static int take_names(struct reading *r, hashmap *seen, err *e)
{
    for (size_t i = 0; i < csv_fields(r->in); i++) {
        csv_field f = csv_get(r->in, i);
        trim(&f);
        if (memchr(f.text, 0, f.n))
            return csv_wrong(r->in, &f, e, "a name with a NUL");
        if (!utf8_valid(f.text, f.n))
            return not_utf8(r, &f, e);
        if (!f.n && i && i + 1 == csv_fields(r->in) && !f.quoted)
            break; // lines end with a separator
        if (hashmap_get(seen, f.text, f.n, &(size_t){0}))
            return csv_wrong(r->in, &f, e, "two columns have the name \"%.*s\"", (int)f.n, f.text);
        add_column(r, f.text, f.n);
        if (r->guess[i].kept)
            hashmap_set(seen, f.text, f.n, i);
    }
    return 0;
}

static int read_names(struct reading *r, err *e)
{
    for (const char *const *name = r->spec->names; name && *name; name++)
        add_column(r, *name, strlen(*name));
    int status = r->spec->names ? 1 : csv_next(r->in, e);
    if (status == 0)
        return err_set(e, ERR_INVALID, "the file is empty");
    if (status > 0 && r->spec->headless && !r->spec->names)
        number_names(r);
    else if (status > 0 && !r->spec->names) {
        hashmap *seen = hashmap_new();
        status = take_names(r, seen, e);
        hashmap_free(seen);
    }
    if (status < 0)
        return -1;
    for (const char *const *only = r->spec->only; only && *only; only++)
        if (!find(r->out, *only, strlen(*only)))
            return err_set(e, ERR_USAGE, "there is no column \"%s\"", *only);
    return 0;
}

// Checks that there is one field for each column. One more field may follow if it is empty: a
// separator at the end of each line makes it.
static bool fits(const struct reading *r)
{
    size_t n = csv_fields(r->in);
    if (n != r->fields + 1)
        return n == r->fields;
    csv_field last = csv_get(r->in, r->fields);
    return !last.n && !last.quoted;
}

static int wrong_count(const struct reading *r, err *e)
{
    size_t have = csv_fields(r->in);
    csv_field f = csv_get(r->in, have > r->fields ? r->fields : have - 1);
    return csv_wrong(
        r->in, &f, e, "this record has %zu fields, but there are %zu columns", have, r->fields);
}

typedef int (*visit_fn)(
    const struct reading *r, struct guess *g, const csv_field *f, size_t row, err *e);

static void add_record(const struct reading *r, struct block *b)
{
    size_t at = b->records++ * r->kept;
    for (size_t i = 0; i < r->fields; i++) {
        csv_field f = csv_get(r->in, i);
        if (!r->guess[i].kept)
            continue;
        trim(&f);
        b->field[at].at = b->text.len;
        b->field[at].n = f.n;
        b->field[at].line = f.line;
        b->field[at].column = f.column;
        b->field[at++].quoted = f.quoted;
        buf_add(&b->text, f.text, f.n);
    }
}

static int no_room(const struct reading *r, err *e)
{
    return err_set(e, ERR_LIMIT, "no memory for records of %zu columns", r->kept);
}

// A block of a wide table has fewer records.
static size_t block_records(const struct reading *r)
{
    size_t most = BLOCK_FIELDS / (r->kept + 1);
    return most < 1 ? 1 : most < BLOCK_RECORDS ? most : BLOCK_RECORDS;
}

static void read_block(struct reading *r, struct block *b)
{
    size_t most = block_records(r);
    buf_clear(&b->text);
    b->records = 0;
    b->from = r->rows;
    if (!b->field && !(b->field = mem_try_array(most * (r->kept + 1), sizeof *b->field))) {
        b->status = no_room(r, &b->error);
        return;
    }
    do {
        b->status = csv_next(r->in, &b->error);
        if (b->status > 0 && !fits(r))
            b->status = wrong_count(r, &b->error);
        if (b->status > 0)
            add_record(r, b);
    } while (b->status > 0 && b->records < most && b->text.len < BLOCK_BYTES);
    r->rows += b->records;
}

// The columns of a block, each a task.
struct looking {
    const struct reading *r;
    const struct block *b;
    visit_fn visit;
    struct {
        size_t field, record; // its number in the file; where it failed
        err error;
    } * column; // [kept]
};

static void look_at_column(void *ctx, size_t i)
{
    struct looking *l = ctx;
    const struct block *b = l->b;
    size_t k = 0;
    for (; k < b->records; k++) {
        size_t at = k * l->r->kept + i;
        csv_field f = {.text = buf_cstr(&b->text) + b->field[at].at,
            .n = b->field[at].n,
            .quoted = b->field[at].quoted,
            .line = b->field[at].line,
            .column = b->field[at].column};
        struct guess *g = &l->r->guess[l->column[i].field];
        if (l->visit(l->r, g, &f, b->from + k, &l->column[i].error) < 0)
            break;
    }
    l->column[i].record = k;
}

// The error that comes first in the file, if there is one.
static int first_error(const struct looking *l, err *e)
{
    size_t first = l->b->records;
    for (size_t i = 0; i < l->r->kept; i++)
        if (l->column[i].record < first) {
            first = l->column[i].record;
            err_give(e, &l->column[i].error);
        }
    return first < l->b->records ? -1 : 0;
}

static void start_crew(struct reading *r)
{
    int helpers = pool_cores() - 1;
    if (!r->crew)
        r->crew = crew_new(helpers > HELPERS_MAX ? HELPERS_MAX : helpers);
}

// Calls `visit` for each kept field of each record from here on, column by column.
static int each_field(struct reading *r, visit_fn visit, err *e)
{
    struct block *here = &r->block[0], *next = &r->block[1];
    struct looking l = {.r = r, .visit = visit};
    int status = 0;
    l.column = mem_try_array(r->kept + 1, sizeof *l.column);
    if (!l.column)
        return no_room(r, e);
    for (size_t i = 0, k = 0; i < r->fields; i++)
        if (r->guess[i].kept)
            l.column[k++].field = i;
    r->rows = 0;
    read_block(r, here);
    for (bool more = true; more && status == 0;) {
        l.b = here;
        more = here->status > 0;
        if (more) {
            start_crew(r);
            crew_begin(r->crew, r->kept, look_at_column, &l);
            read_block(r, next);
            crew_end(r->crew);
        } else
            for (size_t i = 0; i < r->kept; i++)
                look_at_column(&l, i);
        status = first_error(&l, e);
        if (status == 0 && here->status < 0) {
            err_give(e, &here->error);
            status = -1;
        }
        struct block *last = here;
        here = next;
        next = last;
    }
    free(l.column);
    return status;
}

static int wrong_field(const struct reading *r, const frame_column *c, const csv_field *f, err *e)
{
    AUTO_FREE char *text = mem_strndup(f->text, f->n);
    return csv_wrong(r->in, f, e, "\"%s\" is no %s, as column \"%s\" has", str_short(text, 40).text,
        kind_names[c->kind], c->name);
}

static bool is_time(frame_kind kind)
{
    return kind == FRAME_DATE || kind == FRAME_DATETIME;
}

static void note(struct guess *g, int64_t value)
{
    g->least = value < g->least ? value : g->least;
    g->most = value > g->most ? value : g->most;
}

static int look(const struct reading *r, struct guess *g, const csv_field *f, size_t row, err *e)
{
    struct number number = {0}, truth = {0};
    int64_t at = 0;
    bool clock = false;
    frame_column *c = &r->out->column[g->column];
    if (is_missing(f, r->missing, r->begins)) {
        c->missing++;
        return 0;
    }
    c->seen++;
    bool open = c->kind == FRAME_AUTO, wanted = c->kind == FRAME_NUMBER || open;
    // Of a column of texts few fields are tried.
    bool tried = wanted && (g->number || g->others < TRIED + g->numbers / 8);
    bool is_number = tried && number_of(r->spec, f->text, f->n, &number);
    bool is_truth = wanted && !is_number && (g->truth || !open) && truth_of(r->spec, f, &truth);
    g->truth = g->truth && is_truth;
    g->number = g->number && (is_number || (is_truth && !open));
    g->integer = g->integer && (is_truth || (is_number && number.integer));
    g->large |= is_number && number.large;
    g->whole = g->whole && is_number && (number.integer || number.large);
    g->numbers += is_number;
    g->others += !is_number;
    if (open && !is_number && !g->line) {
        g->line = f->line;
        g->at = f->column;
        str_shorten(
            g->text, f->text, f->n, false, sizeof g->text - sizeof STR_CUT, sizeof g->text - 1);
    }
    g->date = g->date && (open || is_time(c->kind)) && !is_number &&
              frame_time(f->text, f->n, r->spec->date_format, &at, &clock);
    g->clock |= clock;
    if (g->integer || g->date)
        note(g, g->integer ? is_truth ? truth.whole : number.whole : at);
    if ((c->kind == FRAME_NUMBER && !g->number) || (is_time(c->kind) && !g->date) ||
        (c->kind == FRAME_DATE && clock))
        return wrong_field(r, c, f, e);
    return 0;
}

// Warns of columns that are numbers except for a few fields: somebody may have expected numbers.
static void tell_few(struct reading *r, const struct guess *g, const frame_column *c)
{
    AUTO_BUF text = {0}, shown = {0};
    size_t others = c->seen - g->numbers;
    if (c->kind != FRAME_CATEGORY || !g->line || g->numbers < 2 * others || g->numbers < 2 ||
        (others > 1 && others > c->seen / 10))
        return;
    utf8_clean(&shown, g->text, strlen(g->text));
    buf_fmt(&text,
        "%s%zu:%zu: \"%s\" is no number, so column \"%s\" is of categories, though %zu of its %zu "
        "fields are numbers: give it as missing, or types = { … = \"category\" }\n",
        r->out->note ? r->out->note : "", g->line, g->at, buf_cstr(&shown), c->name, g->numbers,
        c->seen);
    free(r->out->note);
    r->out->note = mem_strndup(buf_cstr(&text), text.len);
}

// The kind of a column for which none was given.
static frame_kind kind_of(const struct guess *g, const frame_column *c)
{
    if (!c->seen || (g->number && !(g->large && g->whole)) || g->truth)
        return FRAME_NUMBER;
    if (!g->date || (g->clock && c->missing)) // there is no number for a missing time
        return FRAME_CATEGORY;
    return g->clock ? FRAME_DATETIME : FRAME_DATE;
}

static size_t kept_rows(const struct reading *r)
{
    size_t size = r->spec->size > 1 ? (size_t)r->spec->size : 1;
    size_t rank = size > 1 ? (size_t)r->spec->rank : 0;
    return r->rows > rank ? (r->rows - rank + size - 1) / size : 0;
}

// Called after the first pass: the kinds and the number of rows are known.
static int decide(struct reading *r, err *e)
{
    r->out->rows = kept_rows(r);
    for (size_t i = 0; i < r->fields; i++) {
        struct guess *g = &r->guess[i];
        frame_column *c = &r->out->column[g->column];
        if (!g->kept)
            continue;
        bool open = c->kind == FRAME_AUTO;
        c->kind = open ? kind_of(g, c) : c->kind;
        if (open)
            tell_few(r, g, c);
        if (c->kind == FRAME_DATETIME && c->missing)
            return err_set(e, ERR_INVALID,
                "column \"%s\" has %zu missing times, for which no number stands: read it as a "
                "category, or fill them",
                c->name, c->missing);
        bool whole = c->kind == FRAME_CATEGORY ||
                     (!c->missing && c->seen && (is_time(c->kind) || g->integer));
        int64_t unit = c->kind == FRAME_DATE ? DAY : 1;
        tensor_type integers =
            c->kind == FRAME_CATEGORY ? TENSOR_U8 : column_type(g->least / unit, g->most / unit);
        c->values = tensor_new(whole ? integers : TENSOR_F32, 1, &r->out->rows, e);
        c->seen = 0;
        if (!c->values)
            return -1;
    }
    return 0;
}

static int64_t code_of(const struct reading *r, frame_column *c, const csv_field *f, err *e)
{
    size_t at;
    if (c->codes && hashmap_get(c->codes, f->text, f->n, &at))
        return (int64_t)at + 1;
    if (c->fixed)
        return 0;
    if (memchr(f->text, 0, f->n))
        return csv_wrong(r->in, f, e, "a category with a NUL");
    if (!utf8_valid(f->text, f->n))
        return not_utf8(r, f, e);
    if (c->category_n == CATEGORIES_MAX)
        return csv_wrong(
            r->in, f, e, "column \"%s\" has more than %d categories", c->name, CATEGORIES_MAX);
    frame_add_category(c, f->text, f->n);
    return (int64_t)c->category_n;
}

static void measure(frame_column *c, double v)
{
    double off = v - c->mean; // Welford 1962
    c->seen++;
    c->mean += off / (double)c->seen;
    c->squares += off * (v - c->mean);
    c->min = fmin(c->min, v);
    c->max = fmax(c->max, v);
}

static int keep(const struct reading *r, struct guess *g, const csv_field *f, size_t at, err *e)
{
    frame_column *c = &r->out->column[g->column];
    size_t size = r->spec->size > 1 ? (size_t)r->spec->size : 1, row = at / size;
    bool here = size == 1 || at % size == (size_t)r->spec->rank;
    bool none = is_missing(f, r->missing, r->begins);
    struct number v = {.value = NAN};
    if (row >= r->out->rows && here)
        return csv_wrong(r->in, f, e, "the file grew while it was read");
    if (c->kind == FRAME_CATEGORY) {
        v.whole = none ? 0 : code_of(r, c, f, e);
        if (v.whole < 0)
            return -1;
    } else if (!none) {
        bool clock;
        if (is_time(c->kind) ? !frame_time(f->text, f->n, r->spec->date_format, &v.whole, &clock)
                             : !number_of(r->spec, f->text, f->n, &v) && !truth_of(r->spec, f, &v))
            return wrong_field(r, c, f, e);
        v.whole /= c->kind == FRAME_DATE ? DAY : 1;
        v.value = is_time(c->kind) ? (double)v.whole : v.value;
        measure(c, v.value);
    }
    if (here && c->values->type != TENSOR_F32)
        return column_set(&c->values, row, v.whole, e);
    if (here)
        ((float *)c->values->data)[row] = (float)v.value;
    return 0;
}

typedef csv *(*open_fn)(void *ctx, const csv_format *format, err *e);

static int read_twice(open_fn open, void *ctx, struct reading *r, err *e)
{
    int status = 0;
    csv_format format = {
        r->spec->separator, r->spec->comment, r->spec->skip, (csv_encoding)r->spec->encoding};
    for (int pass = 0; pass < 2 && status == 0; pass++) {
        r->in = open(ctx, &format, e);
        if (!r->in)
            return -1;
        bool headless = r->spec->headless && !r->spec->names;
        if (pass == 0)
            status = read_names(r, e);
        if (pass == 0 && status == 0 && headless) { // its first record is data
            csv_close(r->in);
            if (!(r->in = open(ctx, &format, e)))
                return -1;
        }
        if (pass == 0 && status == 0)
            status = each_field(r, look, e) < 0 || decide(r, e) < 0 ? -1 : 0;
        else if (pass == 0)
            status = -1;
        else
            status = (!r->spec->names && !headless && csv_next(r->in, e) < 0) ||
                             each_field(r, keep, e) < 0
                         ? -1
                         : 0;
        csv_close(r->in);
    }
    if (status == 0 && kept_rows(r) != r->out->rows)
        return err_set(e, ERR_INVALID, "the file changed while it was read");
    return status;
}

static int read_frame(open_fn open, void *ctx, const frame_spec *spec, frame *out, err *e)
{
    *out = (frame){0};
    struct reading r = {.spec = spec, .out = out};
    r.missing = spec->missing ? spec->missing : missing_default;
    for (const char *const *m = r.missing; *m; m++)
        r.begins[(unsigned char)**m] = true;
    int status = read_twice(open, ctx, &r, e);
    crew_free(r.crew);
    for (int i = 0; i < 2; i++) {
        buf_done(&r.block[i].text);
        free(r.block[i].field);
    }
    free(r.guess);
    return status;
}

static csv *open_path(void *ctx, const csv_format *format, err *e)
{
    return csv_open(ctx, format, e);
}

int frame_read(const char *path, const frame_spec *spec, frame *out, err *e)
{
    ERR_GUARD(e);
    if (read_frame(open_path, (void *)path, spec, out, e) == 0)
        return 0;
    bool named = strstr(e->text, path) != NULL;
    return named ? -1 : err_wrap(e, "%s", path);
}

struct span {
    const void *bytes;
    size_t n;
};

static csv *open_span(void *ctx, const csv_format *format, err *e)
{
    const struct span *s = ctx;
    return csv_over(s->bytes, s->n, format);
}

int frame_parse(const void *bytes, size_t n, const frame_spec *spec, frame *out, err *e)
{
    return read_frame(open_span, &(struct span){bytes, n}, spec, out, e);
}
