// SPDX-License-Identifier: MIT
// The files that an application of spark-submit is made from, as far as they are on this machine:
// its program, what is sent along with it, its settings, and the inputs that the cell declares.
#pragma once
#include "script/kernel/effects/binding.h"

// args: those of spark.submit. Records the files as inputs of the cell; {name: sha256}, new. A
// declared input that is not there is null. Folders, patterns and addresses elsewhere are left out.
cJSON *spark_files(call *c, const cJSON *args);
