// SPDX-License-Identifier: MIT
// Who has called a driver: strangers, ranks, executors; and the job that they belong to. Private to
// the driver (driver.c: the job and its loop; peers.c: what peers say).
#pragma once
#include "trainer/dist/driver.h"
#include "trainer/dist/launch.h"
#include "trainer/dist/message.h"

enum peer_state { STRANGER, RANK, EXECUTOR };

struct peer {
    enum peer_state state;
    int fd;
    int64_t deadline; // a stranger's
    uint8_t nonce[NONCE_SIZE];
    buf in;
    int rank;
    buf lines[2]; // of stdout and stderr, not yet complete
    bool done;    // a rank: its result is there
    bool busy;    // an executor: its proxy runs
    char host[64];
};

struct driver {
    struct driver_options options;
    char *secret;
    int listener;
    struct peer **peers;
    size_t n;
    struct run *run; // the job under way
    unsigned looks;  // how often the peers were looked at
};

struct run {
    const struct job *job;
    struct job_result *result;
    launch launch;
    buf mpiexec; // its stdout before the proxies are known
    buf banner;  // what hydra prints when a process was killed: it knows by what
    bool handed_out;
    int started, finished;
    buf lost; // ranks that went without a word, seen first: "1", "1 or 0"
    int64_t lost_at;
    unsigned lost_look; // the look at which that was
    bool failed;
    err why;
};

size_t peers_count(const driver *d, enum peer_state state);
bool peers_any_busy(const driver *d); // does an executor's proxy still run?
void peers_accept(driver *d);
// Hears what there is to read from peer i; one that is gone is removed.
void peers_read(driver *d, size_t i);
void peers_remove(driver *d, size_t i); // the last one takes its place
void peers_drop_late(driver *d);        // strangers whose time is over

// The first failure of a job is its error. Returns -1.
int run_fail(struct run *r, const err *why);
#define RUN_FAIL(r, code, ...)                                                                     \
    ({                                                                                             \
        err e_;                                                                                    \
        err_set(&e_, code, __VA_ARGS__);                                                           \
        run_fail(r, &e_);                                                                          \
    })
