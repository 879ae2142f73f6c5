// SPDX-License-Identifier: MIT
// firesteel-jupyter: stands between firesteel-kernel and one kernel of Jupyter. People never start
// it themselves.
#include "base/os/entry.h"
#include "base/str.h"
#include "script/jupyter/bridge.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc > 1 && str_eq(argv[1], "--version"))
        return puts("firesteel-jupyter " FIRESTEEL_VERSION) < 0;
    if (argc > 1 || isatty(STDIN_FILENO)) {
        fputs("firesteel-jupyter speaks with firesteel-kernel, which starts it\n", stderr);
        return 2;
    }
    entry_serve(-1);
    signal(SIGPIPE, SIG_IGN);
    return bridge_run(STDIN_FILENO, STDOUT_FILENO) < 0;
}
