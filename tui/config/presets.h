// SPDX-License-Identifier: MIT
// What the presets of config.yaml bind beside the usual keys. Constant.
#pragma once
#include "tui/config/settings.h"

struct preset_key {
    const char *place, *keys;
    enum action action;
};
const struct preset_key *preset_keys(enum setting_preset preset, size_t *n);
