// SPDX-License-Identifier: MIT
// What a terminal shows of a display that came without a text, as other programs leave them in an
// .ipynb. Nothing is owned.
#pragma once
#include "base/buf.h"
#include "base/json.h"

// Appends it for a MIME bundle: the text of its HTML, another text, JSON; else what it is and how
// much: "image/png, 12 KB". Nothing for what has a drawing of its own (Markdown, our own types).
void plain_stand_in(const cJSON *data, buf *out);
