// SPDX-License-Identifier: MIT
// An .ipynb is saved with what its cells have left in this run; a cell that has not run in it keeps
// what the file had. It is read from the journal, so it is masked as that is; secrets
// that were told later are masked, too.
#pragma once
#include "script/kernel/session/state.h"

// Carries out a message as document_change does; when it saves an .ipynb, with the outputs.
cJSON *saving_change(kernel *k, const cJSON *message, int64_t by, err *e);
