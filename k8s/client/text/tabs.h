// SPDX-License-Identifier: MIT
// Columns that are as wide as what stands in them, as Go's text/tabwriter makes them for kubectl: a
// tab ends a cell; cells one below the other, in lines without a gap, have one width. A plain
// function on texts.
//
//   Name:⇥x⏎Namespace:⇥y⏎Containers:⏎  main:⏎    Image:⇥z⏎  →  Name:       x
//                                                             Namespace:  y
//                                                             Containers:
//                                                               main:
//                                                                 Image:  z
#pragma once
#include "base/buf.h"

void tabs_align(buf *out, const char *text);
