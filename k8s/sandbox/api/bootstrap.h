// SPDX-License-Identifier: MIT
// The objects a cluster is born with, and those that come with every new namespace or CRD.
#pragma once
#include "k8s/sandbox/store/store.h"

struct bootstrap_options {
    const char *ca;      // PEM, for the config map kube-root-ca.crt
    const char *version; // firesteel's
    const char *node;    // the one node's name
};
// Namespaces, the node, the service `kubernetes`. Then keeps watching: a namespace gets its service
// accounts `default` and `spark` and the certificate; a CRD is added to the kinds and Established.
typedef struct bootstrap bootstrap;
bootstrap *bootstrap_new(store *s, kinds *ks, const struct bootstrap_options *o);
void bootstrap_free(bootstrap *b);
