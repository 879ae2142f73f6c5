// SPDX-License-Identifier: MIT
// What a host should have and may lack, and what stands in for it.
#pragma once
#include "cli/cli.h"

// The locale that the environment names ("de_DE.UTF-8"); NULL: none.
const char *host_locale_named(const struct cli *cli);
// Chooses the locale of this program: the one that the environment names; where it is one of UTF-8
// that is not installed, as over ssh, C.UTF-8 of the host or of our bundle. Returns the name of
// what is used instead; NULL: nothing is.
const char *host_locale(const struct cli *cli);
