// SPDX-License-Identifier: MIT
// What a driver and its job are made of. Private to the driver: driver.c has the job and its loop,
// peers.c who has called (strangers, executors), ranks.c what ranks say, wherever they run.
#pragma once
#include "trainer/dist/driver.h"
#include "trainer/dist/launch.h"
#include "trainer/dist/message.h"
#include "trainer/dist/pmi.h"

enum peer_state { STRANGER, EXECUTOR };

struct peer {
    enum peer_state state;
    int fd;
    int64_t deadline; // a stranger's
    uint8_t nonce[NONCE_SIZE];
    buf in;
    bool busy; // an executor: it has ranks
    char host[64];
};

struct driver {
    struct driver_options options;
    char *secret;
    int listener; // -1 without executors: nobody need call
    struct peer **peers;
    size_t n;
    struct run *run; // the job under way
};

struct rank {
    struct peer *host; // the executor that has it; NULL: it is here, or its executor is gone
    buf in;            // of its link
    // Output, not yet complete lines: what it says over its link, and what its children print.
    buf said[2], printed[2];
    bool ready, done; // it waits for the job; its result is there
    bool gone;
};

// A cause that a better one may follow: ranks that lose a peer fail, too.
struct suspicion {
    bool there;
    int64_t since;
    err why;
};

struct run {
    const struct job *job;
    struct job_result *result;
    launch launch; // the ranks that are here
    pmi *pmi;
    struct rank *ranks;
    const struct driver_options *options;
    int started, finished, gone;
    struct suspicion suspicion;
    bool failed;
    err why;
};

size_t peers_count(const driver *d, enum peer_state state);
bool peers_any_busy(const driver *d); // does an executor still have ranks?
void peers_accept(driver *d);
// Hears what there is to read from peer i; one that is gone is removed.
void peers_read(driver *d, size_t i);
void peers_remove(driver *d, size_t i); // the last one takes its place
void peers_drop_late(driver *d);        // strangers whose time is over

void ranks_init(struct run *r);
void ranks_done(struct run *r);
// What came through a channel of a rank, in any pieces.
void ranks_hear(struct run *r, int rank, enum channel channel, const char *bytes, size_t n);
void ranks_gone(struct run *r, int rank, int status);
// To all that are still there.
void ranks_stop(struct run *r);
void ranks_show_rest(struct run *r); // lines that were not ended
// The suspicion becomes the failure when nothing better has come.
void ranks_look(struct run *r);

// The first failure of a job is its error. Returns -1.
int run_fail(struct run *r, const err *why);
#define RUN_FAIL(r, code, ...)                                                                     \
    ({                                                                                             \
        err e_;                                                                                    \
        err_set(&e_, code, __VA_ARGS__);                                                           \
        run_fail(r, &e_);                                                                          \
    })
