// SPDX-License-Identifier: MIT
#include "script/journal/file/reader.h"

#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/hidden.h"
#include "script/journal/file/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
    int fd;
    char *name;        // "RUN.jsonl", for messages
    buf bytes;         // bytes that were read last, and the beginning of their first line before
                       // them
    size_t at, line_n; // the last line in it
    size_t scanned;    // bytes after that line without a newline
    size_t number;
    bool (*skips)(const char *line, size_t n); // NULL: all are returned
    bool refused;
};

static reader *reader_new(int fd, const char *path)
{
    reader *r = mem_alloc(sizeof *r);
    r->fd = fd;
    r->name = path_basename(path);
    return r;
}

reader *reader_open(const char *path, err *e)
{
    int fd = hidden_open(path, O_RDONLY, 0, e);
    if (fd < 0)
        return NULL;
    return reader_new(fd, path);
}

void reader_close(reader *r)
{
    if (!r)
        return;
    close(r->fd);
    free(r->name);
    buf_done(&r->bytes);
    free(r);
}

// The newline that ends the line at `at`; NULL: not written yet.
static const char *find_newline(reader *r)
{
    size_t from = r->at + r->scanned;
    const char *newline =
        r->bytes.len > from ? memchr(r->bytes.data + from, '\n', r->bytes.len - from) : NULL;
    r->scanned = r->bytes.len - r->at;
    return newline;
}

// Reads until there is a whole line after the last one: 1; 0: not yet.
static int next_line(reader *r, err *e)
{
    r->at += r->line_n;
    r->line_n = r->scanned = 0;
    for (;;) {
        const char *newline = find_newline(r);
        if (newline) {
            r->line_n = (size_t)(newline + 1 - r->bytes.data) - r->at;
            r->number++;
            return 1;
        }
        buf_consume(&r->bytes, r->at); // asked once for all lines of a read
        r->at = 0;
        buf_reserve(&r->bytes, 1 << 16);
        ssize_t n = read(r->fd, r->bytes.data + r->bytes.len, 1 << 16);
        if (n < 0 && errno != EINTR)
            return err_errno(e, errno, "cannot read the journal %s", r->name);
        if (n == 0)
            return 0;
        r->bytes.len += n > 0 ? (size_t)n : 0;
    }
}

static int check_first(reader *r, const cJSON *record, err *e)
{
    int64_t format = json_int_or(record, "format", 0);
    r->refused = true;
    if (!str_eq(json_str(record, "type"), "run") || format < 1)
        return err_set(e, ERR_INVALID, "%s is not a journal: its first record is no run", r->name);
    if (format > JOURNAL_FORMAT)
        return err_set(e, ERR_INVALID,
            "%s was written by a newer firesteel (journal format %lld; this one reads %d)", r->name,
            (long long)format, JOURNAL_FORMAT);
    r->refused = false;
    return 0;
}

void reader_skip(reader *r, bool (*skips)(const char *line, size_t n))
{
    r->skips = skips;
}

// Never skips the last line of a journal, and of each kernel that wrote it: its time says how long
// the run lived.
static bool is_skipped(const reader *r)
{
    static const char resumed[] = "{\"type\":\"resumed\"";
    const char *line = r->bytes.data + r->at, *next = line + r->line_n;
    size_t rest = r->bytes.len - r->at - r->line_n;
    if (!r->skips || r->number == 1 || !r->skips(line, r->line_n) || !memchr(next, '\n', rest))
        return false;
    return rest < sizeof resumed || memcmp(next, resumed, sizeof resumed - 1) != 0;
}

int reader_next(reader *r, cJSON **record, err *e)
{
    *record = NULL;
    if (r->refused)
        return err_set(e, ERR_INVALID, "%s cannot be read", r->name);
    int result;
    do {
        result = next_line(r, e);
    } while (result > 0 && is_skipped(r));
    if (result <= 0)
        return result;
    err why = {0};
    cJSON *j = json_parse(r->bytes.data + r->at, r->line_n - 1, &why);
    if (j && !cJSON_IsObject(j))
        err_set(&why, ERR_INVALID, "it is not a JSON object");
    if (why.code) {
        cJSON_Delete(j);
        return err_set(e, ERR_CORRUPT, "%s line %zu is damaged: %s", r->name, r->number, why.text);
    }
    if (r->number == 1 && check_first(r, j, e) < 0) {
        cJSON_Delete(j);
        return -1;
    }
    *record = j;
    return 1;
}

const char *reader_line(const reader *r, size_t *n)
{
    *n = r->line_n;
    return buf_cstr(&r->bytes) + r->at;
}

size_t reader_line_number(const reader *r)
{
    return r->number;
}

bool reader_torn(const reader *r)
{
    return r->bytes.len > r->at + r->line_n;
}

enum { SECONDS = sizeof "20260102-030405" - 1 };

struct found {
    char *run;
    char stamp[24]; // in the name: "20260102-030405-1a2b"
    char *wall;     // of the first record, where names leave the order open; "": unknown
};

// The name has the second in which a run began; for runs of the same second the first records
// decide.
static int newest_first(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int by_second = strncmp(y->stamp, x->stamp, SECONDS);
    int by_wall = by_second || !x->wall || !y->wall ? by_second : strcmp(y->wall, x->wall);
    return by_wall ? by_wall : strcmp(x->run, y->run);
}

struct wall_source {
    int dir;
    journal_wall *known; // NULL: unknown
    const void *arg;
};

static char *first_wall(const struct wall_source *from, const char *run)
{
    const char *known = from->known ? from->known(run, from->arg) : NULL;
    if (known)
        return mem_strdup(known);
    AUTO_FREE char *name = str_fmt("%s.jsonl", run);
    cJSON *record = NULL;
    int fd = folder_file(from->dir, name, O_RDONLY, 0);
    reader *r = fd >= 0 ? reader_new(fd, name) : NULL;
    if (r && reader_next(r, &record, NULL) < 0)
        record = NULL;
    char *wall = mem_strdup(json_str_or(record, "wall", ""));
    cJSON_Delete(record);
    reader_close(r);
    return wall;
}

static void sort(const struct wall_source *from, struct found *list, size_t n)
{
    bool even = false;
    qsort(list, n, sizeof *list, newest_first);
    for (size_t i = 0; i + 1 < n; i++) {
        if (strncmp(list[i].stamp, list[i + 1].stamp, SECONDS) != 0)
            continue;
        even = true;
        if (!list[i].wall)
            list[i].wall = first_wall(from, list[i].run);
        list[i + 1].wall = first_wall(from, list[i + 1].run);
    }
    if (even)
        qsort(list, n, sizeof *list, newest_first);
}

// "name-20260102-030405-1a2b.jsonl"
static bool is_journal(const char *file, struct found *out)
{
    enum { STAMP = 20 };
    size_t n = strlen(file);
    if (!str_ends(file, ".jsonl") || n < 6 + STAMP + 1)
        return false;
    out->run = mem_strndup(file, n - 6);
    memcpy(out->stamp, file + n - 6 - STAMP, STAMP);
    out->stamp[STAMP] = '\0';
    out->wall = NULL;
    return true;
}

char **journal_list(const char *folder, err *e)
{
    return journal_list_by(folder, NULL, NULL, e);
}

char **journal_list_by(const char *folder, journal_wall *wall, const void *arg, err *e)
{
    err why = {0};
    int fd = hidden_look(folder, &why);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d && why.code != ERR_NOT_FOUND) {
        err_set(e, why.code, "%s", why.text);
        return NULL;
    }
    struct found *list = NULL;
    size_t n = 0;
    for (struct dirent *entry; d && (entry = readdir(d));) {
        struct found one;
        if (!is_journal(entry->d_name, &one))
            continue;
        if ((n & (n - 1)) == 0)
            list = mem_resize(list, n ? 2 * n : 1, sizeof *list);
        list[n++] = one;
    }
    if (n)
        sort(&(struct wall_source){fd, wall, arg}, list, n);
    if (d)
        closedir(d);
    char **runs = mem_array(n + 1, sizeof *runs);
    for (size_t i = 0; i < n; i++) {
        runs[i] = list[i].run;
        free(list[i].wall);
    }
    free(list);
    return runs;
}

char *journal_file(const char *folder, const char *run)
{
    return str_fmt("%s/.firesteel/%s.jsonl", *folder ? folder : ".", run);
}

cJSON *journal_first(const char *path)
{
    cJSON *first = NULL;
    reader *r = reader_open(path, NULL);
    if (r && reader_next(r, &first, NULL) != 1)
        first = NULL;
    reader_close(r);
    return first;
}

static bool begins_something(const cJSON *record)
{
    const char *type = json_str_or(record, "type", "");
    return (str_eq(type, "run") && json_bool_or(record, "headless", false)) ||
           (str_eq(type, "state") && str_eq(json_str(record, "state"), "running"));
}

bool journal_ran(const char *folder, const char *run)
{
    AUTO_FREE char *path = journal_file(folder, run);
    reader *r = reader_open(path, NULL);
    cJSON *record;
    bool ran = false;
    int more = r ? 1 : -1;
    while (!ran && more > 0 && (more = reader_next(r, &record, NULL)) > 0) {
        ran = begins_something(record);
        cJSON_Delete(record);
    }
    reader_close(r);
    return ran || more < 0 || journal_is_written(path);
}

// The newest run in which a cell was executed; else the newest.
static char *newest_of(const char *folder, char *const *runs)
{
    for (char *const *run = runs; *run; run++)
        if (journal_ran(folder, *run))
            return mem_strdup(*run);
    return mem_strdup(*runs);
}

static bool ends_in(const char *run, const char *word)
{
    size_t n = strlen(run), m = strlen(word);
    return m > 0 && n > m && run[n - m - 1] == '-' && str_eq(run + n - m, word);
}

size_t journal_match(const char *const *runs, size_t n, const char *word, size_t *hits)
{
    size_t found = 0;
    *hits = 0;
    for (size_t i = 0; i < n; i++)
        if (str_eq(runs[i], word)) {
            *hits = 1;
            return i;
        }
    for (int ends = 0; ends < 2 && *hits == 0; ends++)
        for (size_t i = n; i-- > 0;) {
            if (!(ends ? ends_in(runs[i], word) : str_starts(runs[i], word)))
                continue;
            found = i;
            ++*hits;
        }
    return found;
}

bool journal_means_newest(const char *word)
{
    return !word || str_eq(word, "last") || str_eq(word, "newest");
}

int journal_check_word(const char *word, err *e)
{
    if (word && !*word)
        return err_set(e, ERR_USAGE,
            "the name of a run is empty; leave it out, or take one that `firesteel runs` lists");
    return 0;
}

char *journal_find(const char *folder, const char *name, err *e)
{
    char **runs = journal_check_word(name, e) < 0 ? NULL : journal_list(folder, e), *found = NULL;
    if (!runs)
        return NULL;
    if (journal_means_newest(name)) {
        found = newest_of(folder, runs);
        if (!found)
            err_set(e, ERR_NOT_FOUND, "there are no runs in %s/.firesteel", folder);
        strv_free(runs);
        return found;
    }
    size_t hits, at = journal_match((const char *const *)runs, strv_len(runs), name, &hits);
    if (hits == 1)
        found = mem_strdup(runs[at]);
    else if (hits == 0)
        err_set(e, ERR_USAGE, "there is no run %s in %s/.firesteel; `firesteel runs` lists them",
            name, folder);
    else
        err_set(e, ERR_USAGE, "%zu runs %s %s; `firesteel runs` lists them", hits,
            str_starts(runs[at], name) ? "start with" : "end in", name);
    strv_free(runs);
    return found;
}

bool journal_is_written(const char *path)
{
    int fd = hidden_open(path, O_RDONLY, 0, NULL);
    if (fd < 0)
        return false;
    bool held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}
