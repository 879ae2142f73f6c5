// SPDX-License-Identifier: MIT
// A pressed key as one number: a code point or a named key, and modifiers. Names are as people
// write them: "a", "C-e", "M-Up", "S-Enter", "PgDn", "Space", "C-\\".
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t key; // 0 is no key

// KEY_ESCAPED accompanies KEY_ALT when the terminal sent an Esc before the key. That means Alt, or
// the two keys in one packet: code that knows the bindings decides.
enum {
    KEY_SHIFT = 1 << 24,
    KEY_ALT = 1 << 25,
    KEY_CTRL = 1 << 26,
    KEY_ESCAPED = 1 << 27,
    KEY_CODE = (1 << 24) - 1,
};

// Keys without a character.  X(symbol, name)
#define NAMED_KEYS(X)                                                                              \
    X(ENTER, "Enter")                                                                              \
    X(TAB, "Tab")                                                                                  \
    X(ESC, "Esc")                                                                                  \
    X(BACKSPACE, "Backspace")                                                                      \
    X(UP, "Up")                                                                                    \
    X(DOWN, "Down")                                                                                \
    X(LEFT, "Left")                                                                                \
    X(RIGHT, "Right")                                                                              \
    X(HOME, "Home")                                                                                \
    X(END, "End")                                                                                  \
    X(PGUP, "PgUp")                                                                                \
    X(PGDN, "PgDn")                                                                                \
    X(INSERT, "Insert")                                                                            \
    X(DELETE, "Delete")                                                                            \
    X(F1, "F1")                                                                                    \
    X(F2, "F2")                                                                                    \
    X(F3, "F3")                                                                                    \
    X(F4, "F4")                                                                                    \
    X(F5, "F5")                                                                                    \
    X(F6, "F6")                                                                                    \
    X(F7, "F7")                                                                                    \
    X(F8, "F8")                                                                                    \
    X(F9, "F9")                                                                                    \
    X(F10, "F10")                                                                                  \
    X(F11, "F11")                                                                                  \
    X(F12, "F12")

// These come after the last code point. The blank is the character ' ', written "Space".
enum named_key {
    FK_FIRST = 0x110000 - 1,
#define X(symbol, name) FK_##symbol,
    NAMED_KEYS(X)
#undef X
};

// A terminal cannot tell some keys apart, so they are made one: Ctrl with a letter is lower case,
// Ctrl-M is Enter, Ctrl-I Tab, Ctrl-H Backspace, Ctrl-[ Esc; Shift with a printable character is
// that character.
key key_normal(key k);
// The key named at the start of s, with its length in *len; 0 when there is none.
key key_parse(const char *s, size_t n, size_t *len);
// Writes its name, NUL-terminated.
enum { KEY_NAME_SIZE = 32 };
void key_print(key k, char out[KEY_NAME_SIZE]);
// The character that it types, or 0: it has Ctrl or Alt, or is a named key (as Enter and Tab are).
uint32_t key_character(key k);
