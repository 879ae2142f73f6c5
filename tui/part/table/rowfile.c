// SPDX-License-Identifier: MIT
#include "tui/part/table/rowfile.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/part/table/roworder.h"
#include "tui/part/table/rowtext.h"
#include "tui/part/table/tablevalue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STRIDE = 64,      // rows between two places that are kept
    WINDOW = 1 << 20, // bytes that are read at once; of a longer row the rest is not shown
    FIRST_ROWS = 1000,
    AHEAD = 2 * ROWTEXT_QUOTED, // bytes in which a row's quotes are judged
    AT_ONCE = 256,              // rows between two looks at the clock
    LONGEST_ENTRY = 250         // columns on the screen
};

struct row { // one that is parsed
    uint64_t number;
    bool known;
    buf words;     // entries, each with its NUL
    size_t *at;    // where each begins, of n_columns
    uint64_t next; // where the row after it begins
};
struct rowfile {
    int fd;
    enum rowfile_kind kind;
    char separator;
    bool growing, ended; // ended: all rows are found
    uint64_t size, seen; // seen: the file's bytes whose rows are found
    char **names;
    int n_columns;
    int *widths;
    bool *numbers;
    char *window; // bytes of the file from `from` on
    uint64_t from;
    size_t in_window;
    uint64_t *places; // of rows 0, STRIDE, 2 STRIDE, …
    size_t room;
    uint64_t total;
    struct row row;
    struct tablefilter filter;
    bool filters;
    uint32_t *passed; // rows that pass
    size_t n_passed, passed_room;
    uint64_t filtered; // rows that were looked at
    int sort;
    bool reverse;
    roworder *order;  // NULL: none, or not begun
    uint64_t weighed; // rows that are in it
};

bool rowfile_kind_of(const char *path, enum rowfile_kind *kind)
{
    static const struct {
        const char *end;
        enum rowfile_kind kind;
    } ends[] = {{".csv", ROWFILE_CSV}, {".tsv", ROWFILE_TSV}, {".tab", ROWFILE_TSV},
        {".jsonl", ROWFILE_JSONL}, {".ndjson", ROWFILE_JSONL}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < ARRAY_LEN(ends); i++)
        if (strcasecmp(dot, ends[i].end) == 0) {
            *kind = ends[i].kind;
            return true;
        }
    return false;
}

// Bytes of the file.

// The file's bytes from `at` on, at least `least` of them if the file has so many; their number in
// *n. Valid until the next call.
static const char *bytes_at(rowfile *f, uint64_t at, size_t least, size_t *n)
{
    bool there = at >= f->from && at + least <= f->from + f->in_window;
    if (!there) {
        f->from = at;
        f->in_window = 0;
        while (f->in_window < WINDOW) {
            ssize_t got = pread(
                f->fd, f->window + f->in_window, WINDOW - f->in_window, (off_t)(at + f->in_window));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                break;
            f->in_window += (size_t)got;
        }
    }
    size_t skip = (size_t)(at - f->from);
    *n = f->in_window > skip ? f->in_window - skip : 0;
    return f->window + skip;
}

static enum rowtext_kind text_kind(const rowfile *f)
{
    return f->kind == ROWFILE_JSONL ? ROWTEXT_LINE : ROWTEXT_CSV;
}

// The row's bytes, and where the next one begins. false: there is none, or not all of it is there
// yet. A row that is longer than the window ends with it.
static bool find_row(rowfile *f, uint64_t at, const char **text, size_t *n, uint64_t *next)
{
    size_t there;
    *text = bytes_at(f, at, AHEAD, &there);
    if (!there || (f->growing && there < AHEAD))
        return false;
    size_t used = rowtext_end(*text, there, text_kind(f), f->separator);
    if (used == SIZE_MAX && there < WINDOW) { // its end may stand behind the window
        *text = bytes_at(f, at, WINDOW, &there);
        used = rowtext_end(*text, there, text_kind(f), f->separator);
    }
    if (used != SIZE_MAX) {
        *n = used;
        *next = at + used;
        return true;
    }
    if (there < WINDOW && f->growing)
        return false;
    *n = there;
    *next = at + there;
    while (there == WINDOW) { // up to its end, which is not shown
        const char *more = bytes_at(f, *next, 1, &there), *end = memchr(more, '\n', there);
        *next += end ? (uint64_t)(end - more) + 1 : there;
        if (end)
            break;
    }
    *text = bytes_at(f, at, *n, &there);
    *n = *n < there ? *n : there;
    return true;
}

static bool is_blank(const char *text, size_t n)
{
    return n == 0 || (n == 1 && (*text == '\n' || *text == '\r')) || (n == 2 && *text == '\r');
}

// Entries of a row.

static void add_json(const cJSON *value, buf *out)
{
    if (!value || cJSON_IsNull(value))
        return;
    AUTO_FREE char *words =
        cJSON_IsString(value) ? mem_strdup(value->valuestring) : json_to_str(value);
    buf_str(out, words);
}

static void end_entry(rowfile *f, int i, size_t from)
{
    struct row *r = &f->row;
    AUTO_BUF words = {0};
    buf_add(&words, buf_cstr(&r->words) + from, r->words.len - from);
    tablevalue_clean(&words);
    r->words.len = from;
    r->at[i] = from;
    buf_add(&r->words, buf_cstr(&words), words.len + 1);
}

static void parse_json(rowfile *f, const char *text, size_t n)
{
    AUTO_JSON *json = json_parse(text, n, NULL);
    for (int i = 0; i < f->n_columns; i++) {
        size_t from = f->row.words.len;
        const cJSON *value = cJSON_IsObject(json)  ? json_get(json, f->names[i])
                             : cJSON_IsArray(json) ? cJSON_GetArrayItem(json, i)
                             : i == 0              ? json
                                                   : NULL;
        if (i == 0 && !json) // no JSON: as it stands
            buf_add(&f->row.words, text, n - (n && text[n - 1] == '\n'));
        else
            add_json(value, &f->row.words);
        end_entry(f, i, from);
    }
}

static void parse_csv(rowfile *f, const char *text, size_t n)
{
    size_t at = 0;
    for (int i = 0; i < f->n_columns; i++) {
        size_t from = f->row.words.len;
        rowtext_field(text, n, &at, f->separator, &f->row.words);
        end_entry(f, i, from);
    }
}

static uint64_t place_of(rowfile *f, uint64_t number)
{
    uint64_t at = f->places[number / STRIDE], next;
    const char *text;
    size_t n;
    if (f->row.known && f->row.number < number && number - f->row.number <= number % STRIDE) {
        at = f->row.next;
        for (uint64_t left = number - f->row.number - 1; left && find_row(f, at, &text, &n, &next);
             at = next)
            left -= !is_blank(text, n);
        return at;
    }
    for (uint64_t left = number % STRIDE; left && find_row(f, at, &text, &n, &next); at = next)
        left -= !is_blank(text, n);
    return at;
}

static void parse_row(rowfile *f, uint64_t number)
{
    const char *text = "";
    size_t n = 0;
    uint64_t next = 0;
    if (f->row.known && f->row.number == number)
        return;
    uint64_t at = place_of(f, number);
    while (find_row(f, at, &text, &n, &next) && is_blank(text, n))
        at = next;
    buf_clear(&f->row.words);
    if (f->kind == ROWFILE_JSONL)
        parse_json(f, text, n);
    else
        parse_csv(f, text, n);
    f->row.number = number;
    f->row.next = next;
    f->row.known = true;
}

static const char *entry_of(const rowfile *f, int i)
{
    return f->row.words.data + f->row.at[i];
}

// Looking for rows.

static void keep_place(rowfile *f, uint64_t at)
{
    size_t i = (size_t)(f->total / STRIDE);
    if (i == f->room) {
        f->room = f->room ? 2 * f->room : 64;
        f->places = mem_resize(f->places, f->room, sizeof *f->places);
    }
    f->places[i] = at;
}

static void look_up_size(rowfile *f)
{
    struct stat s;
    if (fstat(f->fd, &s) == 0 && s.st_size > 0)
        f->size = (uint64_t)s.st_size;
}

// false: no further row is there.
static bool find_next(rowfile *f)
{
    const char *text;
    size_t n;
    uint64_t next;
    if (f->total == UINT32_MAX || !find_row(f, f->seen, &text, &n, &next)) {
        f->ended = !f->growing;
        return false;
    }
    if (!is_blank(text, n)) {
        if (f->total % STRIDE == 0)
            keep_place(f, f->seen);
        f->total++;
    }
    f->seen = next;
    return true;
}

static bool look(rowfile *f, int64_t until)
{
    for (int i = 0; !f->ended; i++) {
        if (i % AT_ONCE == AT_ONCE - 1 && clock_mono() >= until)
            return true;
        if (!find_next(f))
            return false;
    }
    return false;
}

// Filter.

static void entry_for_filter(const void *f, int column, buf *out)
{
    buf_str(out, entry_of(f, column));
}

static void pass(rowfile *f, uint64_t number)
{
    if (f->n_passed == f->passed_room) {
        f->passed_room = f->passed_room ? 2 * f->passed_room : 64;
        f->passed = mem_resize(f->passed, f->passed_room, sizeof *f->passed);
    }
    f->passed[f->n_passed++] = (uint32_t)number;
}

static bool filter(rowfile *f, int64_t until)
{
    while (f->filters && f->filtered < f->total) {
        if (f->filtered % AT_ONCE == 0 && clock_mono() >= until)
            return true;
        parse_row(f, f->filtered);
        if (tablefilter_passes(&f->filter, f->n_columns, entry_for_filter, f))
            pass(f, f->filtered);
        f->filtered++;
    }
    return false;
}

// Order.

static size_t base_count(const rowfile *f)
{
    return f->filters ? f->n_passed : (size_t)f->total;
}

static bool sort(rowfile *f, int64_t until)
{
    if (f->sort < 0 || !f->ended)
        return false;
    if (!f->order)
        f->order = roworder_new(base_count(f), f->reverse);
    for (; f->weighed < base_count(f); f->weighed++) {
        if (f->weighed % AT_ONCE == 0 && clock_mono() >= until)
            return true;
        parse_row(f, f->filters ? f->passed[f->weighed] : f->weighed);
        roworder_add(f->order, (uint32_t)f->row.number, entry_of(f, f->sort));
    }
    return roworder_work(f->order, until);
}

bool rowfile_work(rowfile *f, int64_t until)
{
    return look(f, until) || filter(f, until) || sort(f, until);
}

bool rowfile_looking(const rowfile *f)
{
    bool sorted =
        f->sort < 0 || (f->order && f->weighed == base_count(f) && roworder_done(f->order));
    return !f->ended || (f->filters && f->filtered < f->total) || !sorted;
}

static int percent(uint64_t part, uint64_t whole)
{
    return whole ? (int)((double)part / (double)whole * 100) : 100;
}

void rowfile_say(const rowfile *f, buf *out)
{
    if (!rowfile_looking(f))
        return;
    if (!f->ended && f->growing)
        buf_str(out, "being read");
    else if (!f->ended)
        buf_fmt(out, "%d%% read", percent(f->seen, f->size));
    else if (f->filters && f->filtered < f->total)
        buf_fmt(out, "%d%% filtered", percent(f->filtered, f->total));
    else
        buf_fmt(out, "sorting %d%%",
            f->order ? percent(f->weighed, base_count(f)) / 2 + roworder_percent(f->order) / 2 : 0);
}

// Questions.

int rowfile_columns(const rowfile *f)
{
    return f->n_columns;
}

const char *rowfile_column(const rowfile *f, int i)
{
    return f->names[i];
}

bool rowfile_is_right(const rowfile *f, int i)
{
    return f->numbers[i];
}

void rowfile_measure(const rowfile *f, struct table_column *out)
{
    for (int i = 0; i < f->n_columns; i++)
        out[i] = (struct table_column){.width = f->widths[i]};
}

uint64_t rowfile_total(const rowfile *f)
{
    return f->total;
}

static bool is_ordered(const rowfile *f)
{
    return f->order && f->weighed == base_count(f) && roworder_done(f->order);
}

size_t rowfile_count(const rowfile *f)
{
    return base_count(f);
}

uint64_t rowfile_number(const rowfile *f, size_t row)
{
    return is_ordered(f) ? roworder_at(f->order, row) : f->filters ? f->passed[row] : row;
}

static void note_width(rowfile *f, int i, const char *words)
{
    size_t n = strlen(words);
    if (f->widths[i] >= LONGEST_ENTRY || n <= (size_t)f->widths[i])
        return;
    int w = text_width(words, n, 0);
    w = w < LONGEST_ENTRY ? w : LONGEST_ENTRY;
    f->widths[i] = w > f->widths[i] ? w : f->widths[i];
}

void rowfile_entry(rowfile *f, size_t row, int i, buf *out)
{
    if (row >= rowfile_count(f) || i >= f->n_columns)
        return;
    parse_row(f, rowfile_number(f, row));
    note_width(f, i, entry_of(f, i));
    buf_str(out, entry_of(f, i));
}

static const char *name_of(const void *f, int i)
{
    return rowfile_column(f, i);
}

static void forget_order(rowfile *f)
{
    roworder_free(STEAL(f->order));
    f->weighed = 0;
}

void rowfile_filter(rowfile *f, const char *words)
{
    tablefilter_set(&f->filter, words, &(struct tablefilter_columns){f, f->n_columns, name_of});
    f->filters = !tablefilter_is_empty(&f->filter);
    f->filtered = f->n_passed = 0;
    forget_order(f);
}

const struct tablefilter *rowfile_filtered(const rowfile *f)
{
    return &f->filter;
}

void rowfile_sort(rowfile *f, int column, bool reverse)
{
    f->sort = column < f->n_columns ? column : -1;
    f->reverse = reverse;
    forget_order(f);
}

int rowfile_sorted(const rowfile *f, bool *reverse)
{
    *reverse = f->reverse;
    return f->sort;
}

void rowfile_ended(rowfile *f)
{
    f->growing = false;
    look_up_size(f);
}

// Opening.

static void add_name(rowfile *f, const char *name, size_t n)
{
    AUTO_BUF words = {0};
    if (f->n_columns == TABLE_COLUMNS)
        return;
    buf_add(&words, name, n);
    tablevalue_clean(&words);
    f->names = mem_resize(f->names, (size_t)f->n_columns + 1, sizeof *f->names);
    f->names[f->n_columns++] = mem_strdup(buf_cstr(&words));
}

static void read_names(rowfile *f)
{
    const char *text;
    size_t n, at = 0;
    uint64_t next = f->seen;
    AUTO_BUF name = {0};
    if (!find_row(f, f->seen, &text, &n, &next))
        return;
    while (at <= n && f->n_columns < TABLE_COLUMNS) {
        buf_clear(&name);
        bool more = rowtext_field(text, n, &at, f->separator, &name);
        add_name(f, buf_cstr(&name), name.len);
        if (!more)
            break;
    }
    f->seen = next;
}

static bool has_name(const rowfile *f, const char *name)
{
    for (int i = 0; i < f->n_columns; i++)
        if (str_eq(f->names[i], name))
            return true;
    return false;
}

// The members of the first rows, in the order in which they come.
static void find_members(rowfile *f)
{
    uint64_t at = f->seen, next;
    const char *text;
    size_t n;
    for (int i = 0; i < FIRST_ROWS && find_row(f, at, &text, &n, &next); i++, at = next) {
        AUTO_JSON *json = json_parse(text, n, NULL);
        const cJSON *item;
        int k = 0;
        cJSON_ArrayForEach(item, json)
        {
            AUTO_FREE char *number = item->string ? NULL : str_fmt("%d", ++k);
            const char *name = item->string ? item->string : number;
            if (!has_name(f, name))
                add_name(f, name, strlen(name));
        }
    }
    if (!f->n_columns)
        add_name(f, "value", strlen("value"));
}

// Columns have the widths of the first rows; those with numbers alone stand at the right.
static void look_at_first(rowfile *f)
{
    double ignored;
    size_t n = (size_t)f->n_columns;
    f->widths = mem_array(n + 1, sizeof *f->widths);
    f->numbers = mem_array(n + 1, sizeof *f->numbers);
    f->row.at = mem_array(n + 1, sizeof *f->row.at);
    AUTO_FREE bool *others = mem_array(n + 1, sizeof *others);
    for (int i = 0; i < f->n_columns; i++)
        note_width(f, i, f->names[i]);
    while (f->total < FIRST_ROWS && find_next(f))
        continue;
    for (uint64_t k = 0; k < f->total; k++) {
        parse_row(f, k);
        for (int i = 0; i < f->n_columns; i++) {
            const char *words = entry_of(f, i);
            note_width(f, i, words);
            bool is = tablevalue_worth(words, &ignored);
            f->numbers[i] = f->numbers[i] || is;
            others[i] = others[i] || (*words && !is);
        }
    }
    for (int i = 0; i < f->n_columns; i++)
        f->numbers[i] = f->numbers[i] && !others[i];
}

static int check_file(rowfile *f, const char *path, err *e)
{
    static const char mark[] = "\xEF\xBB\xBF";
    struct stat s;
    size_t n;
    if (fstat(f->fd, &s) < 0)
        return err_errno(e, errno, "%s", path);
    if (!S_ISREG(s.st_mode))
        return err_set(e, ERR_USAGE, "%s is no file", path);
    f->size = (uint64_t)s.st_size;
    const char *text = bytes_at(f, 0, 1, &n);
    if (memchr(text, '\0', n < 4096 ? n : 4096))
        return err_set(e, ERR_INVALID,
            "%s is no text in UTF-8; a compressed or binary table is unpacked first", path);
    f->seen = n >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    f->separator = f->kind == ROWFILE_TSV   ? '\t'
                   : f->kind == ROWFILE_CSV ? rowtext_separator(text + f->seen, n - (size_t)f->seen)
                                            : '\0';
    return 0;
}

rowfile *rowfile_open(const char *path, enum rowfile_kind kind, bool growing, err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        err_errno(e, errno, "%s", path);
        return NULL;
    }
    rowfile *f = mem_alloc(sizeof *f);
    *f = (rowfile){.fd = fd, .kind = kind, .growing = growing, .sort = -1};
    f->window = mem_array(WINDOW, 1);
    if (check_file(f, path, e) < 0) {
        rowfile_free(f);
        return NULL;
    }
    if (kind == ROWFILE_JSONL)
        find_members(f);
    else
        read_names(f);
    look_at_first(f);
    return f;
}

void rowfile_free(rowfile *f)
{
    if (!f)
        return;
    close(f->fd);
    for (int i = 0; i < f->n_columns; i++)
        free(f->names[i]);
    free(f->names);
    free(f->widths);
    free(f->numbers);
    free(f->window);
    free(f->places);
    buf_done(&f->row.words);
    free(f->row.at);
    tablefilter_done(&f->filter);
    free(f->passed);
    roworder_free(f->order);
    free(f);
}
