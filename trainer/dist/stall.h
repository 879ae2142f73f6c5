// SPDX-License-Identifier: MIT
// Finds ranks that wait for others in vain. A rank that waits in an operation reports that every
// second, and reports its end; the driver decides. Times are passed in. The caller that initialised
// a stall owns it.
// This is Horovod's stall check: a warning names the ranks that wait, what for, and who is missing,
// after HOROVOD_STALL_CHECK_TIME_SECONDS; the job ends after HOROVOD_STALL_SHUTDOWN_TIME_SECONDS,
// if that is set. It also ends after the first time if no rank can ever continue, and at once if a
// rank waits in an operation that one which has returned never began.
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

// Operations of one channel are compared among ranks before they begin, so their ranks wait for the
// same. Gradients are not compared, and have a channel of their own. While MPI starts, a rank
// cannot report, so its silence means nothing.
enum stall_channel { STALL_COMPARED, STALL_GRADIENTS, STALL_START, STALL_CHANNELS };
enum { STALL_OPERATION = 96 };

struct stall_rank {
    bool waits, done;
    bool silent; // it reported that it waits, but nothing for some seconds
    enum stall_channel channel;
    char operation[STALL_OPERATION];
    uint32_t number; // number of the operation in its channel, from 1: every rank begins each of
                     // them
    bool counted;    // it has returned, after so many operations of each channel
    uint32_t begun[STALL_CHANNELS];
    int64_t since, heard;
};

struct stall {
    int np;
    int64_t check, shutdown; // ns; 0: never
    struct stall_rank *rank;
    int64_t returned; // when the last rank returned
    bool warned;
};

enum stall_verdict { STALL_NO, STALL_WARN, STALL_END };

void stall_init(struct stall *s, int np, int64_t check, int64_t shutdown);
void stall_free(struct stall *s);
// The body of a rank's message WAITS: the channel (1 byte), the milliseconds waited so far (4), the
// number of the operation in its channel (4), its name. An empty name: the rank no longer waits.
void stall_put(
    buf *body, enum stall_channel channel, int64_t waited, uint32_t number, const char *operation);
// A rank has reported this. Invalid bytes are ignored.
void stall_hear(struct stall *s, int rank, const char *body, size_t n, int64_t now);
// The body of COUNTS from a rank that has returned: how many operations of each channel it has
// begun, 4 bytes each.
void stall_count(struct stall *s, int rank, const char *body, size_t n);
// Call it when a rank has returned and so waits no more.
void stall_done(struct stall *s, int rank, int64_t now);
// For STALL_WARN (once for each stall) and STALL_END there is a text.
enum stall_verdict stall_look(struct stall *s, int64_t now, buf *text);
