// SPDX-License-Identifier: MIT
// Verbs that firesteel-kernel carries out, since it has Lua and the bindings.
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cli_become_kernel(struct cli *cli, char **arguments)
{
    err e = {0};
    AUTO_FREE char *program = cli_program(cli, "firesteel-kernel", &e);
    size_t n = strv_len(arguments);
    char **argv = mem_array(n + 2, sizeof *argv);
    argv[0] = mem_strdup(program);
    memcpy(argv + 1, arguments, n * sizeof *argv);
    fflush(stdout);
    if (program) {
        execv(program, argv);
        err_errno(&e, errno, "cannot start %s", program);
    }
    strv_free(argv);
    free(arguments);
    return cli_error(cli, &e);
}
