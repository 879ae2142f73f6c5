// SPDX-License-Identifier: MIT
// The parts of a driver and its job. Private to the driver: driver.c has the job and its loop,
// peers.c the connected peers (strangers, executors), ranks.c the messages of ranks, wherever they
// run.
#pragma once
#include "trainer/dist/job/driver.h"
#include "trainer/dist/job/elastic.h"
#include "trainer/dist/job/launch.h"
#include "trainer/dist/message.h"
#include "trainer/dist/pmi.h"
#include "trainer/dist/stall.h"

enum peer_state { STRANGER, EXECUTOR };

struct peer {
    enum peer_state state;
    int fd;
    int64_t deadline; // for a stranger
    uint8_t nonce[NONCE_SIZE];
    seal seal; // of an executor
    buf in;    // raw bytes: from a stranger messages, from an executor sealed records
    buf plain; // an executor's messages
    bool busy; // an executor that has ranks
    struct cooldown cooldown; // an elastic job has lost a rank there
    char host[64];
};

struct driver {
    struct driver_options options;
    char *secret;
    int listener; // -1 without executors: nobody needs to connect
    struct peer **peers;
    size_t n;
    struct run *run; // the job under way
};

struct rank {
    struct peer *host; // the executor of this rank; NULL: it runs here, or its executor is gone
    buf in;            // bytes from its link
    // Incomplete lines of output: from its link, and from its children.
    buf said[2], printed[2];
    bool ready, done; // it waits for the job, or has it; its result has arrived
    bool gone;
};

// A possible cause of failure, which may be replaced by a better one: ranks that lose a peer fail,
// too.
struct suspicion {
    bool there;
    int64_t since;
    err why;
    int rank;    // the rank that reported its failure; -1: none
    int gone;    // that has ended; -1: none
    buf failure; // the message of that rank
};

struct run {
    const struct job *job;
    struct job_result *result;
    launch launch; // the ranks on this machine
    pmi *pmi;
    struct rank *ranks;
    const struct driver_options *options;
    driver *driver;
    struct elastic *elastic; // NULL: the job is not elastic
    bool shares;             // the ranks share memory: no rank gets its job before all have mapped
                             // it
    int ready, started, finished, gone;
    int reset;     // number of ranks that have ended for newcomers
    bool lost;     // it failed since a rank was lost
    int lost_rank; // the rank that has ended; -1: unknown
    struct suspicion suspicion;
    struct stall stall;
    bool failed;
    err why;
};

size_t peers_count(const driver *d, enum peer_state state);
bool peers_any_busy(const driver *d); // does an executor still have ranks?
void peers_accept(driver *d);
// Reads what has arrived from peer i; removes the peer if it is gone.
void peers_read(driver *d, size_t i);
// Seals a message for an executor and sends it; blocks meanwhile.
int peer_send(struct peer *p, message_kind kind, const void *body, size_t n, err *e);
int peer_relay(struct peer *p, int rank, enum channel channel, const void *bytes, size_t n, err *e);
void peers_remove(driver *d, size_t i); // the last peer takes its place
void peers_drop_late(driver *d);        // drops strangers that have not proved the secret in time

void ranks_init(struct run *r);
void ranks_done(struct run *r);
// Takes bytes from a channel of a rank, cut anywhere.
void ranks_hear(struct run *r, int rank, enum channel channel, const char *bytes, size_t n);
void ranks_gone(struct run *r, int rank, int status);
// Sends STOP to all remaining ranks.
void ranks_stop(struct run *r);
void ranks_show_rest(struct run *r); // prints incomplete lines
// Makes the suspicion the failure if no better cause has come in time. Warns of ranks that wait in
// vain, or ends them.
void ranks_look(struct run *r);

// From now on the ranks that are to be started, or have not got their job yet, do without shared
// memory; tells the user why.
void ranks_share_not(struct run *r, const char *why);

// The number of ranks that an elastic job could have now.
int driver_places(const driver *d, const struct elastic *x);

// The loss of a rank (-1: unknown which) becomes the job's failure, if it is the first; an elastic
// job survives it.
int run_lose(struct run *r, int rank, const err *why);
// The first failure of a job becomes its error. Returns -1.
int run_fail(struct run *r, const err *why);
#define RUN_FAIL(r, code, ...)                                                                     \
    ({                                                                                             \
        err e_;                                                                                    \
        err_set(&e_, code, __VA_ARGS__);                                                           \
        run_fail(r, &e_);                                                                          \
    })
