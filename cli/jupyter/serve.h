// SPDX-License-Identifier: MIT
// firesteel as a kernel of Jupyter: Jupyter's requests become those of a client of a session, as
// the workbench is one, and what the session reports becomes Jupyter's messages.
//
//   JupyterLab ── sockets ── firesteel-jupyter ── lines ── firesteel jupyter ── socket ──
//   firesteel-kernel
#pragma once
#include "cli/cli.h"

// What the kernelspec says; NULL and false where it says nothing. Borrowed.
struct serve_options {
    const char *connection; // Jupyter's file
    const char *allow, *context, *namespace_, *kubeconfig, *registry, *memory, *processes;
    char **protect;
    bool sandbox, read_only;
};

// Serves until Jupyter says that it is enough, or has gone. Returns the exit code.
int serve_jupyter(struct cli *cli, const struct serve_options *o);
