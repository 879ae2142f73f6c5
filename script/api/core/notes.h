// SPDX-License-Identifier: MIT
// What models that a worker saves say in their metadata of where they came from: the text of
// FIRESTEEL_NOTES, a JSON object of texts. Callers free what they get.
//
// Files travel, so no secret is in it; and the same training gives the same bytes wherever its
// results go, so neither run nor outputs are named.
#pragma once
#include "base/json/json.h"
#include "script/kernel/effects/binding.h"

// Of trainer.run's arguments {script, args, outputs}; files: the digests of trainer and inputs.
char *notes_of_trainer(call *c, const cJSON *args, const cJSON *files);
// Of hvd.run's packed function, base64; NULL: nothing, as it holds a secret.
char *notes_of_function(call *c, const char *packed);
