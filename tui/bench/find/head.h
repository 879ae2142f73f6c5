// SPDX-License-Identifier: MIT
// How cells differ from the notebook's file in git's HEAD. Nothing is owned.
#pragma once
#include "tui/bench/slots.h"

enum head_state { HEAD_SAME, HEAD_CHANGED, HEAD_NEW };
enum head_state slot_head(bench *b, size_t i); // SAME where there is no such file
