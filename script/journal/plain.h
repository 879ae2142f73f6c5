// SPDX-License-Identifier: MIT
// The text that a terminal shows for a display without text, as other programs leave in an .ipynb.
// Nothing is owned.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

// Appends it for a MIME bundle: the text of its HTML, another text, JSON; else its type and size:
// "image/png, 12 KB". Appends nothing for types that are drawn (Markdown, our own types).
void plain_stand_in(const cJSON *data, buf *out);
