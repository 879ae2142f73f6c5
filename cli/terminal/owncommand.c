// SPDX-License-Identifier: MIT
#include "cli/terminal/owncommand.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/terminal/foreground.h"

#include <stdio.h>
#include <unistd.h>

// env(1) gives the command its kubeconfig.
static char **words_of(const cJSON *what)
{
    char **argv = mem_array(1, sizeof *argv);
    const char *kubeconfig = json_str(what, "kubeconfig");
    AUTO_FREE char *setting = kubeconfig ? str_fmt("KUBECONFIG=%s", kubeconfig) : NULL;
    const cJSON *word;
    if (setting)
        argv = strv_add(strv_add(argv, "env"), setting);
    cJSON_ArrayForEach(word, json_get(what, "command"))
    {
        argv = strv_add(argv, cJSON_IsString(word) ? word->valuestring : "");
    }
    return argv;
}

static void wait_for_enter(void)
{
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
        ;
}

int owncommand_run(struct cli *cli, const cJSON *what, err *e)
{
    char **argv = words_of(what);
    int code = foreground_run(cli, (const char *const *)argv, STDERR_FILENO, e);
    strv_free(argv);
    if (code < 0)
        return -1;
    dprintf(STDOUT_FILENO,
        code ? "\n-- it ended with %d; Enter goes back --\n" : "\n-- Enter goes back --\n", code);
    wait_for_enter();
    return 0;
}

char *owncommand_browser(const struct cli *cli)
{
    const char *browser = cli_getenv(cli, "BROWSER");
    bool display = cli_getenv(cli, "DISPLAY") || cli_getenv(cli, "WAYLAND_DISPLAY");
    if (browser && *browser)
        return mem_strdup(browser);
    return display ? mem_strdup("xdg-open") : NULL;
}
