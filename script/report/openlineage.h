// SPDX-License-Identifier: MIT
// A run as events of OpenLineage (https://openlineage.io/spec/2-0-2/OpenLineage.json), a line of
// JSON each: START, and how it ended. The job is the notebook; inputs and outputs are what
// lineage.h knows. Nothing is sent, and nothing is owned.
#pragma once
#include "base/buf.h"
#include "script/journal/fold.h"

// Appends the events. A run that goes on has no end yet.
void openlineage_write(const fold *f, buf *out);
