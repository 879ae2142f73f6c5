// SPDX-License-Identifier: MIT
// firesteel ls: lists the living kernels.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/print/print.h"
#include "cli/workbench/offers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 7 };

static const char *const heads[COLUMNS] = {
    "RUN", "PID", "STATE", "ENDS", "MEMORY", "HOLDS", "FOLDER"};

// The time at which an unused kernel ends.
static char *end_of(const struct kernel *k)
{
    AUTO_BUF text = {0};
    if (k->refused)
        return mem_strdup("?");
    if (k->headless || k->lifetime < 0)
        return mem_strdup(k->headless ? "with its run" : "?");
    if (k->held && k->unused >= 0)
        return str_fmt("not while %s", k->held);
    if (k->unused >= 0) {
        buf_str(&text, "in ");
        duration_age(&text, (k->lifetime > k->unused ? k->lifetime - k->unused : 0) * CLOCK_MS);
        return buf_take(&text);
    }
    if (!k->lifetime)
        return mem_strdup("with its terminal");
    duration_age(&text, k->lifetime * CLOCK_MS);
    buf_str(&text, " after use");
    return buf_take(&text);
}

// The fields of a row, all new.
static void fill_row(const struct kernel *k, char *row[COLUMNS])
{
    row[0] = mem_strdup(k->run);
    row[1] = str_fmt("%d", k->pid);
    row[2] = str_fmt("%s%s", k->state, k->unsaved ? ", unsaved" : "");
    row[3] = end_of(k);
    row[4] = str_fmt("%lldM", (long long)((k->memory + (1 << 19)) >> 20));
    row[5] = mem_strdup(k->holds ? k->holds : "-");
    row[6] = mem_strdup(k->cwd);
}

static void print_row(const char *const row[COLUMNS], const int widths[COLUMNS])
{
    for (size_t i = 0; i < COLUMNS; i++) {
        bool last = i == COLUMNS - 1, right = i == 1 || i == 4; // numbers
        say(stdout, right ? "%*s%s" : "%-*s%s", last ? 0 : widths[i], row[i], last ? "" : "  ");
    }
}

static void print_head(const struct cli *cli, const int widths[COLUMNS])
{
    say_tone(cli, TONE_BOLD);
    print_row(heads, widths);
    say_tone(cli, TONE_PLAIN);
    say(stdout, "\n");
}

// Shown when there is a choice of which kernel to stop: how much memory is used of the limit.
static void print_share(struct cli *cli, const struct kernels *k)
{
    int64_t sum = 0;
    for (size_t i = 0; i < k->n; i++)
        sum += k->list[i].unused >= 0 ? k->list[i].memory : 0;
    if (sum)
        say(stderr,
            "unused kernels have %lldM of memory, and may have %lldM (FIRESTEEL_KEPT_MEMORY); "
            "beyond "
            "that the ones that have been unused longest end\n",
            (long long)(sum >> 20), (long long)(cli_kept_memory(cli) >> 20));
}

static int list(struct cli *cli)
{
    struct kernels k;
    err e = {0};
    if (kernels_find(cli, &k, &e) < 0)
        return cli_error(cli, &e);
    if (!k.n)
        say(stderr, "No kernel is running\n");
    kernels_measure(&k);
    struct offers sorted = {0};
    offers_kernels(&sorted, &k, cli->cwd);
    char *(*rows)[COLUMNS] = mem_array(sorted.n + 1, sizeof *rows);
    int widths[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++)
        widths[c] = (int)strlen(heads[c]);
    for (size_t i = 0; i < sorted.n; i++) {
        fill_row(sorted.list[i].kernel, rows[i]);
        for (size_t c = 0; c < COLUMNS; c++)
            widths[c] = (int)strlen(rows[i][c]) > widths[c] ? (int)strlen(rows[i][c]) : widths[c];
    }
    if (k.n)
        print_head(cli, widths);
    for (size_t i = 0; i < sorted.n; i++) {
        print_row((const char *const *)rows[i], widths);
        say(stdout, "\n");
        for (size_t c = 0; c < COLUMNS; c++)
            free(rows[i][c]);
    }
    free(rows);
    print_share(cli, &k);
    offers_done(&sorted);
    kernels_done(&k);
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const struct option options[] = {{0}};
    char **rest = NULL;
    int code;
    if (options_parse(cli, &ls_verb, options, argc, argv, &rest, &code) == 0)
        code = rest ? cli_usage(cli, &ls_verb, "it takes no argument: %s", rest[0]) : list(cli);
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb ls_verb = {
    .name = "ls",
    .summary = "list the kernels that are alive",
    .usage = "",
    .run = run,
};
