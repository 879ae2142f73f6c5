// SPDX-License-Identifier: MIT
// What this machine's settings for docker and containers say about a registry: the authority that
// vouches for it, our own certificate there, and whether it may go without. A `trust` owns its
// bytes. Sources: docker's certs.d and daemon.json, containers-certs.d(5),
// containers-registries.conf(5).
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

// Where to look; strings are borrowed. NULL: not given.
struct trust_places {
    const char *config;          // $XDG_CONFIG_HOME, or ~/.config
    const char *etc;             // "/etc"
    const char *registries_conf; // $CONTAINERS_REGISTRIES_CONF
};

struct trust {
    buf ca, cert, key; // PEM; empty: none
    char *ca_from;     // the folder of the authority; NULL: none
    bool insecure;     // people said that it need not be verified, nor have TLS
};
// host: "HOST[:PORT]". The first of these folders that exists counts:
// CONFIG/containers/certs.d/HOST, ETC/containers/certs.d/HOST, ETC/docker/certs.d/HOST; in it *.crt
// are authorities, and X.cert with X.key is our certificate. Errors: ERR_NOT_FOUND for a
// certificate without a key, ERR_IO.
int trust_find(const struct trust_places *p, const char *host, struct trust *t, err *e);
void trust_done(struct trust *t);
