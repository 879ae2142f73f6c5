// SPDX-License-Identifier: MIT
// The options of verbs that give a notebook a kernel: its parameters, and where it works.
#pragma once
#include "cli/options.h"

#define KEEP_OPTION(cli)                                                                           \
    {                                                                                              \
        "keep", 0, "DURATION",                                                                     \
            "how long the kernel stays when nobody uses it (24h; 0: it ends with the last "        \
            "terminal; or FIRESTEEL_KEEP)",                                                        \
            .text = &(cli)->keep                                                                   \
    }
// Which cluster and registry a kernel uses. The fields are those of the verb's own options; protect
// is a list.
#define PLACE_OPTIONS(o)                                                                           \
    {"protect", 0, "PATTERN", "contexts to protect as the kubeconfig may; may be repeated",        \
        .list = &(o).protect},                                                                     \
        {"context", 0, "NAME", "context of the kubeconfig", .text = &(o).context},                 \
        {"namespace", 'n', "NAME", "namespace", .text = &(o).namespace_},                          \
        {"kubeconfig", 0, "FILE", "another kubeconfig", .text = &(o).kubeconfig},                  \
    {                                                                                              \
        "registry", 0, "HOST[/PREFIX]", "where images go that name no registry",                   \
            .text = &(o).registry                                                                  \
    }
// The fields are those of the verb's own options: parameters, files, yaml and protect are lists.
#define NOTEBOOK_OPTIONS(o)                                                                        \
    {"param", 'p', "NAME=VALUE",                                                                   \
        "a parameter of the notebook (NAME@FILE: a file has it); may be repeated",                 \
        .list = &(o).parameters},                                                                  \
        {"parameters-file", 'f', "FILE",                                                           \
            "YAML or JSON with a value for each NAME; -p wins over it; may be repeated",           \
            .list = &(o).files},                                                                   \
        {"parameters", 0, "FILE", "the same as --parameters-file", .list = &(o).files},            \
        {"parameters-yaml", 'y', "YAML",                                                           \
            "such a mapping itself: '{epochs: 3, sizes: [1, 2]}'; wins over files, -p over it",    \
            .list = &(o).yaml},                                                                    \
        PLACE_OPTIONS(o),                                                                          \
    {                                                                                              \
        "cwd", 0, "DIR", "working folder, instead of the notebook's own", .text = &(o).cwd         \
    }
