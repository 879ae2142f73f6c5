// SPDX-License-Identifier: MIT
#include "trainer/data/table/csv.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

enum { PIECE = 1 << 16, FIELDS_MAX = 1 << 20, RECORD_MAX = 1 << 28 };

// A field's text is a part of the record's bytes.
struct place {
    size_t at, n, line, column;
    bool quoted;
};

struct csv {
    char *name;
    gzFile file; // NULL: from memory
    const uint8_t *bytes;
    size_t n, at;
    uint8_t *piece; // the piece of the file in memory
    bool ended;
    uint8_t separator, comment; // comment: if there is none, a line end
    bool stops[UINT8_MAX + 1];  // which bytes end a field that is not quoted
    csv_encoding encoding;
    size_t skip;         // lines
    size_t line, column; // of the next byte
    buf text;
    struct place *field;
    size_t fields, room;
};

bool csv_encoding_parse(const char *name, csv_encoding *encoding)
{
    static const struct {
        const char *name;
        csv_encoding encoding;
    } known[] = {{"utf-8", CSV_UTF8}, {"utf8", CSV_UTF8}, {"utf-8-sig", CSV_UTF8},
        {"ascii", CSV_UTF8}, {"latin-1", CSV_LATIN1}, {"latin1", CSV_LATIN1},
        {"iso-8859-1", CSV_LATIN1}, {"cp1252", CSV_CP1252}, {"windows-1252", CSV_CP1252}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcasecmp(known[i].name, name) == 0) {
            *encoding = known[i].encoding;
            return true;
        }
    return false;
}

static csv *new_csv(const csv_format *format)
{
    csv *c = mem_alloc(sizeof *c);
    c->separator = format->separator ? (uint8_t)format->separator : ',';
    c->comment = format->comment ? (uint8_t)format->comment : '\n';
    c->encoding = format->encoding;
    c->skip = format->skip;
    c->stops['\n'] = c->stops['\r'] = c->stops[c->separator] = c->stops[c->comment] = true;
    c->line = c->column = 1;
    return c;
}

csv *csv_open(const char *path, const csv_format *format, err *e)
{
    errno = 0;
    gzFile file = gzopen(path, "rbe");
    if (!file) {
        err_errno(e, errno ? errno : ENOMEM, "cannot read %s", path);
        return NULL;
    }
    csv *c = new_csv(format);
    gzbuffer(file, PIECE);
    c->file = file;
    c->piece = mem_alloc(PIECE);
    c->bytes = c->piece;
    c->name = mem_strdup(path);
    return c;
}

csv *csv_over(const void *bytes, size_t n, const csv_format *format)
{
    csv *c = new_csv(format);
    c->bytes = bytes;
    c->n = n;
    c->name = mem_strdup("bytes");
    return c;
}

void csv_close(csv *c)
{
    if (!c)
        return;
    if (c->file)
        gzclose(c->file);
    free(c->piece);
    free(c->name);
    free(c->field);
    buf_done(&c->text);
    free(c);
}

// Reads the next piece of the file; 0 at its end.
static int more(csv *c, err *e)
{
    if (!c->file || c->ended) {
        c->ended = true;
        return 0;
    }
    int got = gzread(c->file, c->piece, PIECE), number;
    if (got < 0) {
        const char *text = gzerror(c->file, &number);
        if (number == Z_ERRNO)
            return err_errno(e, errno, "cannot read %s", c->name);
        return err_set(e, ERR_CORRUPT, "%s: the gzip data is damaged (%s)", c->name, text);
    }
    c->n = (size_t)got;
    c->at = 0;
    c->ended = got == 0;
    if (c->ended) // only here gzip reports a file that is cut off
        gzerror(c->file, &number);
    if (c->ended && number == Z_BUF_ERROR)
        return err_set(e, ERR_CORRUPT, "%s: the gzip data is cut off", c->name);
    return got > 0;
}

enum { END = -1, FAILED = -2 };

// The next byte, which stays there.
static int peek(csv *c, err *e)
{
    if (c->at == c->n) {
        int status = more(c, e);
        if (status <= 0)
            return status < 0 ? FAILED : END;
    }
    return c->bytes[c->at];
}

static void step(csv *c)
{
    uint8_t byte = c->bytes[c->at++];
    if (byte == '\n') {
        c->line++;
        c->column = 1;
    } else
        c->column += byte == c->separator || (byte & 0xc0) != 0x80; // not inside of a character
}

static bool is_end(int byte)
{
    return byte == '\n' || byte == '\r';
}

// Passes over a line's end, if one stands there: LF, CR or both.
static void pass_end(csv *c, err *e)
{
    int byte = peek(c, e);
    if (byte == '\r') {
        step(c);
        byte = peek(c, e);
        if (byte != '\n') { // a line of an old Macintosh
            c->line++;
            c->column = 1;
        }
    }
    if (byte == '\n')
        step(c);
}

static void pass_line(csv *c, err *e)
{
    int byte;
    while ((byte = peek(c, e)) >= 0 && !is_end(byte))
        step(c);
    pass_end(c, e);
}

// Windows-1252 from 0x80 to 0x9f; the rest is Latin-1. Five are not assigned.
static const uint16_t cp1252[32] = {0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021,
    0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d,
    0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178};

// Adds bytes of the file to the record's text.
static void add_text(csv *c, const uint8_t *bytes, size_t n)
{
    if (c->encoding == CSV_UTF8) {
        buf_add(&c->text, bytes, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned u = bytes[i];
        if (c->encoding == CSV_CP1252 && u >= 0x80 && u < 0xa0)
            u = cp1252[u - 0x80];
        if (u >= 0x800)
            buf_char(&c->text, (char)(0xe0 | u >> 12));
        if (u >= 0x80)
            buf_char(&c->text, (char)(u >= 0x800 ? 0x80 | (u >> 6 & 0x3f) : 0xc0 | u >> 6));
        buf_char(&c->text, (char)(u >= 0x80 ? 0x80 | (u & 0x3f) : u));
    }
}

static struct place *begin_field(csv *c)
{
    if (c->fields == c->room) {
        c->room = c->room ? 2 * c->room : 16;
        c->field = mem_resize(c->field, c->room, sizeof *c->field);
    }
    struct place *f = &c->field[c->fields++];
    *f = (struct place){.at = c->text.len, .line = c->line, .column = c->column};
    return f;
}

static int wrong_at(const csv *c, size_t line, size_t column, err *e, const char *why)
{
    return err_set(e, ERR_INVALID, "%s:%zu:%zu: %s", c->name, line, column, why);
}

// Reads from after the opening quote. -1: the quote is never closed.
static int read_quoted(csv *c, const struct place *f, err *e)
{
    for (;;) {
        int byte = peek(c, e);
        if (byte == FAILED)
            return -1;
        if (byte == END)
            return wrong_at(c, f->line, f->column, e, "this quote is never closed");
        if (c->text.len > RECORD_MAX)
            return wrong_at(c, f->line, f->column, e, "this field is larger than 256 MiB");
        step(c);
        if (byte == '"') {
            if (peek(c, e) != '"')
                return 0;
            step(c);
        }
        add_text(c, &(uint8_t){(uint8_t)byte}, 1);
    }
}

// How many bytes of the piece come before a separator, a comment and a line's end.
static size_t plain_run(const csv *c)
{
    size_t n = 0, left = c->n - c->at;
    const uint8_t *at = c->bytes + c->at;
    while (n < left && !c->stops[at[n]])
        n++;
    return n;
}

// Adds the text up to the separator, a comment or a line's end.
static int read_plain(csv *c, err *e)
{
    int byte;
    while ((byte = peek(c, e)) >= 0 && !c->stops[byte]) {
        size_t n = plain_run(c);
        if (c->text.len + n > RECORD_MAX)
            return wrong_at(c, c->line, c->column, e, "this record is larger than 256 MiB");
        for (size_t i = 0; i < n; i++)
            c->column += (c->bytes[c->at + i] & 0xc0) != 0x80; // not inside of a character
        add_text(c, c->bytes + c->at, n);
        c->at += n;
    }
    return byte == FAILED ? -1 : 0;
}

// One field; the separator or the line's end stays.
static int read_field(csv *c, err *e)
{
    size_t index = c->fields;
    struct place *f = begin_field(c);
    if (c->fields > FIELDS_MAX)
        return wrong_at(c, c->line, c->column, e, "more than a million fields in a record");
    int byte = peek(c, e);
    f->quoted = byte == '"';
    if (f->quoted) {
        step(c);
        if (read_quoted(c, f, e) < 0)
            return -1;
        c->field[index].n = c->text.len - f->at;
        byte = peek(c, e);
        if (byte >= 0 && !c->stops[byte])
            return wrong_at(c, c->line, c->column, e, "there is text after the closing quote");
        return byte == FAILED ? -1 : 0;
    }
    if (read_plain(c, e) < 0)
        return -1;
    f->n = c->text.len - f->at;
    return 0;
}

static void skip_mark(csv *c, err *e)
{
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};
    if (peek(c, e) == mark[0] && c->n - c->at >= sizeof mark &&
        memcmp(c->bytes + c->at, mark, sizeof mark) == 0)
        c->at += sizeof mark;
}

static bool is_empty_line(const csv *c)
{
    return c->fields == 1 && c->field[0].n == 0 && !c->field[0].quoted;
}

int csv_next(csv *c, err *e)
{
    if (c->line == 1 && c->column == 1)
        skip_mark(c, e);
    for (; c->skip; c->skip--)
        pass_line(c, e);
    do {
        int byte = peek(c, e);
        if (byte < 0)
            return byte == FAILED ? -1 : 0;
        c->fields = 0;
        buf_clear(&c->text);
        for (;;) {
            if (read_field(c, e) < 0)
                return -1;
            byte = peek(c, e);
            if (byte == FAILED)
                return -1;
            if (byte != c->separator) {
                pass_line(c, e); // a comment may be there
                break;
            }
            step(c);
        }
    } while (is_empty_line(c));
    return 1;
}

size_t csv_fields(const csv *c)
{
    return c->fields;
}

csv_field csv_get(const csv *c, size_t i)
{
    const struct place *f = &c->field[i];
    return (csv_field){buf_cstr(&c->text) + f->at, f->n, f->quoted, f->line, f->column};
}

int csv_wrong(const csv *c, const csv_field *f, err *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    err_vset(e, ERR_INVALID, fmt, args);
    va_end(args);
    return err_wrap(e, "%s:%zu:%zu", c->name, f->line, f->column);
}
