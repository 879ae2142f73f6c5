// SPDX-License-Identifier: MIT
#include "cli/podshell.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/foreground.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char shell[] = "command -v bash >/dev/null 2>&1 && exec bash || exec sh";
static const char prefix[] = "firesteel: ";

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

// The last line of what was complained of, since the screen is drawn over all of it; new.
static char *last_line(FILE *complaints)
{
    char line[1024], last[sizeof line] = "";
    rewind(complaints);
    while (fgets(line, sizeof line, complaints))
        memcpy(last, line, sizeof last);
    const char *words = str_starts(last, prefix) ? last + strlen(prefix) : last;
    return str_trim(words, strlen(words));
}

// On a terminal all that the shell says comes on stdout: stderr has our own words alone. A code
// without them is the last command's.
int podshell_run(struct cli *cli, const cJSON *where, err *e)
{
    AUTO_FREE char *program = cli_program(cli, "firesteel", e);
    if (!program)
        return -1;
    FILE *complaints = tmpfile();
    if (!complaints)
        return err_errno(e, errno, "cannot make a file");
    char **argv = command_of(program, where);
    int code = foreground_run(cli, (const char *const *)argv, fileno(complaints), e);
    AUTO_FREE char *why = last_line(complaints);
    strv_free(argv);
    fclose(complaints);
    if (code < 0)
        return -1;
    return code && *why ? err_set(e, ERR_FAILED, "%s", why) : 0;
}
