// SPDX-License-Identifier: MIT
// firesteel wait: waits until a run has ended and its reports are written; its exit code is the
// run's.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/owner.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/kernels.h"
#include "cli/options.h"
#include "cli/print/print.h"
#include "cli/report.h"
#include "script/journal/file/reader.h"
#include "script/journal/fold/fold.h"
#include "script/journal/runs/runs.h"

#include <stdio.h>
#include <unistd.h>

// Between two checks: we cannot wait for the locks that show whether the run is over.
enum { FIRST_MS = 10, LAST_MS = 200 };

struct waited {
    char *run, *journal, *mark;
};

static void waited_done(struct waited *w)
{
    free(w->run);
    free(w->journal);
    free(w->mark);
}

static bool goes_on(const struct waited *w)
{
    return journal_is_written(w->journal) || owner_alive(w->mark);
}

// false: it is still running. until: clock_mono, 0: no limit.
static bool wait_for_end(const struct waited *w, int64_t until)
{
    int64_t pause = FIRST_MS;
    while (goes_on(w)) {
        int64_t left = until - clock_mono();
        if (until && left <= 0)
            return false;
        int64_t nap = pause * CLOCK_MS;
        usleep((useconds_t)((until && left < nap ? left : nap) / 1000 + 1));
        pause = pause < LAST_MS ? pause * 2 : LAST_MS;
    }
    return true;
}

static int tell(struct cli *cli, const struct waited *w)
{
    err e = {0};
    fold *f = fold_shown(w->journal, NULL, &e);
    if (!f)
        return cli_error(cli, &e);
    int code = fold_exit(f);
    print_summary(cli, f);
    if (code < 0) {
        err_set(&e, ERR_FAILED, "%s was killed: its journal has no end", w->run);
        code = cli_error(cli, &e);
    }
    fold_free(f);
    return code;
}

// A run of the folder, else a running one elsewhere.
static int find(struct cli *cli, const char *folder, const char *name, struct waited *w, err *e)
{
    err unheard = {0};
    struct kernels alive = {0};
    w->run = runs_pick(folder, NULL, name, e);
    bool ask = !w->run && !journal_means_newest(name) && kernels_find(cli, &alive, &unheard) == 0;
    const struct kernel *k = ask ? kernels_get(&alive, name, &unheard) : NULL;
    if (k)
        w->run = mem_strdup(k->run);
    w->journal = w->run ? journal_file(k ? k->cwd : folder, w->run) : NULL;
    kernels_done(&alive);
    return w->run ? 0 : -1;
}

static int wait_run(
    struct cli *cli, const char *folder, const char *name, const char *timeout, int64_t until)
{
    err e = {0};
    CLEANUP(waited_done) struct waited w = {0};
    AUTO_FREE char *runtime = cli_runtime_dir(cli, &e);
    if (!runtime || find(cli, folder, name, &w, &e) < 0)
        return cli_error(cli, &e);
    w.mark = report_mark(runtime, w.run);
    if (cli->err_tty && goes_on(&w))
        say(stderr, "waiting for %s; an interrupt ends the waiting, not the run\n", w.run);
    if (wait_for_end(&w, until))
        return tell(cli, &w);
    err_set(&e, ERR_TIMEOUT, "%s goes on after %s", w.run, timeout);
    return cli_error(cli, &e);
}

// Waits for all runs, one after another in the given order, whatever the result of the first.
static int wait_all(struct cli *cli, const char *folder, char *const *names, const char *timeout)
{
    err e = {0};
    int64_t ns = 0;
    if (timeout && duration_parse(timeout, &ns, &e) < 0)
        return cli_usage(cli, &wait_verb, "--timeout: %s", e.text);
    if (timeout && ns <= 0)
        return cli_usage(cli, &wait_verb,
            "--timeout %s: must be more than nothing; leave it out for no limit", timeout);
    int64_t until = ns ? clock_add(clock_mono(), ns) : 0;
    int code = names ? 0 : wait_run(cli, folder, NULL, timeout, until);
    for (; names && *names; names++) {
        int one = wait_run(cli, folder, *names, timeout, until);
        code = code ? code : one;
    }
    return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *cwd = NULL, *timeout = NULL;
    const struct option options[] = {
        {"timeout", 0, "DURATION", "wait no longer than that: 90s, 15m (exit code 4)",
            .text = &timeout},
        {"cwd", 0, "DIR", "working folder of the run, instead of this one", .text = &cwd},
        {0},
    };
    char **rest = NULL;
    AUTO_FREE char *folder = NULL;
    int code;
    if (options_parse(cli, &wait_verb, options, argc, argv, &rest, &code) == 0)
        code =
            wait_all(cli, folder = cli_runs_folder(cli, cwd, rest ? rest[0] : NULL), rest, timeout);
    strv_free(rest);
    return code;
}

const struct verb wait_verb = {
    .name = "wait",
    .summary = "wait for the end of runs, and exit as they did",
    .usage = "[RUN…] [--timeout DURATION]\n\n"
             "Returns when the run has ended and its reports are written, with its exit code and\n"
             "summary; an interrupt ends the waiting, not the run. RUN is a name from\n"
             "`firesteel runs`, its beginning or end, newest, -2 or a notebook; without it, the "
             "newest.\n"
             "Of several the exit code is\n"
             "that of the first that is not 0.",
    .run = run,
    .takes_runs = true,
};
