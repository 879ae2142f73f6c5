// SPDX-License-Identifier: MIT
// The command line: finds the verb and calls it. Nothing heavy is linked (no Lua, no curl), so that
// `firesteel --version` and completion answer at once.
#include "base/mem.h"
#include "base/os/entry.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/host.h"
#include "cli/places.h"
#include "cli/say.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct verb *const verbs[] = {
    &new_verb,
    &tour_verb,
    &run_verb,
    &check_verb,
    &runs_verb,
    &show_verb,
    &view_verb,
    &lineage_verb,
    &diff_verb,
    &export_verb,
    &convert_verb,
    &clean_verb,
    &prune_verb,
    &attach_verb,
    &ls_verb,
    &stop_verb,
    &vars_verb,
    &wait_verb,
    &sandbox_verb,
    &doctor_verb,
    &bundle_verb,
    &step_verb,
    &exec_verb,
    &cp_verb,
    &port_forward_verb,
    &kernelspec_verb,
    &jupyter_verb,
};

static void print_usage(FILE *to)
{
    say(to, "firesteel: notebooks for models and clusters, in a terminal\n\n"
            "Usage: firesteel [NOTEBOOK]    opens it in the workbench; without a name, a list\n"
            "       firesteel VERB …\n\n");
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        say(to, "  %-12s %s\n", verbs[i]->name, verbs[i]->summary);
    say(to,
        "\n`firesteel VERB --help` tells a verb's options; `firesteel --version` the version.\n");
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (str_eq(verbs[i]->name, name))
            return verbs[i];
    return NULL;
}

static int unknown_verb(const char *name)
{
    if (!*name) {
        say(stderr, "firesteel: the name of the notebook or verb is empty\n");
        return 2;
    }
    const char *names[ARRAY_LEN(verbs) + 1] = {0};
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        names[i] = verbs[i]->name;
    const char *best = str_nearest(name, names);
    say(stderr, "firesteel: unknown verb %s", name);
    if (best)
        say(stderr, "; did you mean `firesteel %s`?\n", best);
    else
        say(stderr, "; `firesteel --help` lists them\n");
    return 2;
}

static void look_around(struct cli *cli)
{
    struct winsize size = {0};
    const char *term = cli_getenv(cli, "TERM"), *columns = cli_getenv(cli, "COLUMNS");
    int64_t width = 0;
    cli->out_tty = isatty(STDOUT_FILENO) == 1;
    cli->err_tty = isatty(STDERR_FILENO) == 1;
    cli->colour = cli->out_tty && !cli_getenv(cli, "NO_COLOR") && term && !str_eq(term, "dumb");
    cli->locale = host_locale(cli);
    cli->terminfo = place_beside_loader("../share/terminfo");
    cli->utf8 = str_eq(nl_langinfo(CODESET), "UTF-8");
    if (cli->out_tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    else if (columns)
        str_to_int(columns, &width);
    cli->width = width >= 20 && width < 10000 ? (int)width : 80;
}

// Each verb prints its own help for --help.
static int help(struct cli *cli, int argc, char **argv)
{
    const struct verb *verb = argc > 2 ? find_verb(argv[2]) : NULL;
    if (verb)
        return verb->run(cli, 2, (char *[]){argv[2], (char *)"--help", NULL});
    if (argc > 2)
        return unknown_verb(argv[2]);
    print_usage(stdout);
    return 0;
}

// An error of a full disk or a closed pipe may come only when the buffer is flushed.
static int check_output(int code)
{
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    if (lost && code == 0) {
        say(stderr, "firesteel: cannot write to standard output\n");
        code = 1;
    }
    return code;
}

int main(int argc, char **argv)
{
    entry_join();
    const char *name = argc > 1 ? argv[1] : NULL;
    if (str_eq(name, "--version") || str_eq(name, "version")) {
        say(stdout, "firesteel %s\n", FIRESTEEL_VERSION);
        return check_output(0);
    }
    struct cli cli = {.env = (const char *const *)environ, .cwd = getcwd(NULL, 0)};
    look_around(&cli);
    cli_sweep(&cli);
    int code = 2;
    const struct verb *verb = name ? find_verb(name) : NULL;
    if (!name && !(cli.out_tty && isatty(STDIN_FILENO)))
        print_usage(stderr);
    else if (!name)
        code = open_verb.run(&cli, argc, argv);
    else if (verb)
        code = verb->run(&cli, argc - 1, argv + 1);
    else if (str_eq(name, "help") || str_eq(name, "--help") || str_eq(name, "-h"))
        code = help(&cli, argc, argv);
    else if (str_ends(name, ".lua") || str_ends(name, ".ipynb") ||
             (path_exists(name) && !path_is_dir(name)))
        code = open_verb.run(&cli, argc, argv);
    else if (name[0] == '-') // options before the notebook, or without a notebook
        code = open_verb.run(&cli, argc, argv);
    else
        code = unknown_verb(name);
    free(cli.cwd);
    return check_output(code);
}
