// SPDX-License-Identifier: MIT
// A program that brings its own loader. Usually PT_INTERP names ld.so, by an absolute path. In a
// bundle (k8s/image/relocate.h) that segment has another type, and names it as seen from the
// program's own folder: then Linux starts the program itself, which maps ld.so as Linux would have
// done, and jumps to it. So a folder runs wherever it is put, /proc/self/exe is the program, and
// there is neither a launcher nor a variable that children would inherit.
//
//   usual    Linux ── ld.so ── start ── _start
//   bundle   Linux ── start: maps ld.so ── ld.so ── _start
#pragma once

enum { START_SEGMENT = 0x6673746c }; // of the type of PT_INTERP in a bundle: "fstl"
// These bytes stand before the first instruction of a program that can do this.
#define START_MARK "fsstart1"
enum { START_MARK_N = sizeof START_MARK - 1 };

// What a host has preloaded was made for its C library. In a bundle the loader sees no LD_
// variable: their first letter is this one until the program has started, which gives it back for
// children.
#define START_HIDDEN '\1'
