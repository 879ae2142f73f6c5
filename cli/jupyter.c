// SPDX-License-Identifier: MIT
// firesteel-jupyter: stands between firesteel-kernel and one kernel of Jupyter; with --serve FILE
// between Jupyter and `firesteel jupyter`. People never start it themselves.
#include "base/os/entry.h"
#include "base/str.h"
#include "script/jupyter/bridge.h"
#include "script/jupyter/service.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc > 1 && str_eq(argv[1], "--version"))
        return puts("firesteel-jupyter " FIRESTEEL_VERSION) < 0;
    bool serves = argc == 3 && str_eq(argv[1], "--serve");
    if ((argc > 1 && !serves) || isatty(STDIN_FILENO)) {
        fputs(
            "firesteel-jupyter speaks with other programs of firesteel, which start it\n", stderr);
        return 2;
    }
    entry_serve(-1);
    signal(SIGPIPE, SIG_IGN);
    return (serves ? service_run(argv[2], STDIN_FILENO, STDOUT_FILENO)
                   : bridge_run(STDIN_FILENO, STDOUT_FILENO)) < 0;
}
