// SPDX-License-Identifier: MIT
// Text in lines of a limited width, as kubectl wraps it (github.com/mitchellh/go-wordwrap): line
// ends stay, the spaces at which a line is broken go, and a word that is too long is not cut. A
// plain function on texts.
#pragma once
#include "base/buf.h"

// The limit counts code points.
void wordwrap(buf *out, const char *text, size_t limit);
