// SPDX-License-Identifier: MIT
// firesteel prune: removes the journals of old runs with their spools. A run stays if it is still
// going on, is pinned, or has left something on a cluster.
#include "cli/run/prune.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/say.h"
#include "script/journal/file/reader.h"
#include "script/journal/runs/runs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PINNED "pinned" // the tag with which a run pins itself

struct choice {
    const char *older, *size, *keep, *cwd;
    char **where, **states;
    char **state_names; // all --state values; NULL: any
    bool dry_run, yes, force;
    struct condition conditions;
    int64_t older_ns, bytes; // -1: not given
    int64_t keep_n;
};

struct candidate {
    cJSON *row;
    const char *run; // in the row
    const char *why; // why it stays; NULL: it is removed
    int64_t bytes, started;
    bool ran; // something was executed in it
};

struct pruning {
    struct cli *cli;
    const struct choice *choice;
    char *folder, *runtime;
    struct candidate *list; // newest first
    size_t n;
};

// "30d", "2w", or a duration as 12h.
static int parse_age(const char *text, int64_t *ns, err *e)
{
    char *end;
    long long n = strtoll(text, &end, 10);
    int64_t days = str_eq(end, "d") ? 1 : str_eq(end, "w") ? 7 : 0;
    if (end == text || !days)
        return duration_parse(text, ns, e);
    if (n < 0 || n > 100000)
        return err_set(e, ERR_USAGE, "%s is no age", text);
    *ns = n * days * 24 * 3600 * CLOCK_SEC;
    return 0;
}

// "500M", "2G", "100K" or bytes.
static int parse_bytes(const char *text, int64_t *bytes, err *e)
{
    char *end;
    long long n = strtoll(text, &end, 10);
    int shift = *end == 'G' ? 30 : *end == 'M' ? 20 : *end == 'K' ? 10 : 0;
    if (end == text || n < 0 || end[shift > 0] || n > INT64_MAX >> shift)
        return err_set(e, ERR_USAGE, "%s is no size, such as 500M or 2G", text);
    *bytes = (int64_t)n << shift;
    return 0;
}

static char *pin_of(const char *folder, const char *run)
{
    return str_fmt("%s/.firesteel/%s.pin", folder, run);
}

static int64_t bytes_below(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return 0;
    int64_t sum = (int64_t)st.st_blocks * 512;
    DIR *dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    for (struct dirent *d; dir && (d = readdir(dir));) {
        AUTO_FREE char *inner = path_join(path, d->d_name);
        if (!str_eq(d->d_name, ".") && !str_eq(d->d_name, ".."))
            sum += bytes_below(inner);
    }
    if (dir)
        closedir(dir);
    return sum;
}

static char *spools_of(const char *folder, const char *run)
{
    return str_fmt("%s/.firesteel/%s", folder, run);
}

static bool goes_on(const struct pruning *p, const char *run)
{
    AUTO_FREE char *journal = journal_file(p->folder, run);
    AUTO_FREE char *mark = report_mark(p->runtime, run);
    return journal_is_written(journal) || owner_alive(mark);
}

static const char *why_kept(const struct pruning *p, const struct candidate *c)
{
    AUTO_FREE char *pin = pin_of(p->folder, c->run);
    if (goes_on(p, c->run))
        return "it goes on";
    if (path_exists(pin) || json_path(json_get(c->row, "tags"), PINNED))
        return "it is pinned";
    if (!p->choice->force && json_int_or(c->row, "left", 0) > 0)
        return "it left something on a cluster (`firesteel clean`, or --force)";
    if (!p->choice->force && str_eq(json_str(c->row, "state"), "unreadable"))
        return "its journal cannot be read (--force)";
    return NULL;
}

// Does it match the given conditions, apart from its place in the list?
static bool is_meant(const struct choice *c, const struct candidate *x, int64_t now)
{
    const char *state = json_str_or(x->row, "state", "");
    bool stated = !c->state_names;
    for (char **s = c->state_names; s && *s; s++)
        stated = stated || str_eq(*s, state);
    return stated && (c->older_ns < 0 || now - x->started > c->older_ns) &&
           runs_where_holds(&c->conditions, x->row);
}

// A list has "2026-01-02 03:04:05", in local time. What cannot be parsed does not count as old.
static int64_t started_of(const cJSON *row)
{
    struct tm tm = {.tm_isdst = -1};
    bool read = strptime(json_str_or(row, "started", ""), "%Y-%m-%d %H:%M:%S", &tm);
    time_t when = read ? mktime(&tm) : -1;
    return when == -1 ? clock_wall() : (int64_t)when * CLOCK_SEC;
}

static void read_runs(struct pruning *p, runs_list *runs)
{
    for (size_t i = 0; i < runs_list_count(runs); i++) {
        err e = {0};
        struct candidate c = {.row = runs_list_row(runs, i, NULL, &e)};
        AUTO_FREE char *journal = journal_file(p->folder, runs_list_run(runs, i));
        AUTO_FREE char *spools = spools_of(p->folder, runs_list_run(runs, i));
        c.run = json_str(c.row, "run");
        c.started = started_of(c.row);
        c.ran = runs_list_ran(runs, i);
        c.bytes = bytes_below(journal) + bytes_below(spools);
        p->list = mem_resize(p->list, p->n + 1, sizeof *p->list);
        p->list[p->n++] = c;
    }
}

// Is it among the newest of its notebook, which are kept? Runs in which a notebook was only opened
// do not count.
static bool is_recent(const struct pruning *p, size_t i)
{
    const cJSON *row = p->list[i].row;
    int64_t newer = 0;
    for (size_t k = 0; k < i; k++)
        newer += p->list[k].ran &&
                 str_eq(json_str(p->list[k].row, "notebook"), json_str(row, "notebook"));
    return p->list[i].ran && newer < p->choice->keep_n;
}

// Sets why each run stays. With --size the oldest go first, until the rest is small enough.
static void choose(struct pruning *p)
{
    const struct choice *c = p->choice;
    int64_t now = clock_wall(), all = 0;
    for (size_t i = 0; i < p->n; i++)
        all += p->list[i].bytes;
    for (size_t i = p->n; i-- > 0;) {
        struct candidate *x = &p->list[i];
        bool enough = c->bytes >= 0 && all <= c->bytes;
        if (!is_meant(c, x, now) || is_recent(p, i) || enough)
            x->why = "";
        else
            x->why = why_kept(p, x);
        all -= x->why ? 0 : x->bytes;
    }
}

static void size_text(int64_t bytes, buf *out)
{
    if (bytes < 1000000)
        buf_fmt(out, "%.1f kB", (double)bytes / 1e3);
    else
        buf_fmt(out, "%.1f MB", (double)bytes / 1e6);
}

// Removes spools first: after an interruption the rest is still a run, which the next prune finds.
static int remove_run(const struct pruning *p, const struct candidate *c, err *e)
{
    AUTO_FREE char *journal = journal_file(p->folder, c->run);
    AUTO_FREE char *spools = spools_of(p->folder, c->run), *pin = pin_of(p->folder, c->run);
    if (goes_on(p, c->run)) // it was resumed meanwhile
        return err_set(e, ERR_CONFLICT, "%s goes on again", c->run);
    return path_remove(spools, e) < 0 || path_remove(pin, e) < 0 ? -1 : path_remove(journal, e);
}

static void list_runs(const struct pruning *p, size_t *n, int64_t *bytes)
{
    for (size_t i = p->n; i-- > 0;) {
        const struct candidate *c = &p->list[i];
        AUTO_BUF size = {0};
        size_text(c->bytes, &size);
        if (c->why && *c->why)
            say(stdout, "stays: %s: %s\n", c->run, c->why);
        if (c->why)
            continue;
        say(stdout, "%s  %s  %s  %s\n", c->run, json_str_or(c->row, "state", ""),
            json_str_or(c->row, "started", ""), buf_cstr(&size));
        *bytes += c->bytes;
        ++*n;
    }
}

static bool confirmed(size_t n, const char *size)
{
    char answer[16];
    say(stdout, "Remove %zu run%s, %s? [y/N] ", n, n == 1 ? "" : "s", size);
    fflush(stdout);
    bool answered = fgets(answer, sizeof answer, stdin);
    if (answered && (*answer == 'y' || *answer == 'Y'))
        return true;
    say(stdout, "%snothing was removed\n", answered ? "" : "\n");
    return false;
}

static int remove_all(struct pruning *p)
{
    int code = 0;
    for (size_t i = p->n; i-- > 0;) {
        err e = {0};
        if (!p->list[i].why && remove_run(p, &p->list[i], &e) < 0)
            code = cli_error(p->cli, &e);
    }
    return code;
}

static int settle(struct pruning *p)
{
    size_t n = 0;
    int64_t bytes = 0;
    AUTO_BUF size = {0};
    list_runs(p, &n, &bytes);
    size_text(bytes, &size);
    if (n == 0) {
        say(stdout, "nothing to remove\n");
        return 0;
    }
    if (p->choice->dry_run) {
        say(stdout, "%zu run%s, %s, would be removed\n", n, n == 1 ? "" : "s", buf_cstr(&size));
        return 0;
    }
    if (!p->choice->yes && !isatty(STDIN_FILENO)) {
        say(stderr, "firesteel: nothing was removed: there is no terminal to ask on; add --yes\n");
        return 3;
    }
    if (!p->choice->yes && !confirmed(n, buf_cstr(&size)))
        return 3;
    int code = remove_all(p);
    say(stdout, "removed %zu run%s, %s\n", n, n == 1 ? "" : "s", buf_cstr(&size));
    return code;
}

// Refuses a condition with a field that no run has: it may be misspelt, and with "!=" would match
// every run.
static int check_fields(const struct pruning *p)
{
    const struct condition *w = &p->choice->conditions;
    int code = 0;
    cJSON **rows = mem_array(p->n + 1, sizeof *rows);
    for (size_t i = 0; i < p->n; i++)
        rows[i] = p->list[i].row;
    for (size_t i = 0; p->n && i < w->n; i++) {
        if (runs_any_has(rows, p->n, w->terms[i].name))
            continue;
        say_program(p->cli);
        say(stderr, "no run has \"%s\"\n", w->terms[i].name);
        code = w->terms[i].op == CONDITION_OTHER || w->terms[i].op == CONDITION_LACKS ? 2 : code;
    }
    free(rows);
    return code;
}

int prune_run(struct cli *cli, const char *folder, const char *run, err *e)
{
    const struct choice choice = {.force = false};
    struct pruning p = {.cli = cli, .choice = &choice, .folder = (char *)folder};
    AUTO_FREE char *runtime = p.runtime = cli_runtime_dir(cli, e);
    AUTO_JSON *row = runtime ? runs_row(folder, run, NULL) : NULL;
    struct candidate c = {.row = row, .run = run};
    if (!row)
        return -1;
    const char *why = why_kept(&p, &c);
    if (why)
        return err_set(e, ERR_CONFLICT, "%s stays: %s", run, why);
    int result = remove_run(&p, &c, e);
    runs_list_close(runs_list_open(folder, NULL)); // removes it from the index
    return result;
}

static int prune(struct cli *cli, const struct choice *c)
{
    err e = {0};
    struct pruning p = {.cli = cli, .choice = c};
    AUTO_FREE char *folder = cli_runs_folder(cli, c->cwd, NULL);
    p.folder = path_absolute(folder, &e);
    p.runtime = p.folder ? cli_runtime_dir(cli, &e) : NULL;
    runs_list *runs = p.runtime ? runs_list_open(p.folder, &e) : NULL;
    int code;
    if (runs) {
        read_runs(&p, runs);
        runs_list_close(runs);
        choose(&p);
        code = check_fields(&p);
        code = code ? code : settle(&p);
        runs_list_close(runs_list_open(p.folder, NULL)); // drops removed runs from the index
    } else {
        code = cli_error(cli, &e);
    }
    for (size_t i = 0; i < p.n; i++)
        cJSON_Delete(p.list[i].row);
    free(p.list);
    free(p.folder);
    free(p.runtime);
    return code;
}

// A pin is a file beside the journal, so it can be set long after the run.
static int pin(struct cli *cli, const char *folder, char *const *names, bool on)
{
    int code = 0;
    for (; names && *names; names++) {
        err e = {0};
        AUTO_FREE char *run = runs_pick(folder, NULL, *names, &e);
        AUTO_FREE char *file = run ? pin_of(folder, run) : NULL;
        if (!file || (on ? path_write(file, "", 0, 0644, &e) : path_remove(file, &e)) < 0)
            code = cli_error(cli, &e);
        else
            say(stdout, "%s %s\n", run, on ? "is pinned" : "is not pinned any more");
    }
    return code;
}

static int pin_all(struct cli *cli, const struct choice *c, char *const *pins, char *const *unpins)
{
    char *const *words = pins ? pins : unpins;
    AUTO_FREE char *folder = cli_runs_folder(cli, c->cwd, words ? words[0] : NULL);
    return pin(cli, folder, pins, true) | pin(cli, folder, unpins, false);
}

static int read_states(struct choice *c, err *e)
{
    int result = 0;
    for (char **s = c->states; s && *s && result == 0; s++) {
        char **words = strv_split(*s, ',');
        for (char **w = words; *w && result == 0; w++) {
            c->state_names = strv_add(c->state_names, *w);
            result = runs_check_state(*w, e);
        }
        strv_free(words);
    }
    return result < 0 ? err_wrap(e, "--state") : 0;
}

static int read_choice(struct choice *c, err *e)
{
    c->older_ns = c->bytes = c->keep_n = -1;
    if (c->older && parse_age(c->older, &c->older_ns, e) < 0)
        return err_wrap(e, "--older-than");
    if (c->size && parse_bytes(c->size, &c->bytes, e) < 0)
        return err_wrap(e, "--size");
    if (c->keep && (!str_to_int(c->keep, &c->keep_n) || c->keep_n < 0))
        return err_set(e, ERR_USAGE, "--keep %s is no number", c->keep);
    for (char **w = c->where; w && *w; w++)
        if (condition_parse(&c->conditions, *w, e) < 0)
            return err_wrap(e, "--where");
    return read_states(c, e);
}

static int start(struct cli *cli, struct choice *c)
{
    err e = {0};
    if (!c->older && !c->size && !c->keep && !c->where && !c->states)
        return cli_usage(cli, &prune_verb,
            "which runs? --older-than 30d, --keep 10, --size 1G, --state failed, --where …");
    if (read_choice(c, &e) < 0)
        return cli_usage(cli, &prune_verb, "%s", e.text);
    return prune(cli, c);
}

static bool chooses(const struct choice *c)
{
    return c->older || c->keep || c->size || c->states || c->where || c->dry_run || c->yes ||
           c->force;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct choice c = {0};
    char **pins = NULL, **unpins = NULL, **rest = NULL;
    const struct option options[] = {
        {"older-than", 0, "AGE", "only runs that began longer ago: 30d, 2w, 12h", .text = &c.older},
        {"keep", 0, "N", "the newest N of each notebook stay", .text = &c.keep},
        {"size", 0, "SIZE", "the oldest go until the rest has 1G, 500M at most", .text = &c.size},
        {"state", 0, "STATE,…", "only runs that ended so: failed,killed,interrupted",
            .list = &c.states},
        {"where", 0, "CONDITION", "only runs for which it holds, as `firesteel runs` has it",
            .list = &c.where},
        {"dry-run", 0, NULL, "only list", .given = &c.dry_run},
        {"yes", 'y', NULL, "remove without asking", .given = &c.yes},
        {"force", 0, NULL, "also runs that left something on a cluster, or cannot be read",
            .given = &c.force},
        {"pin", 0, "RUN", "this run is never removed; may be repeated", .list = &pins},
        {"unpin", 0, "RUN", "it may be removed again; may be repeated", .list = &unpins},
        {"cwd", 0, "DIR", "working folder of the runs, instead of this one", .text = &c.cwd},
        {0},
    };
    int code;
    if (options_parse(cli, &prune_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest)
            code = cli_usage(cli, &prune_verb, "it takes options alone");
        else if ((pins || unpins) && chooses(&c))
            code = cli_usage(cli, &prune_verb,
                "--pin and --unpin remove nothing: without other options than --cwd");
        else if (pins || unpins)
            code = pin_all(cli, &c, pins, unpins);
        else
            code = start(cli, &c);
    }
    condition_done(&c.conditions);
    char **lists[] = {pins, unpins, rest, c.where, c.states, c.state_names};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        strv_free(lists[i]);
    return code;
}

const struct verb prune_verb = {
    .name = "prune",
    .summary = "remove the journals of old runs",
    .usage =
        "[--older-than AGE] [--keep N] [--size SIZE] [--state STATE,…] [--where CONDITION]\n"
        "                       [--dry-run] [--yes]\n\n"
        "A run goes when all that is given holds for it. A run that goes on, is pinned (--pin, or\n"
        "run.tag \"" PINNED "\" in a cell), or left something on a cluster stays, and is named.",
    .run = run,
    .takes_runs = true,
};
