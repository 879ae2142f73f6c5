// SPDX-License-Identifier: MIT
// The log of one container, read once, or followed through cuts, restarts and rotation: no line
// comes twice, and a mark shows where lines may be missing. It lives on the loop's thread and
// belongs to its opener.
//
// A server is not believed that a log has ended because an answer has: an API server ends its
// answer in order when the kubelet behind it dies. So a log that is followed has ended when its
// container is over (or its pod is gone, known by its uid) and its last line was told. And what is
// read is told only once the pod, asked for after the answer had begun, was still the same one.
#pragma once
#include "k8s/client/connect/client.h"

struct logs_spec {
    const char *ns, *pod;
    const char *uid;       // of the pod, whose name another may get; NULL: the one that is there
    int64_t restarts;      // of the container when the pod was found; <0: not known
    const char *container; // NULL: the pod's only container, or the default in its annotation
    bool follow, previous;
    int64_t tail;    // how many lines from the end to start with; <0: all
    int64_t since_s; // only lines of the last so many seconds; 0: all
};

enum log_kind {
    LOG_LINE,    // a line of the container
    LOG_GAP,     // lines may be missing here; text tells for how long a time
    LOG_RESTART, // the container was restarted
    LOG_AWAY,    // the server cannot be read; text tells why. Not part of the log
};
struct log_line {
    enum log_kind kind;
    int64_t stamp; // wall ns
    const char *text;
    size_t n;
};
struct logs_ops {
    // The callback may close the log.
    void (*line)(void *arg, const struct log_line *line);
    // Called at the end: everything was read; or, when following, the container will not write any
    // more or its pod is gone. e->code ERR_NONE: in order. The log is gone afterwards.
    void (*done)(void *arg, const err *e);
};
typedef struct logs logs;
logs *logs_open(client *c, const struct logs_spec *spec, const struct logs_ops *ops, void *arg);
void logs_pause(logs *l, bool paused);
// Follows no further: reads what is there now, then `done`.
void logs_drain(logs *l);
void logs_close(logs *l); // NULL is fine

// Splits "2026-01-02T03:04:05.000000006Z text" into the stamp and the place where the text begins.
// false: there is no stamp; then *stamp is unchanged, and the text is the whole line.
bool log_stamp(const char *line, size_t n, int64_t *stamp, size_t *text);
