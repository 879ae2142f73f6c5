// SPDX-License-Identifier: MIT
// What a host should have and may lack, with replacements.
#pragma once
#include "cli/cli.h"

// The locale that the environment names ("de_DE.UTF-8"); NULL: none.
const char *host_locale_named(const struct cli *cli);
// Chooses the locale of this program: the one that the environment names. If that is a UTF-8 locale
// that is not installed, as happens over ssh, C.UTF-8 of the host or of our bundle. Returns the
// name of the replacement; NULL: none was needed.
const char *host_locale(const struct cli *cli);

// The command that tries whether users may make namespaces here, new: bubblewrap starts the program
// in new ones, and its exit code is 0 when that works. Where bubblewrap is not installed, the
// command begins with its name all the same.
char **host_try_namespaces(const struct cli *cli, const char *program);
// Do pods of images run in a sandbox here? Takes some milliseconds. -1: the error says why not, and
// what to do.
int host_takes_images(struct cli *cli, err *e);
