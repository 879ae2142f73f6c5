// SPDX-License-Identifier: MIT
// A person's config.yaml: where it is, and the settings in it. A wrong line is a fault and does not
// count; all other settings do, so a broken file never keeps a program from starting.
#pragma once
#include "cli/cli.h"
#include "tui/config/settings.h"

// $FIRESTEEL_CONFIG, or config.yaml in $XDG_CONFIG_HOME/firesteel (else ~/.config/firesteel). New;
// NULL: nobody says where, or FIRESTEEL_CONFIG is "off".
char *config_path(struct cli *cli);
// Reads it; without a file all is as usual. Never NULL.
struct settings *config_read(struct cli *cli);
// "config.yaml line 3: there is no setting …; 2 more faults; :config opens it". false: there is no
// fault.
bool config_fault(const struct settings *s, buf *out);
// Makes the file if it is not there yet, with all settings as comments, and opens it in the
// person's editor, which has the terminal meanwhile.
int config_edit(struct cli *cli, err *e);
