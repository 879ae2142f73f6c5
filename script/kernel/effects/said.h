// SPDX-License-Identifier: MIT
// Output of programs, as texts in the results of bindings (binding.said). A cell gets it whole;
// ledger and journal keep only the beginning and the end, so that they do not grow with it.
//    {output: "…", left_out: {output: 951424}}      left_out: bytes that were cut
#pragma once
#include "script/kernel/effects/binding.h" // call_said

// Cuts the middle out of texts above 1 MiB, always in the same way. The names end with NULL; names
// NULL: nothing is cut.
void said_shorten(cJSON *result, const char *const *names);
