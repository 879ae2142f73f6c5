// SPDX-License-Identifier: MIT
// A job of several pods by an engine's plan (script/api/hvd/hvd.lua has the contract): its objects
// are made, looked at and removed as one, and all are marked as the call's.
//
//   plan ──> a Secret, then its objects        the ledger has them before the first is made
//   each look: pods that have ended, why pods wait, the object that tells of a failure
//   the end, an error, an interrupt ──> all objects are removed, the last one first
//
// The caller follows logs, and says when the job has ended. Functions are for the call's thread.
#pragma once
#include "base/buf.h"
#include "k8s/client/state/state.h"
#include "script/api/k8s/k8s.h"

struct gang_words {
    const char *what;   // whose errors these are: "hvd.run"
    const char *prefix; // of names: "hvd"
    const char *kind;   // in the ledger and in questions: "hvd job"
    const char *late;   // what has not started after start_timeout: "the driver"
    const char *remedy; // a sentence behind that
};
struct gang {
    const struct gang_words *words;
    call *call;
    const cJSON *args, *plan;
    struct target pods;
    char *name, *ns, *main_pod, *all_pods; // the last two are selectors
    cJSON *objects;                        // manifests, the Secret first
    int made;                              // how many of them are there
    bool began;                            // the job has started, its pods have; set by the caller
    int64_t begun, looked;                 // clock_mono() ns; begun: since when it may start
    bool pulls;                            // a node pulls an image for one of its pods
    int64_t has_been;                      // ns that have gone by with that: they do not count
    buf why;                               // why a pod does not start, as it was said last
};

// Finds cluster, namespace and name. Afterwards gang_done is needed.
int gang_open(struct gang *g, call *c, const struct gang_words *words, const cJSON *args, err *e);
void gang_done(struct gang *g);
// The Secret of the job's name, without contents; new.
cJSON *gang_secret(const struct gang *g);
// The plan's objects with the Secret, which is taken, and `notes` for what saved models say of
// where they came from (may be NULL). Writes them to the ledger.
int gang_prepare(struct gang *g, cJSON *secret, const char *notes, err *e);
// Makes them. The clock of start_timeout begins.
int gang_make(struct gang *g, err *e);
// Removes them whatever the call's canceller says, and takes them out of the ledger. What stays is
// said, and firesteel clean does it later. done: the job has ended well.
void gang_remove(struct gang *g, bool done);
// The job as ledger and results have it: {"kind", "name", "namespace", "cluster", "objects"}; new.
cJSON *gang_record(struct gang *g, err *e);

// Its pods, a new array; NULL: they cannot be read now.
cJSON *gang_pods(struct gang *g);
bool gang_is_main(const struct gang *g, const cJSON *pod); // does its log say most?
// Every few looks: says below the cell why pods do not start. Returns 0, or -1 with the reason for
// which the job cannot go on: the object that tells of it has failed or is gone, or nothing began
// within start_timeout, which does not count while the job is held by a queue. *state (may be NULL)
// is that object's state, and has no text when it was not looked at. whole: look at it although
// pods have begun.
int gang_look(struct gang *g, const cJSON *pods, bool whole, struct state *state, err *e);
// Why this pod has failed, for an error of the job: events and last lines go to the cell.
void gang_explain(struct gang *g, cJSON *pod, buf *reason);

// For bindings.
int gang_find(call *c, const cJSON *recorded, struct remains *out, err *e);
int gang_undo(call *c, const cJSON *found, err *e);
// what: "run a function on 4 ranks by plain Jobs"; taken.
void gang_describe(call *c, const cJSON *args, const char *kind, char *what, struct about *about);
