// SPDX-License-Identifier: MIT
#include "cli/terminal/podshell.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/terminal/foreground.h"

static const char shell[] = "command -v bash >/dev/null 2>&1 && exec bash || exec sh";

static char **add(char **argv, const char *option, const char *value)
{
    return value ? strv_add(strv_add(argv, option), value) : argv;
}

static char **command_of(const char *program, const cJSON *where)
{
    char **argv = mem_array(1, sizeof *argv);
    argv = add(strv_add(argv, program), "exec", "-it");
    argv = add(argv, "--kubeconfig", json_str(where, "kubeconfig"));
    argv = add(argv, "--context", json_str(where, "context"));
    argv = add(argv, "--allow-protected", json_str(where, "context"));
    argv = add(argv, "--namespace", json_str(where, "namespace"));
    argv = add(argv, "--container", json_str(where, "container"));
    argv = add(strv_add(argv, json_str_or(where, "pod", "")), "--", "sh");
    return add(argv, "-c", shell);
}

int podshell_run(struct cli *cli, const cJSON *where, err *e)
{
    AUTO_FREE char *program = cli_program(cli, "firesteel", e);
    if (!program)
        return -1;
    char **argv = command_of(program, where);
    int result = foreground_ours(cli, (const char *const *)argv, e);
    strv_free(argv);
    return result;
}
