// SPDX-License-Identifier: MIT
// For tests of what talks to an API server: apifake.py as a child of the test program, one for all
// cases, and a loop that runs on a thread of its own. Failures end the case.
#pragma once
#include "k8s/client/client.h"

struct fake {
    const char *dir; // its certificates, tokens and kubeconfig
    int port;
    loop *loop;
    http *http;
    client *client;
    struct patience patience;
    err e;
};
// legacy: a server without aggregated discovery. Starts the server on first use.
struct fake *fake_open(bool legacy);
void fake_close(struct fake *f);
// A second client, with its own options (kubeconfig is the fake's when it is NULL); closed with it.
client *fake_client(struct fake *f, struct client_options options);
// Replaces a file in its folder.
void fake_write(struct fake *f, const char *name, const char *text);
char *fake_read(struct fake *f, const char *name);
// All servers end, and their folders go; for main(), after tap_run().
void fake_end(void);
