// SPDX-License-Identifier: MIT
#include "cli/cleaning.h"
#include "cli/say.h"

#include "script/kernel/session/clean.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct state {
    const struct cleaning *what;
    size_t found, removed;
    bool unasked; // it would have had to ask, and there is no terminal
};

static bool is_confirmed(size_t n)
{
    char answer[16];
    say(stdout, "Remove %s? [y/N] ", n == 1 ? "it" : "them");
    fflush(stdout);
    return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
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
        return 1;
    s->unasked = !isatty(STDIN_FILENO);
    return !s->unasked && is_confirmed(n);
}

static void on_removed(void *arg, const struct entry *entry)
{
    struct state *s = arg;
    s->removed++;
    say(stdout, "removed: %s\n", entry->what);
    fflush(stdout);
}

int cleaning_run(const struct kernel_options *options, const struct cleaning *what)
{
    static const struct clean_ops ops = {.left = on_left, .removed = on_removed};
    struct state s = {.what = what};
    err e = {0};
    if (kernel_clean(options, what->run, &ops, &s, &e) < 0) {
        say(stderr, "firesteel: %s\n", e.text);
        return err_exit_code(e.code);
    }
    if (s.unasked) {
        say(stderr, "firesteel: nothing was removed: there is no terminal to ask on; add --yes\n");
        return 3;
    }
    return s.found == s.removed || what->dry_run ? 0 : 3;
}
