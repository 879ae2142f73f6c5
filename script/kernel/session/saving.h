// SPDX-License-Identifier: MIT
// Saves an .ipynb with the outputs of its cells in this run; a cell that has not run in it keeps
// the file's outputs. Outputs are read from the journal, so they are masked; secrets that became
// known later are masked, too.
#pragma once
#include "script/kernel/session/state.h"

// Carries out a message as document_change does; an .ipynb is saved with the outputs.
cJSON *saving_change(kernel *k, const cJSON *message, int64_t by, err *e);
