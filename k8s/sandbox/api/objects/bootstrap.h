// SPDX-License-Identifier: MIT
// The objects that a new cluster has, and those that come with every new namespace or CRD.
#pragma once
#include "k8s/sandbox/store/store.h"

struct bootstrap_options {
    const char *ca;      // PEM, for the config map kube-root-ca.crt
    const char *version; // firesteel's
    const char *node;    // the one node's name
};
// Adds namespaces, the node, and the service `kubernetes`. Then it keeps watching: a namespace gets
// the service accounts `default` and `spark`, and the certificate; a CRD's kind is added and the
// CRD set to Established.
typedef struct bootstrap bootstrap;
bootstrap *bootstrap_new(store *s, kinds *ks, const struct bootstrap_options *o);
void bootstrap_free(bootstrap *b);
