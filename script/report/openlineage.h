// SPDX-License-Identifier: MIT
// Prints a run as events of OpenLineage (https://openlineage.io/spec/2-0-2/OpenLineage.json), a
// line of JSON each: START, and the end. The job is the notebook; inputs and outputs are what
// lineage.h knows. Sends nothing and owns nothing.
#pragma once
#include "base/buf.h"
#include "script/journal/fold/fold.h"

// Appends the events. A run that is still going on has no end event.
void openlineage_write(const fold *f, buf *out);
