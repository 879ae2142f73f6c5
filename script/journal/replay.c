// SPDX-License-Identifier: MIT
#include "script/journal/replay.h"

#include "base/clock.h"
#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/hidden.h"
#include "script/journal/file/reader.h"
#include "script/journal/fold/fold_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WINDOW = 256 << 10,     // bytes read at once
    APART_LEAST = 1 << 20,  // the least distance between two copies, in bytes of the journal
    COPIES = 16,            // number of copies of a long journal
    WEIGHT_MOST = 64 << 20, // of all copies
    LINE_MOST = 64 << 20,   // no line of ours is longer
    TAIL = 160,             // where a record has its time
};

enum kind {
    KIND_OTHER,
    KIND_DOCUMENT, // run, document, edited
    KIND_RESUMED,
    KIND_RUNNING, // a cell begins
    KIND_ENDED,   // or ends
    KIND_STATE,   // or waits
    KIND_OUTPUT,
    KIND_RECORDED,
    KIND_END,
};

struct record {
    uint64_t at;
    uint32_t n;
    uint32_t cell; // its number, 0: the record is of no cell
    uint8_t kind;
};
struct copy {
    size_t next; // the next record after it
    fold *state;
    size_t weight;
};

struct replay {
    int fd;
    char *path;
    uint64_t looked, size;
    struct record *records;
    size_t n, room;
    hashmap *cells;    // a cell's number by its id
    hashmap *displays; // and by a display's
    char **ids;        // by a cell's number
    size_t *last;      // and by a cell's number: the record with which it began last, or SIZE_MAX
    size_t n_cells;
    size_t resumed; // the last record that discards everything before
    buf window;
    uint64_t window_at;

    fold *now;
    size_t next; // the next record after it
    struct copy *copies;
    size_t n_copies, weight;
    uint64_t apart; // bytes
};

static int check_format(const char *path, err *e)
{
    cJSON *first = NULL;
    reader *r = reader_open(path, e);
    int result = r ? reader_next(r, &first, e) : -1;
    cJSON_Delete(first);
    reader_close(r);
    if (result == 0)
        return err_set(e, ERR_INVALID, "%s is empty", path);
    return result < 0 ? -1 : 0;
}

replay *replay_open(const char *path, err *e)
{
    if (check_format(path, e) < 0)
        return NULL;
    int fd = hidden_open(path, O_RDONLY, 0, e);
    if (fd < 0)
        return NULL;
    replay *r = mem_alloc(sizeof *r);
    *r = (replay){.fd = fd,
        .path = mem_strdup(path),
        .cells = hashmap_new(),
        .displays = hashmap_new(),
        .ids = mem_array(1, sizeof *r->ids),
        .last = mem_array(1, sizeof *r->last)};
    struct stat st;
    r->size = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    r->apart = r->size / COPIES > APART_LEAST ? r->size / COPIES : APART_LEAST;
    return r;
}

static void forget_states(replay *r)
{
    fold_free(STEAL(r->now));
    for (size_t i = 0; i < r->n_copies; i++)
        fold_free(r->copies[i].state);
    free(STEAL(r->copies));
    r->n_copies = r->weight = r->next = 0;
}

void replay_free(replay *r)
{
    if (!r)
        return;
    forget_states(r);
    close(r->fd);
    hashmap_free(r->cells);
    hashmap_free(r->displays);
    buf_done(&r->window);
    for (size_t i = 1; i <= r->n_cells; i++)
        free(r->ids[i]);
    free(r->ids);
    free(r->records);
    free(r->last);
    free(r->path);
    free(r);
}

// Reads so many bytes from a place into the window; fewer at the file's end.
static void fill(replay *r, uint64_t at, size_t n)
{
    buf_clear(&r->window);
    buf_reserve(&r->window, n);
    r->window_at = at;
    while (r->window.len < n) {
        ssize_t got = pread(
            r->fd, r->window.data + r->window.len, n - r->window.len, (off_t)(at + r->window.len));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        r->window.len += (size_t)got;
    }
}

// A record's line without its newline; NULL: it cannot be read any more.
static const char *line_of(replay *r, size_t i)
{
    const struct record *at = &r->records[i];
    bool inside = at->at >= r->window_at && at->at + at->n <= r->window_at + r->window.len;
    if (!inside)
        fill(r, at->at, at->n > WINDOW ? at->n : WINDOW);
    if (at->at + at->n > r->window_at + r->window.len)
        return NULL;
    return r->window.data + (at->at - r->window_at);
}

// A field at the cursor, as the kernel writes them: ,"name":"value". Its value is not escaped.
struct cursor {
    const char *at, *end;
};
static bool take(struct cursor *c, const char *words)
{
    size_t n = strlen(words);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, words, n) != 0)
        return false;
    c->at += n;
    return true;
}

static bool take_text(struct cursor *c, const char *name, char *out, size_t size)
{
    const char *stop = NULL;
    if (!take(c, name) || !(stop = memchr(c->at, '"', (size_t)(c->end - c->at))))
        return false;
    size_t n = (size_t)(stop - c->at);
    if (n >= size || memchr(c->at, '\\', n))
        return false;
    memcpy(out, c->at, n);
    out[n] = '\0';
    c->at = stop + 1;
    return true;
}

// What the beginning of a line says.
struct beginning {
    char type[24], cell[80], state[16];
    int64_t id; // of a display; -1: none
};

static void copy_text(char *out, size_t size, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    n = n < size ? n : 0;
    memcpy(out, text ? text : "", n);
    out[n] = '\0';
}

// The same for a line whose fields are in another order.
static bool understand(const char *line, size_t n, struct beginning *b)
{
    AUTO_JSON *j = json_parse(line, n, NULL);
    if (!cJSON_IsObject(j))
        return false;
    copy_text(b->type, sizeof b->type, json_str(j, "type"));
    copy_text(b->cell, sizeof b->cell, json_str(j, "cell"));
    copy_text(b->state, sizeof b->state, json_str(j, "state"));
    b->id = json_int_or(j, "id", -1);
    return true;
}

static bool begins(const char *line, size_t n, struct beginning *b)
{
    struct cursor c = {line, line + n};
    *b = (struct beginning){.id = -1};
    if (!take_text(&c, "{\"type\":\"", b->type, sizeof b->type))
        return understand(line, n, b);
    bool of_cell = take_text(&c, ",\"cell\":\"", b->cell, sizeof b->cell);
    bool shows = str_eq(b->type, "display"), updates = str_eq(b->type, "update");
    if (take(&c, ",\"id\":"))
        for (b->id = 0; c.at < c.end && *c.at >= '0' && *c.at <= '9' && b->id < INT32_MAX; c.at++)
            b->id = b->id * 10 + (*c.at - '0');
    bool stated = str_eq(b->type, "state");
    if (stated)
        stated = !take_text(&c, ",\"state\":\"", b->state, sizeof b->state);
    bool lacks = stated || ((shows || updates) && b->id < 0) ||
                 (!of_cell && (shows || str_eq(b->type, "state") || str_eq(b->type, "stream")));
    return lacks ? understand(line, n, b) : true;
}

static enum kind kind_of(const struct beginning *b)
{
    static const struct {
        const char *type;
        enum kind kind;
    } types[] = {{"run", KIND_DOCUMENT}, {"document", KIND_DOCUMENT}, {"edited", KIND_DOCUMENT},
        {"resumed", KIND_RESUMED}, {"stream", KIND_OUTPUT}, {"display", KIND_OUTPUT},
        {"update", KIND_OUTPUT}, {"error", KIND_OUTPUT}, {"cleared", KIND_OUTPUT},
        {"recorded", KIND_RECORDED}, {"end", KIND_END}};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_eq(b->type, types[i].type))
            return types[i].kind;
    if (!str_eq(b->type, "state"))
        return KIND_OTHER;
    return str_eq(b->state, "running")                                            ? KIND_RUNNING
           : str_eq(b->state, "queued") || str_eq(b->state, "idle") || !*b->state ? KIND_STATE
                                                                                  : KIND_ENDED;
}

static uint32_t number_of(replay *r, const char *id)
{
    size_t number;
    if (hashmap_get(r->cells, id, strlen(id), &number))
        return (uint32_t)number;
    number = ++r->n_cells;
    r->last = mem_resize(r->last, number + 1, sizeof *r->last);
    r->last[number] = SIZE_MAX;
    r->ids = mem_resize(r->ids, number + 1, sizeof *r->ids);
    r->ids[number] = mem_strdup(id);
    hashmap_set(r->cells, id, strlen(id), number);
    return (uint32_t)number;
}

static void add(replay *r, const char *line, size_t n, uint64_t at)
{
    struct beginning b;
    size_t shown;
    if (n > LINE_MOST || !begins(line, n, &b))
        return;
    struct record one = {.at = at, .n = (uint32_t)n, .kind = (uint8_t)kind_of(&b)};
    if (*b.cell)
        one.cell = number_of(r, b.cell);
    if (str_eq(b.type, "display") && one.cell)
        hashmap_set(r->displays, &b.id, sizeof b.id, one.cell);
    if (str_eq(b.type, "update") && hashmap_get(r->displays, &b.id, sizeof b.id, &shown))
        one.cell = (uint32_t)shown;
    if (r->n == r->room) {
        r->room = r->room ? r->room * 2 : 256;
        r->records = mem_resize(r->records, r->room, sizeof *r->records);
    }
    if (one.kind == KIND_RUNNING)
        r->last[one.cell] = r->n;
    if (one.kind == KIND_RESUMED)
        r->resumed = r->n;
    r->records[r->n++] = one;
}

// Adds the lines that begin in the next WINDOW bytes. Returns how many bytes they have; 0: no
// complete line.
static size_t look_on(replay *r)
{
    size_t size = WINDOW, done = 0;
    for (;; size *= 2) {
        fill(r, r->looked, size);
        if (r->window.len < size || memchr(r->window.data, '\n', r->window.len))
            break;
        if (size > LINE_MOST)
            return 0;
    }
    const char *line = r->window.data, *end = line + r->window.len, *stop;
    while (line < end && (stop = memchr(line, '\n', (size_t)(end - line)))) {
        add(r, line, (size_t)(stop - line), r->looked + done);
        done += (size_t)(stop + 1 - line);
        line = stop + 1;
    }
    r->looked += done;
    return done;
}

bool replay_look(replay *r, size_t bytes)
{
    for (size_t done = 0, now; done < bytes; done += now)
        if ((now = look_on(r)) == 0)
            return false;
    return true;
}

size_t replay_count(const replay *r)
{
    return r->n;
}

int64_t replay_time(replay *r, size_t at)
{
    const char *line = line_of(r, at), *name = "\"wall\":\"";
    size_t n = r->records[at].n, skip = n > TAIL ? n - TAIL : 0;
    const char *wall = line ? memmem(line + skip, n - skip, name, strlen(name)) : NULL;
    int64_t ns = 0;
    if (wall) {
        const char *text = wall + strlen(name),
                   *stop = memchr(text, '"', (size_t)(line + n - text));
        AUTO_FREE char *words = stop ? mem_strndup(text, (size_t)(stop - text)) : NULL;
        return words && clock_parse_rfc3339(words, &ns, NULL) == 0 ? ns : 0;
    }
    AUTO_JSON *j = line ? json_parse(line, n, NULL) : NULL;
    return json_str(j, "wall") && clock_parse_rfc3339(json_str(j, "wall"), &ns, NULL) == 0 ? ns : 0;
}

const char *replay_cell(const replay *r, size_t at)
{
    return r->records[at].cell ? r->ids[r->records[at].cell] : NULL;
}

static bool is_step(const struct record *r, bool cells)
{
    return r->kind == KIND_DOCUMENT || r->kind == KIND_RESUMED || r->kind == KIND_RUNNING ||
           r->kind == KIND_ENDED || r->kind == KIND_END || (!cells && r->kind == KIND_OUTPUT);
}

size_t replay_step(const replay *r, size_t at, int direction, bool cells)
{
    size_t last = r->n ? r->n - 1 : 0;
    while (direction < 0 ? at > 0 : at < last) {
        at = direction < 0 ? at - 1 : at + 1;
        if (is_step(&r->records[at], cells))
            return at;
    }
    return direction < 0 ? 0 : last;
}

size_t replay_find(replay *r, int64_t wall)
{
    size_t from = 0, to = r->n;
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        if (replay_time(r, middle) <= wall)
            from = middle;
        else
            to = middle;
    }
    return from;
}

static void fold_record_at(replay *r, fold *f, size_t i)
{
    const char *line = line_of(r, i);
    AUTO_JSON *j = line ? json_parse(line, r->records[i].n, NULL) : NULL;
    if (!j || fold_event(f, j, NULL) < 0)
        f->corrupt++;
}

// Drops every second copy when all of them take too much.
static void thin(replay *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->n_copies; i++) {
        if (i % 2) {
            r->copies[kept++] = r->copies[i];
            continue;
        }
        r->weight -= r->copies[i].weight;
        fold_free(r->copies[i].state);
    }
    r->n_copies = kept;
    r->apart *= 2;
}

static void keep_copy(replay *r)
{
    const struct copy *newest = r->n_copies ? &r->copies[r->n_copies - 1] : NULL;
    uint64_t since = newest ? r->records[newest->next].at : 0;
    if (r->next >= r->n || (newest && newest->next >= r->next) ||
        r->records[r->next].at - since < r->apart)
        return;
    size_t weight = fold_weight(r->now);
    if (weight > WEIGHT_MOST / 2)
        return;
    r->copies = mem_resize(r->copies, r->n_copies + 1, sizeof *r->copies);
    r->copies[r->n_copies++] = (struct copy){r->next, fold_copy(r->now), weight};
    r->weight += weight;
    while (r->weight > WEIGHT_MOST && r->n_copies > 1)
        thin(r);
}

// Restarts from the last copy before a record, or from nothing.
static void go_back(replay *r, size_t at)
{
    size_t i = r->n_copies;
    while (i > 0 && r->copies[i - 1].next > at + 1)
        i--;
    fold_free(r->now);
    r->now = i ? fold_copy(r->copies[i - 1].state) : fold_new();
    r->next = i ? r->copies[i - 1].next : 0;
}

fold *replay_at(replay *r, size_t at)
{
    if (!r->now || at + 1 < r->next)
        go_back(r, at);
    while (r->next <= at) {
        fold_record_at(r, r->now, r->next++);
        keep_copy(r);
    }
    if (at + 1 == r->n && fold_state(r->now) == RUN_RUNNING && !journal_is_written(r->path))
        fold_abandon(r->now);
    return r->now;
}

bool replay_ran(const replay *r)
{
    for (size_t i = 1; i <= r->n_cells; i++)
        if (r->last[i] != SIZE_MAX)
            return true;
    return false;
}

static bool sets_params(const replay *r, const fold *f, const struct record *one)
{
    return (one->kind == KIND_RUNNING || one->kind == KIND_ENDED) && one->cell &&
           fold_gives_params(f, r->ids[one->cell]);
}

fold *replay_outline(replay *r)
{
    fold *f = fold_new();
    for (size_t i = 0; i < r->n; i++)
        if (r->records[i].kind == KIND_DOCUMENT || r->records[i].kind == KIND_RESUMED ||
            sets_params(r, f, &r->records[i]))
            fold_record_at(r, f, i);
    return f;
}

bool replay_add_facts(replay *r, fold *facts, size_t *next, size_t bytes)
{
    for (size_t done = 0; *next < r->n && done < bytes; ++*next) {
        if (r->records[*next].kind == KIND_OUTPUT)
            continue;
        fold_record_at(r, facts, *next);
        done += r->records[*next].n;
    }
    return *next < r->n;
}

bool replay_add_cell(replay *r, fold *outline, const char *id)
{
    size_t number;
    if (!hashmap_get(r->cells, id, strlen(id), &number) || r->last[number] == SIZE_MAX ||
        r->last[number] < r->resumed)
        return false;
    for (size_t i = r->last[number]; i < r->n; i++)
        if (r->records[i].cell == number && r->records[i].kind != KIND_RECORDED &&
            r->records[i].kind != KIND_DOCUMENT)
            fold_record_at(r, outline, i);
    return true;
}
