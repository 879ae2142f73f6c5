// SPDX-License-Identifier: MIT
// For tests of code that uses an API server: apifake.py as a child of the test program, one for all
// cases, and a loop on a thread of its own. Failures end the case.
#pragma once
#include "k8s/client/connect/client.h"

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
// A second client with its own options (a NULL kubeconfig: the fake's); it is closed with the fake.
client *fake_client(struct fake *f, struct client_options options);
// Replaces a file in the fake's folder.
void fake_write(struct fake *f, const char *name, const char *text);
char *fake_read(struct fake *f, const char *name);
// Ends all servers and removes their folders; for main(), after tap_run().
void fake_end(void);
