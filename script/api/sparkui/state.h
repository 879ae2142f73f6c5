// SPDX-License-Identifier: MIT
// What one application of Spark has done so far, as plain records: jobs, stages with how their
// tasks differ, executors, SQL queries. It is folded from the answers of the driver's REST API
// (rest.h), while the application runs, or from its event log (eventlog.h), after the end. It owns
// all its strings.
//
//   REST answers ──> rest.c ─────┐                 ┌─> findings.c: sentences
//                                ├─> spark_state ──┤
//   event log, a line an event ──> eventlog.c ─────┘   └─> tables.c: tables of a display, JSON
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPARK_STATES(X)                                                                            \
    X(PENDING, "pending")                                                                          \
    X(ACTIVE, "active")                                                                            \
    X(COMPLETE, "complete")                                                                        \
    X(FAILED, "failed")                                                                            \
    X(SKIPPED, "skipped")
enum spark_is {
#define X(name, text) SPARK_##name,
    SPARK_STATES(X)
#undef X
};
extern const char *const spark_state_names[];

// At most so many jobs, stages, executors and queries are kept; older ones that have ended go.
enum { SPARK_KEPT = 2000 };

// What is read from outside is bounded, so that no sum of it overflows: bytes and counts of a task,
// and wall ms up to the year 2248; of what the driver has added up, a thousand times as much.
#define SPARK_MOST       (INT64_C(1) << 43)
#define SPARK_MOST_ADDED (INT64_C(1) << 50)

// How the tasks of a stage that ended well differ: 0 where it is not known.
struct spark_spread {
    int64_t median_ms, max_ms;     // how long they took
    int64_t median_read, max_read; // bytes that they read, from a shuffle or from files
    bool shuffle;                  // the bytes came from a shuffle
    int64_t slowest_read;          // what the task that took longest read; -1: not known
};

struct spark_stage {
    int64_t id, attempt;
    char *name;
    enum spark_is is;
    int64_t tasks, active, done, failed, killed;
    int64_t begun, ended;  // wall ms; 0: not yet
    int64_t run_ms, gc_ms; // of its tasks together
    int64_t input, output, shuffle_read, shuffle_write, memory_spilled, disk_spilled; // bytes
    struct spark_spread spread;
    int64_t running_ms; // how long the task that runs longest has run; 0: not known
    char *cause;        // why it failed, or why one of its tasks did; NULL: not known
    // Of the event log: the tasks that ended well, {ms, bytes}; freed when the stage has ended.
    struct spark_task {
        int64_t ms, read;
    } * measured;
    size_t n_measured;
    // Of REST: what was asked for already.
    int64_t asked_failed; // numFailedTasks at that time
    bool settled;         // its last state is known, with the spread
    bool looked_for;      // it is not among the active ones any more: it has to be asked for
};

struct spark_job {
    int64_t id, query; // query: -1: no query of SQL has begun it
    char *name;
    enum spark_is is;
    int64_t begun, ended;
    int64_t tasks, active, done, skipped, failed;
    int64_t stages, stages_done, stages_skipped, stages_failed;
    char *cause;
    int64_t *stage_ids;
    size_t n_stage_ids;
};

struct spark_executor {
    char *id, *host;
    bool gone;
    char *why; // why it has gone; NULL: not known
    int64_t cores, active, done, failed;
    int64_t run_ms, gc_ms;
    int64_t shuffle_read, shuffle_write, input, spilled; // bytes
    bool spill_known;                                    // REST tells it only for some stages
    int64_t stored, storage; // bytes in its storage, and the most it may have
    int64_t peak;            // bytes of the JVM's heap; 0: not known
};

struct spark_query {
    int64_t id;
    char *what;
    enum spark_is is;
    int64_t begun, ended;
    int64_t jobs;
    char *cause;
};

struct spark_state {
    char *app, *name, *version;
    int64_t begun, ended; // wall ms; ended 0: it runs
    struct spark_stage *stages;
    struct spark_job *jobs;
    struct spark_executor *executors;
    struct spark_query *queries;
    size_t n_stages, n_jobs, n_executors, n_queries;
    int64_t dropped; // records that had to go
};

void spark_state_done(struct spark_state *s);
// Finds a record, or adds one. The pointer holds until the next record is added.
struct spark_stage *spark_stage_at(struct spark_state *s, int64_t id, int64_t attempt);
struct spark_job *spark_job_at(struct spark_state *s, int64_t id);
struct spark_executor *spark_executor_at(struct spark_state *s, const char *id);
struct spark_query *spark_query_at(struct spark_state *s, int64_t id);
// Replaces an owned text; NULL and "" leave it.
void spark_text(char **text, const char *value);
// The line of a task's or a stage's error that names the cause ("ValueError: bad record 17"), in
// place of `cause`.
void spark_cause_of(char **cause, const char *text);
// The application is over: what was active has ended, too.
void spark_state_end(struct spark_state *s, int64_t wall_ms);
