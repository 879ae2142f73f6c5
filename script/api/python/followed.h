// SPDX-License-Identifier: MIT
// The kubeconfig of a kernel of Jupyter: one file, whose content follows the cell that runs. One
// process serves many cells, so its $KUBECONFIG cannot be another path for each. The caller owns
// the folder; in it the file is a link to the kubeconfig that refuses, or holds the real one.
#pragma once
#include "script/kernel/effects/binding.h"

#define FOLLOWED_NAME "kubeconfig"

// The real one, new, as one file with absolute paths; its credentials are secrets from then on.
// Without any cluster it is empty.
char *followed_text(call *c, err *e);
// Puts a text there; NULL: the kubeconfig that refuses, whose path is `refusing`.
int followed_set(const char *folder, const char *text, const char *refusing, err *e);
