// SPDX-License-Identifier: MIT
// What a resumed run was started with, as its journal tells: it holds where nothing else is said,
// and what is different now is told. Owns nothing.
#pragma once
#include "script/kernel/session/kernel.h"
#include "script/notebook/params.h"

// Of a run: all of them, and those that were given to it.
struct parameters {
    cJSON *values, *given;
};
void parameters_done(struct parameters *p);

// Gives what the run was given before; what is no parameter any more is left out. Errors: ERR_USAGE
// for one that the journal hides, unless it is given anew.
int past_give(const struct kernel_options *o, struct params *params, err *e);
// For people: what it goes on with, and what was another; new.
char *past_message(const struct kernel_options *o, const struct parameters *now);
