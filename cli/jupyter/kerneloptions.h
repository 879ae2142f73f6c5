// SPDX-License-Identifier: MIT
// The options of a kernel that Jupyter starts: `firesteel kernelspec install` writes them into the
// kernelspec, and `firesteel jupyter` gets them from there.
#pragma once
#include "cli/notebookoptions.h"

// o: a struct serve_options (serve.h).
#define KERNEL_OPTIONS(o)                                                                          \
    {"allow", 0, "EFFECT",                                                                         \
        "effects that are not asked for: cluster, destructive; both with a comma",                 \
        .text = &(o).allow},                                                                       \
        {"read-only", 0, NULL, "nothing is changed elsewhere", .given = &(o).read_only},           \
        {"sandbox", 0, NULL, "with a private sandbox (=processes: its pods are plain processes)",  \
            .word = "processes", .given = &(o).sandbox, .text = &(o).processes},                   \
        PLACE_OPTIONS(o),                                                                          \
    {                                                                                              \
        "memory", 0, "SIZE", "the most memory of Lua, as 512M or 4G (2G)", .text = &(o).memory     \
    }
