// SPDX-License-Identifier: MIT
// What programs said, as texts in the results of bindings (binding.said). A cell gets them whole;
// ledger and journal keep the beginning and the end, so that neither grows with the output.
//
//   {output: "…", left_out: {output: 951424}}      left_out: bytes that the text does not have
#pragma once
#include "script/kernel/effects/binding.h" // call_said

// Cuts the middle out of texts above 1 MiB, each time in the same way; names end with a NULL, and
// NULL names none.
void said_shorten(cJSON *result, const char *const *names);
