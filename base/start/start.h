// SPDX-License-Identifier: MIT
// Lets a program bring its own loader. Usually PT_INTERP names ld.so by an absolute path. In a
// bundle (k8s/image/programs/relocate.h) that segment has another type and a name relative to the
// program's own folder. Linux then starts the program itself; our code maps ld.so as Linux would
// have done, and jumps to it. So the folder runs wherever it is put, /proc/self/exe is the program,
// and neither a launcher is needed nor a variable that children would inherit.
//    usual    Linux ── ld.so ── start ── _start
//    bundle   Linux ── start: maps ld.so ── ld.so ── _start
#pragma once

enum { START_SEGMENT = 0x6673746c }; // of the type of PT_INTERP in a bundle: "fstl"
// These bytes stand before the first instruction of a program that has this code.
#define START_MARK "fsstart1"
enum { START_MARK_N = sizeof START_MARK - 1 };

// LD_PRELOAD and the like of a host were made for the host's C library. In a bundle they are hidden
// from the loader: the first letter of each LD_ variable becomes this one until the program has
// started, which restores it for its children.
#define START_HIDDEN '\1'
