// SPDX-License-Identifier: MIT
#include "cli/kernel/cleaning.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/bar.h"
#include "cli/say.h"
#include "script/kernel/session/clean.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct state {
    struct cli *cli;
    own_work *work; // once it removes
    char *title;    // of it: "clean train-20260102-030405-ab1c"
    const struct cleaning *what;
    size_t found, settled;
    char *told;   // the last reason why something was not removed
    bool unasked; // a question was needed, but there is no terminal
};

static bool is_confirmed(size_t n)
{
    char answer[16];
    say(stdout, "Remove %s? [y/N] ", n == 1 ? "it" : "them");
    fflush(stdout);
    return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

// The one who is asked has read what there is.
static int begin(struct state *s, size_t n)
{
    s->title = str_fmt("clean %s", s->what->run);
    s->work = own_work_begin(s->cli, s->title, WORK_ITEMS, "objects");
    work_total(own_work_watch(s->work)->work, (int64_t)n);
    return 1;
}

static void one_more(struct state *s)
{
    work_step(own_work_watch(s->work)->work, 1);
    own_work_clear(s->work);
}

static int on_left(void *arg, struct entry *const *entries, size_t n)
{
    struct state *s = arg;
    s->found = n;
    for (size_t i = 0; i < n; i++)
        say(stdout, "%s%s\n", entries[i]->what,
            entry_recorded(entries[i]) && entries[i]->result ? "" : " (perhaps)");
    if (n == 0)
        say(stdout, "nothing is left\n");
    if (n == 0 || s->what->dry_run)
        return 0;
    if (s->what->yes)
        return begin(s, n);
    s->unasked = !isatty(STDIN_FILENO);
    return !s->unasked && is_confirmed(n) ? begin(s, n) : 0;
}

static void on_settled(void *arg, const struct entry *entry, bool removed, const char *text)
{
    struct state *s = arg;
    s->settled++;
    one_more(s);
    if (removed)
        say(stdout, "removed: %s (%s)\n", text, entry->what);
    else
        say(stdout, "nothing to remove: %s: %s\n", entry->what, text);
    fflush(stdout);
}

static void on_unknown(void *arg, const struct entry *entry, const err *why)
{
    struct state *s = arg;
    one_more(s);
    say(stdout, "still left: %s\n", entry->what);
    fflush(stdout);
    if (!str_eq(s->told, why->text))
        say(stderr, "firesteel: %s\n", why->text);
    free(s->told);
    s->told = mem_strdup(why->text);
}

int cleaning_run(struct cli *cli, const struct kernel_options *options, const struct cleaning *what)
{
    static const struct clean_ops ops = {
        .left = on_left, .settled = on_settled, .unknown = on_unknown};
    struct state s = {.cli = cli, .what = what};
    err e = {0};
    int result = kernel_clean(options, what->run, &ops, &s, &e);
    own_work_end(s.work);
    free(s.title);
    if (result < 0) {
        if (!s.told)
            say(stderr, "firesteel: %s\n", e.text);
        free(s.told);
        return err_exit_code(e.code);
    }
    if (s.unasked) {
        say(stderr, "firesteel: nothing was removed: there is no terminal to ask on; add --yes\n");
        return 3;
    }
    return s.found == s.settled || what->dry_run ? 0 : 3;
}
