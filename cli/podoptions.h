// SPDX-License-Identifier: MIT
// The options that exec, cp and port-forward have in common.
#pragma once
#include "cli/options.h"

struct pod_options {
    const char *container, *context, *kubeconfig, *ns;
    char **allowed, **protect;
    bool read_only;
};
#define POD_OPTIONS(o)                                                                             \
    {"namespace", 'n', "NAME", "else the context's", .text = &(o).ns},                             \
        {"context", 0, "NAME", "of the kubeconfig", .text = &(o).context},                         \
        {"kubeconfig", 0, "FILE", "else $KUBECONFIG", .text = &(o).kubeconfig},                    \
        {"allow-protected", 0, "CONTEXT", "also where the kubeconfig protects it; any number",     \
            .list = &(o).allowed},                                                                 \
        {"protect", 0, "PATTERN", "contexts where it is asked for; any number",                    \
            .list = &(o).protect},                                                                 \
    {                                                                                              \
        "read-only", 0, NULL, "refuse what changes something in the cluster",                      \
            .given = &(o).read_only                                                                \
    }
// Is it "POD" or "TYPE/NAME", with no part empty?
bool pod_is_named(const char *word);
// Appends an option of firesteel-kernel; nothing for NULL.
char **pod_words(char **words, const char *option, const char *value);
// Becomes firesteel-kernel with these words (taken) and the options.
int pod_become(struct cli *cli, char **words, struct pod_options *o);
void pod_options_done(struct pod_options *o);
