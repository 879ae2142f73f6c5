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

// The words that try whether users may make namespaces here, by starting our program in some: exit
// code 0. They begin with bubblewrap, or with its name where there is none. New.
char **host_try_namespaces(const struct cli *cli, const char *program);
// Do pods of images run in a sandbox here? Takes some milliseconds. -1: tells why not, and what to
// do.
int host_takes_images(struct cli *cli, err *e);
