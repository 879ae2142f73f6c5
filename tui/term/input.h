// SPDX-License-Identifier: MIT
// Turns the bytes that terminals send for keys and pastes into events: the sequences of xterm and
// its relatives, of the Linux console, of terminfo, CSI u and modifyOtherKeys. Pure; it owns bytes
// that wait for the rest of their sequence.
#pragma once
#include "tui/term/term.h"

typedef struct input input;
input *input_new(void);
void input_free(input *in);
// A sequence of the terminal's own (from terminfo); shorter than INPUT_SEQUENCE bytes.
enum { INPUT_SEQUENCE = 16 };
void input_add_key(input *in, const char *sequence, key k);

void input_feed(input *in, const char *bytes, size_t n);
// The next key, paste or report of the terminal; EVENT_NONE: none yet. `late`: input_wait_ms has
// passed since the last bytes, so that an Esc is the key Esc. Unknown sequences are dropped.
struct term_event input_next(input *in, bool late);
// The milliseconds of silence after which `late` turns held bytes into an event; for an Esc
// escape_ms; -1: no bytes are held.
int input_wait_ms(const input *in, int escape_ms);
