// SPDX-License-Identifier: MIT
// The earlier options of a resumed run, from its journal: used unless new ones are given.
// Differences are reported. Owns nothing.
#pragma once
#include "script/kernel/session/kernel.h"
#include "script/notebook/params.h"

// Parameters of a run: all of them, and those that were given to it.
struct parameters {
    cJSON *values, *given;
};
void parameters_done(struct parameters *p);

// Sets the parameters that were given to the run before; leaves out those that no longer exist.
// ERR_USAGE: the journal hides a value, and it was not given again.
int past_give(const struct kernel_options *o, struct params *params, err *e);
// A text for people: what the run continues with, and what differs; new.
char *past_message(const struct kernel_options *o, const struct parameters *now);
