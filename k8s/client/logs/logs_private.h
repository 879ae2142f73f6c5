// SPDX-License-Identifier: MIT
// What the files of a log share: logs.c reads answers, logs_lines.c tells their lines, logs_end.c
// judges their ends, logs_last.c asks for the last line. Nothing else includes it.
#pragma once
#include "base/buf.h"
#include "k8s/client/connect/request.h"
#include "k8s/client/logs/logs.h"
#include "k8s/client/logs/place.h"
#include "k8s/client/text/frames.h"

enum {
    LINE_LIMIT = 1 << 20,
    QUIET_MS = 10 * 60 * 1000, // after such a silence we ask for the pod
    READ_TRIES = 6,            // of a log that is not followed
    LAST_TRIES = 6,            // readings in a row that do not find the last line, or nothing
    EMPTY_TRIES = 2,           // ... and find that there is no line
    PROOFS = 2,                // that a line without an end is whole
    PIECES = 128,              // of 8 KiB: CRI-O cuts a line so, containerd at 16 KiB
    STEADY_S = 10,             // after a reading that lasted as long, a cut is the first one
};

enum aim { AIM_READ, AIM_POD };

struct logs {
    client *client;
    char *ns, *pod, *uid, *container, *what;
    bool follow, previous, paused;
    int64_t tail, since_s, opened;
    const struct logs_ops *ops;
    void *arg;

    operation *reading, *asking;
    loop_timer *timer;
    enum aim aim; // what the timer begins
    struct frames frames;
    struct place place;
    struct place ahead;  // what was told before the pod said that the run is another; see note_runs
    int64_t began;       // the container's present run, wall ns; 0: not known
    int64_t stamp;       // of the line that was read last
    bool piece;          // that line goes on, without a stamp
    bool stamped;        // this server's lines have stamps
    char second[20];     // "2026-01-02T03:04:05", of the last stamp
    int64_t second_ns;   // which this is; valid when there is one
    buf rest;            // the last line of a reading: it has no end, and may be half of one
    buf kubelet_message; // what the kubelet said in the reading instead of a line
    err why;             // how the last reading ended
    int status;
    bool checked; // this reading is of our pod
    bool earlier; // this reading is of the container's run before the present one
    bool restart; // ... and then its restart has to be told
    // What is read does not follow what was told: doubts asks the log of the run before whether
    // that goes on there (logs_end.c); sure: it does not.
    bool doubts, lost, sure, feeding;
    bool cut; // the last reading that was not refused broke off
    unsigned attempt, lasts, empties;
    unsigned proofs;     // answers that end as this reading does, with a line that has no end
    unsigned last_lines; // how many the last question for the last line asked for
    int64_t started;     // mono: the beginning of this reading
    int64_t restarts;    // of the container, when last asked; -1: not asked yet
    bool busy, closed;
};

// logs.c
void logs_settle(logs *l);            // ends a callback
void logs_end(logs *l, const err *e); // NULL: in order
void logs_again(logs *l, enum aim aim, int64_t ns);
int64_t logs_pause_of(logs *l); // before the next try
void logs_read_on(logs *l);

void logs_take_back(logs *l); // goes on at the place that was set aside

// logs_lines.c: -1 when the owner has closed the log.
int logs_tell(logs *l, enum log_kind kind, int64_t stamp, const char *text, size_t n);
int logs_mark(logs *l, enum log_kind kind, const char *text);
int logs_line(void *arg, const char *line, size_t n);
int logs_tell_rest(logs *l); // the line that has had no end
void logs_add_kubelet_message(logs *l, const char *text, size_t n);
// A kubelet that cannot read a log says so in the log itself, with status 200: the only text
// without a stamp. (cri-client/pkg/logs/logs.go, kuberuntime_container.go: GetContainerLogs.)
bool logs_is_kubelet_message(const logs *l, const char *line, size_t n);

// logs_end.c
bool logs_is_refusal(int status);         // there is no such log, or not yet
void logs_path(const logs *l, buf *path); // of the pod
void logs_add_container(const logs *l, buf *path);
void logs_ask_pod(logs *l);
void logs_earlier_ended(logs *l); // the answer with the container's run before
void logs_leave_earlier(logs *l); // goes on with the present run
void logs_give_up(logs *l);       // ends it, and says so
void logs_doubt(logs *l);         // does the run before go on where we were?
void logs_doubt_ended(logs *l);   // no
void logs_is_found(logs *l);      // yes

// logs_last.c
void logs_ask_last(logs *l, unsigned lines); // for so many lines, of which the last one counts
