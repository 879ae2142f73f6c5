// SPDX-License-Identifier: MIT
// The ways in which terminals show pictures.
#pragma once

// UNKNOWN: the terminal has been asked and has not answered yet. NONE: a line says what there is.
// BLOCKS: two dots a cell, in the colours of "▀".
// X(symbol, name of the setting "pictures")
#define PICTURE_WAYS(X)                                                                            \
    X(UNKNOWN, "auto")                                                                             \
    X(KITTY, "kitty")                                                                              \
    X(SIXEL, "sixel")                                                                              \
    X(ITERM2, "iterm2")                                                                            \
    X(BLOCKS, "blocks")                                                                            \
    X(NONE, "none")
enum picture_way {
#define X(symbol, name) WAY_##symbol,
    PICTURE_WAYS(X)
#undef X
};
